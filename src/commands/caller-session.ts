/** The session of a caller inside this process, such as a connection of another protocol, as commands read it. */
import type { Access } from '../auth/access.ts'
import { systemClock } from '../base/clock.ts'
import type { ClientSession } from './context.ts'
import { TransactionQueue } from './transaction-queue.ts'

/** What never changes of a caller, and its permissions at first. */
export type CallerFacts = {
  /** See `ClientSession.id`. */
  readonly id: number
  /** `host:port` of the client, and of this end. */
  readonly address: string
  readonly localAddress: string
  /** The transport, for the audit trail: at most 8 bytes. */
  readonly door: string
  readonly certificateName?: string | undefined
  readonly access: Access
}

/** What a session needs of its connection. */
export type CallerHost = {
  /** Bytes that the client has not read. */
  unreadBytes(): number
  /** See `ClientSession.close`. */
  close(): void
}

/** The commands of a caller queue nothing. */
const noTransaction = { transactionMaxBytes: 0, transactionRequestsMax: 0 }

/** Reads every integer exactly, keeps no cache, and sends no transaction. */
export class CallerSession implements ClientSession {
  readonly id: number
  readonly address: string
  readonly localAddress: string
  readonly door: string
  certificateName: string | undefined
  readonly startedMonoUs = systemClock.monoUs()
  lastCommandMonoUs = this.startedMonoUs
  lastCommand = ''
  name = ''
  libraryName = ''
  libraryVersion = ''
  /** 3: replies of other nodes then tell maps from arrays. */
  protocol: 2 | 3 = 3
  readonly exact = true
  trackingModes: undefined
  readonly transaction = new TransactionQueue(noTransaction)
  access: Access
  readonly #host: CallerHost
  /** Made on demand: it is expensive, and most commands do not wait. */
  #controller: AbortController | undefined
  #ended = false

  constructor(facts: CallerFacts, host: CallerHost) {
    this.id = facts.id
    this.address = facts.address
    this.localAddress = facts.localAddress
    this.door = facts.door
    this.certificateName = facts.certificateName
    this.access = facts.access
    this.#host = host
  }

  get unreadBytes(): number {
    return this.#host.unreadBytes()
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#ended) this.#controller.abort()
    }
    return this.#controller.signal
  }

  close(): void {
    this.#host.close()
  }

  /** Aborts what its commands wait for now. Commands that start later wait as before. */
  cancel(): void {
    const controller = this.#controller
    if (!this.#ended) this.#controller = undefined
    controller?.abort()
  }

  /** Aborts what its commands wait for, because the caller is gone. */
  end(): void {
    this.#ended = true
    this.#controller?.abort()
  }
}
