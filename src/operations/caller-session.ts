/** The session of a connection, of every protocol that has sessions, or of another caller inside this process. */
import type { Access } from '../auth/access.ts'
import { systemClock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Session } from './session.ts'

/**
 * The reason of the signals of connections: what waits for a client that is gone, or that has cancelled it, rejects with this. One
 * object, because an abort without a reason makes a DOMException with a stack, which costs time.
 */
export const callerStopped = new FahaoError('ABORTED', 'the caller stopped waiting; no id was used up')

/** What never changes of a caller, and its permissions at first. */
export type CallerFacts = {
  /** See `Session.id`. */
  readonly id: number
  /** `host:port` of the client, and of this end. */
  readonly address: string
  readonly localAddress: string
  /** The transport, for the audit trail: at most 8 bytes. */
  readonly door: string
  readonly access: Access
  /** Default: now. */
  readonly startedMonoUs?: number
}

/** What a session needs of its connection. */
export type CallerHost = {
  /** Bytes that the client has not read. */
  unreadBytes(): number
  /** See `Session.close`. */
  close(): void
}

/** The session of one caller. */
export class CallerSession implements Session {
  readonly id: number
  readonly address: string
  readonly localAddress: string
  readonly door: string
  readonly startedMonoUs: number
  lastCommandMonoUs: number
  lastCommand = ''
  name = ''
  access: Access
  readonly #host: CallerHost
  /** Made on demand: it is expensive, and most operations do not wait. */
  #controller: AbortController | undefined
  #ended = false

  constructor(facts: CallerFacts, host: CallerHost) {
    this.id = facts.id
    this.address = facts.address
    this.localAddress = facts.localAddress
    this.door = facts.door
    this.access = facts.access
    this.startedMonoUs = facts.startedMonoUs ?? systemClock.monoUs()
    this.lastCommandMonoUs = this.startedMonoUs
    this.#host = host
  }

  get unreadBytes(): number {
    return this.#host.unreadBytes()
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#ended) this.#controller.abort(callerStopped)
    }
    return this.#controller.signal
  }

  close(): void {
    this.#host.close()
  }

  /** Aborts what its operations wait for now. Those that start later wait as before. */
  cancel(): void {
    const controller = this.#controller
    if (!this.#ended) this.#controller = undefined
    controller?.abort(callerStopped)
  }

  /** Aborts what its operations wait for, because the caller is gone. */
  end(): void {
    this.#ended = true
    this.#controller?.abort(callerStopped)
  }
}
