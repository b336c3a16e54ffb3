/** The session of a RESP connection: name, library, protocol and user, which commands read and change. */
import type { Access } from '../auth/access.ts'
import type { ClientSession } from '../commands/context.ts'
import { type TransactionLimits, TransactionQueue } from '../commands/transaction-queue.ts'
import { Refusals } from '../listening/refusals.ts'
import { restMs } from '../listening/turns.ts'
import { type RoundingGuard, type WideIds, wideIdsFor } from './rounding.ts'

/** What a session needs of its connection. */
export type SessionHost = {
  /** Bytes that the client has not read. */
  unreadBytes(): number
  /** See `ClientSession.close`. */
  close(): void
}

/** What never changes of a connection. */
export type SessionFacts = {
  readonly id: number
  readonly address: string
  readonly localAddress: string
  readonly startedMonoUs: number
  /** The common name of the valid certificate that the client has presented; undefined: it has presented none. */
  readonly certificateName: string | undefined
  /** The permissions before authentication. */
  readonly access: Access
  /** Which clients get no ids past 2^53−1. */
  readonly roundingGuard: RoundingGuard
  readonly transactionLimits: TransactionLimits
}

/** The session of one connection. */
export class RespSession implements ClientSession {
  readonly id: number
  readonly address: string
  readonly localAddress: string
  readonly door = 'resp'
  readonly startedMonoUs: number
  /** See `SessionFacts.certificateName`. */
  readonly certificateName: string | undefined
  lastCommandMonoUs: number
  lastCommand = ''
  name = ''
  libraryVersion = ''
  trackingModes: ReadonlySet<string> | undefined
  readonly transaction: TransactionQueue
  access: Access
  #libraryName = ''
  #protocol: 2 | 3 = 2
  #wideIds: WideIds
  readonly #roundingGuard: RoundingGuard
  readonly #host: SessionHost
  #gone = false
  /** Whether a quota has refused a request since the last rest. */
  refused = false
  /** The requests that were refused before AUTH. */
  readonly unauthenticated = new Refusals()
  /** Made on demand: it is expensive, and most commands do not wait. */
  #controller: AbortController | undefined

  constructor(facts: SessionFacts, host: SessionHost) {
    this.id = facts.id
    this.address = facts.address
    this.localAddress = facts.localAddress
    this.startedMonoUs = facts.startedMonoUs
    this.lastCommandMonoUs = facts.startedMonoUs
    this.transaction = new TransactionQueue(facts.transactionLimits)
    this.certificateName = facts.certificateName
    this.access = facts.access
    this.#roundingGuard = facts.roundingGuard
    this.#wideIds = this.#chosen()
    this.#host = host
  }

  /** Whether a rest is due. */
  get isRefused(): boolean {
    return this.#restsAfterQuota || this.mustRest
  }

  /** Whether nothing is carried out before a rest. */
  get mustRest(): boolean {
    return this.unauthenticated.mustRest
  }

  /** How long the connection has to rest now, in ms. Counts refusals from 0 afterwards. */
  takeRest(): number {
    const rest = this.#restsAfterQuota ? restMs : 0
    this.refused = false
    return Math.max(rest, this.unauthenticated.takeRest())
  }

  /** A connection between nodes has requests of many clients. Their node lets the connection of the client rest. */
  get #restsAfterQuota(): boolean {
    return this.refused && !this.access.isForwarded
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

  /** The form of ids past 2^53−1 for this client. */
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

  /** Aborts what the commands of the connection wait for, because it has ended. */
  end(): void {
    this.#gone = true
    this.#controller?.abort()
  }

  #chosen(): WideIds {
    return wideIdsFor(this.#libraryName, this.#protocol, this.#roundingGuard)
  }
}
