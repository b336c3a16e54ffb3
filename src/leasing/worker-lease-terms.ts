/** What callers send for worker leases, and what they get. */
import type { CurrentGenerator } from '../catalogue/catalogue.ts'

/** What a caller asks for, and its names for people. */
export type WorkerLeaseRequest = {
  /** The length of the span; see `workerLeaseLimits`. */
  readonly ttlMs?: number | undefined
  /** At most 128 bytes, without control and format characters. */
  readonly holder: string
  readonly user: string
}

/** What the holder of a lease has to send to renew it. */
export type WorkerLeaseRenewal = {
  /** The end of the span, in Unix µs, as the last answer for this lease had it. */
  readonly untilUs: number
  readonly ttlMs?: number | undefined
}

/** What the holder of a lease has to send to give it back. */
export type WorkerLeaseReturn = {
  /** The first moment that the holder has used for no generator, in Unix µs. */
  readonly fromUs: number
  /** The end of the span, in Unix µs, as the last answer for this lease had it. */
  readonly untilUs: number
}

/** A worker lease, as its holder gets it for one generator. */
export type WorkerLease = Pick<CurrentGenerator, 'definition' | 'incarnation' | 'formKey'> & {
  /** Renews the lease and gives it back: a secret of the holder. */
  readonly lease: string
  readonly worker: number
  /** The holder may stamp ids of this generator in whole units of time within these moments, in Unix µs. */
  readonly fromUs: number
  readonly untilUs: number
  /** The timeline of the node, in Unix µs. */
  readonly nowUs: number
}
