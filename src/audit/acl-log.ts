/**
 * ACL LOG: the refusals of this process, as Redis 7 keeps them.
 *
 * Invariants
 *  1. At most `entriesMax` entries, newest first.
 *  2. A refusal like one of the ten newest entries, within 60 s of it, is counted there and moves it to the front.
 */

/** Why a client was refused: its password, the command, or the name of a generator. */
export type RefusalReason = 'auth' | 'command' | 'key'

/** A refusal. */
export type Refusal = {
  readonly reason: RefusalReason
  /** `multi`: queued in a transaction, or run by it. */
  readonly context: 'toplevel' | 'multi'
  /** The command's full name, the key, or AUTH. */
  readonly object: string
  /** As the client gave it. */
  readonly username: string
  /** The client's line in CLIENT LIST. */
  readonly clientInfo: string
}

/** An entry of the log. Times are Unix time in ms. */
export type AclLogEntry = Refusal & {
  readonly id: number
  readonly count: number
  readonly createdMs: number
  readonly updatedMs: number
}

/** As Redis: acllog-max-len, and ACL_LOG_GROUPING_MAX_TIME_DELTA of acl.c. */
const entriesMax = 128
const groupedMs = 60_000
const comparedMax = 10
const textMax = 1024

/** The refusals of one process. */
export class AclLog {
  readonly #nowUs: () => number
  #entries: AclLogEntry[] = []
  #nextId = 0

  /** @param nowUs Unix time in µs. */
  constructor(nowUs: () => number) {
    this.#nowUs = nowUs
  }

  /** Adds a refusal, or counts it with one like it. */
  add(refusal: Refusal): void {
    const nowMs = this.nowMs()
    const { reason, context } = refusal
    const object = refusal.object.slice(0, textMax)
    const username = refusal.username.slice(0, textMax)
    const { clientInfo } = refusal
    const at = this.#entries
      .slice(0, comparedMax)
      .findIndex(
        (entry) =>
          entry.reason === reason &&
          entry.context === context &&
          nowMs - entry.updatedMs <= groupedMs &&
          entry.object === object &&
          entry.username === username,
      )
    const alike = at < 0 ? undefined : this.#entries.splice(at, 1)[0]
    this.#entries.unshift(
      alike === undefined
        ? {
            reason,
            context,
            object,
            username,
            clientInfo,
            id: this.#nextId++,
            count: 1,
            createdMs: nowMs,
            updatedMs: nowMs,
          }
        : { ...alike, clientInfo, count: alike.count + 1, updatedMs: nowMs },
    )
    this.#entries.length = Math.min(this.#entries.length, entriesMax)
  }

  /** The newest entries, newest first. */
  entries(count: number): readonly AclLogEntry[] {
    return this.#entries.slice(0, count)
  }

  /** Empties the log. */
  reset(): void {
    this.#entries = []
  }

  /** Unix time in ms: the age of an entry is the difference to its `updatedMs`. */
  nowMs(): number {
    return Math.floor(this.#nowUs() / 1000)
  }
}
