/** A connection, as commands see and change it. */
import type { Session } from '../commands/context.ts'
import type { Tracking } from '../commands/tracking.ts'
import { type RoundingGuard, type WideIds, wideIdsFor } from './rounding.ts'

/** What a session needs of its connection. */
export type SessionHost = {
  /** Bytes that wait for the peer to read them. */
  unreadBytes(): number
  /** See `Session.close`. */
  close(): void
}

/** Facts of a connection that never change. */
export type SessionFacts = {
  readonly id: number
  readonly address: string
  readonly localAddress: string
  readonly startedMonoUs: number
  /** Who it is before it authenticates; empty: nobody. */
  readonly user: string
  /** From which clients ids past 2^53−1 are kept. */
  readonly roundingGuard: RoundingGuard
}

/** See `Session`. */
export class RespSession implements Session {
  readonly id: number
  readonly address: string
  readonly localAddress: string
  readonly startedMonoUs: number
  lastCommandMonoUs: number
  lastCommand = ''
  name = ''
  libraryVersion = ''
  tracking: Tracking | undefined
  user: string
  #libraryName = ''
  #protocol: 2 | 3 = 2
  #wideIds: WideIds
  readonly #roundingGuard: RoundingGuard
  readonly #host: SessionHost
  #gone = false
  /** Made when somebody asks: it is dear, and most commands do not wait. */
  #controller: AbortController | undefined

  constructor(facts: SessionFacts, host: SessionHost) {
    this.id = facts.id
    this.address = facts.address
    this.localAddress = facts.localAddress
    this.startedMonoUs = facts.startedMonoUs
    this.lastCommandMonoUs = facts.startedMonoUs
    this.user = facts.user
    this.#roundingGuard = facts.roundingGuard
    this.#wideIds = this.#chosen()
    this.#host = host
  }

  get libraryName(): string {
    return this.#libraryName
  }

  set libraryName(name: string) {
    this.#libraryName = name
    this.#wideIds = this.#chosen()
  }

  get protocol(): 2 | 3 {
    return this.#protocol
  }

  set protocol(protocol: 2 | 3) {
    this.#protocol = protocol
    this.#wideIds = this.#chosen()
  }

  /** How ids past 2^53−1 reach this peer. */
  get wideIds(): WideIds {
    return this.#wideIds
  }

  get exact(): boolean {
    return this.#wideIds !== 'refused'
  }

  get unreadBytes(): number {
    return this.#host.unreadBytes()
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#gone) this.#controller.abort()
    }
    return this.#controller.signal
  }

  close(): void {
    this.#host.close()
  }

  /** The connection is gone: nobody waits for what its commands wait for. */
  end(): void {
    this.#gone = true
    this.#controller?.abort()
  }

  #chosen(): WideIds {
    return wideIdsFor(this.#libraryName, this.#protocol, this.#roundingGuard)
  }
}
