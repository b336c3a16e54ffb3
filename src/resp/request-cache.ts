/**
 * What repeated requests ask for. A connection finds its newest ones by their bytes, before anything is parsed; those
 * of all connections are found by their text, before a command is looked up.
 *
 * Invariants
 *  1. The bytes and arguments of a cached request are copies of its own, and never change.
 *  2. What is shared between connections follows from the bytes alone, and holds nothing of a session or a user.
 *  3. At most 2 × `generationMax` are cached, and `recentMax` for each connection, of at most `cachedBytesMax` each.
 */
import type { Access } from '../auth/access.ts'
import { Generations } from '../base/generations.ts'
import type { DirectIssuer } from '../commands/command.ts'
import type { ResolvedRequest } from '../commands/table.ts'

/** A longer request is parsed each time, in bytes. */
export const cachedBytesMax = 512
const generationMax = 2048
const recentMax = 8

/** A request, and what it asks for. */
export type CachedRequest = {
  readonly bytes: Uint8Array
  readonly resolved: ResolvedRequest
}

/** The requests of all connections of a server, by their bytes as Latin-1 text. */
export class RequestCache extends Generations<string, CachedRequest> {
  constructor() {
    super(generationMax)
  }
}

/** A request of one connection. */
export type RecentRequest = CachedRequest & {
  /** The permissions of the connection that were found to allow it. */
  permittedBy: Access | undefined
  /** What answers the request without its handler; undefined: the handler answers it. */
  direct: DirectIssuer | undefined
}

/** The newest different requests of one connection. */
export class RecentRequests {
  readonly all: RecentRequest[] = []
  #oldest = 0

  /** Replaces the oldest request. */
  add(request: RecentRequest): void {
    this.all[this.#oldest] = request
    this.#oldest = (this.#oldest + 1) % recentMax
  }

  /** Removes all requests: other permissions may give other replies. */
  clear(): void {
    this.all.length = 0
    this.#oldest = 0
  }
}
