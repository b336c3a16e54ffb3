/**
 * Requests that come again and again. A connection's newest are known by comparing bytes, before anything is
 * parsed; those of all connections by their text, before anything is looked up.
 *
 * Invariants
 *  1. A known request's bytes and arguments are copies of its own, and never change.
 *  2. What is shared between connections follows from the bytes alone: nothing of a session or a user is in it.
 *  3. At most 2 × `generationMax` are kept, and `recentMax` for each connection, of at most `knownBytesMax` each.
 */
import type { Direct } from '../commands/command.ts'
import type { Resolved } from '../commands/table.ts'

/** A longer request is parsed each time, in bytes. */
export const knownBytesMax = 512
const generationMax = 2048
const recentMax = 8

/** A request of before. */
export type KnownRequest = {
  readonly bytes: Uint8Array
  readonly resolved: Resolved
}

/** What the connections of a server know together. */
export class KnownRequests {
  #young = new Map<string, KnownRequest>()
  #old: ReadonlyMap<string, KnownRequest> = new Map()

  /** The request whose bytes are this Latin-1 text. */
  get(text: string): KnownRequest | undefined {
    const known = this.#young.get(text)
    if (known !== undefined) return known
    const aged = this.#old.get(text)
    if (aged !== undefined) this.add(text, aged)
    return aged
  }

  /** Makes a request known. Those that nobody asked for since two generations are forgotten. */
  add(text: string, known: KnownRequest): void {
    if (this.#young.size >= generationMax) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(text, known)
  }
}

/** A request of one connection, and who hands out its answers, if anybody does. */
export type RecentRequest = KnownRequest & {
  direct: Direct | undefined
}

/** The newest different requests of one connection. */
export class RecentRequests {
  readonly all: RecentRequest[] = []
  #oldest = 0

  /** Puts a request in the place of the oldest. */
  add(request: RecentRequest): void {
    this.all[this.#oldest] = request
    this.#oldest = (this.#oldest + 1) % recentMax
  }

  /** Forgets them: their answers may be somebody else's now. */
  clear(): void {
    this.all.length = 0
    this.#oldest = 0
  }
}
