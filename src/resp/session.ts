/** The session of a RESP connection: name, library, protocol and user, which commands read and change. */
import type { ClientSession } from '../commands/context.ts'
import { type TransactionLimits, TransactionQueue } from '../commands/transaction-queue.ts'
import { Refusals } from '../listening/refusals.ts'
import { restMs } from '../listening/turns.ts'
import { type CallerFacts, type CallerHost, CallerSession } from '../operations/caller-session.ts'
import { type RoundingGuard, type WideIds, wideIdsFor } from './rounding.ts'

/** What never changes of a connection. */
export type SessionFacts = Omit<CallerFacts, 'door'> & {
  /** The common name of the valid certificate that the client has presented; undefined: it has presented none. */
  readonly certificateName: string | undefined
  /** Which clients get no ids past 2^53−1. */
  readonly roundingGuard: RoundingGuard
  readonly transactionLimits: TransactionLimits
}

/** The session of one connection. */
export class RespSession extends CallerSession implements ClientSession {
  /** See `SessionFacts.certificateName`. */
  readonly certificateName: string | undefined
  libraryVersion = ''
  trackingModes: ReadonlySet<string> | undefined
  readonly transaction: TransactionQueue
  #libraryName = ''
  #protocol: 2 | 3 = 2
  #wideIds: WideIds
  readonly #roundingGuard: RoundingGuard
  /** Whether a quota has refused a request since the last rest. */
  refused = false
  /** The requests that were refused before AUTH. */
  readonly unauthenticated = new Refusals()

  constructor(facts: SessionFacts, host: CallerHost) {
    super({ ...facts, door: 'resp' }, host)
    this.transaction = new TransactionQueue(facts.transactionLimits)
    this.certificateName = facts.certificateName
    this.#roundingGuard = facts.roundingGuard
    this.#wideIds = this.#chosen()
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

  #chosen(): WideIds {
    return wideIdsFor(this.#libraryName, this.#protocol, this.#roundingGuard)
  }
}
