/**
 * How long the requests of one protocol took, and the errors that its clients got: a few counters, and nothing for each
 * request.
 *
 * Invariants
 *  1. A request is counted once, with one outcome.
 *  2. An error is the outcome of one request at most: of one of those that are measured together in its callback.
 */
import { type ErrorCode, errorKinds } from '../base/errors.ts'
import { Times } from '../base/times.ts'

/**
 * How a request ends. `ok`: it was carried out. `refused`: it asked for what it may not have, or what does not exist. `failed`: it
 * could have been carried out at another time (the errors of status 500 and above).
 */
export type Outcome = 'ok' | 'refused' | 'failed'

/** The outcome of a request with this error. */
export function outcomeOf(code: ErrorCode): Outcome {
  return outcomeOfStatus(errorKinds[code].status)
}

/** The outcome of a request with this status of HTTP. */
export function outcomeOfStatus(status: number): Outcome {
  return status >= 500 ? 'failed' : status >= 400 ? 'refused' : 'ok'
}

/** Counters of one protocol. */
export class RequestFigures {
  /** The times of requests by their outcomes. */
  readonly times: Readonly<Record<Outcome, Times>> = {
    ok: new Times(),
    refused: new Times(),
    failed: new Times(),
  }
  /** Errors by code. */
  readonly errors = new Map<ErrorCode, number>()
  /** Errors since `begin`, by outcome. */
  #refused = 0
  #failed = 0

  /** Errors that clients get from now on are those of the requests of the next `took`: both in one callback. */
  begin(): void {
    this.#refused = 0
    this.#failed = 0
  }

  /** `count` requests have each taken `us` microseconds; those with the errors since `begin` are among them. */
  took(us: number, count = 1): void {
    if (this.#refused + this.#failed === 0) return this.times.ok.add(us, count)
    const failed = Math.min(count, this.#failed)
    const refused = Math.min(count - failed, this.#refused)
    this.begin()
    this.ended('failed', us, failed)
    this.ended('refused', us, refused)
    this.ended('ok', us, count - failed - refused)
  }

  /** `count` requests with this outcome have each taken `us` microseconds. */
  ended(outcome: Outcome, us: number, count = 1): void {
    if (count > 0) this.times[outcome].add(us, count)
  }

  /** Clients got `times` errors with this code. */
  failed(code: ErrorCode, times = 1): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + times)
    if (outcomeOf(code) === 'failed') this.#failed += times
    else this.#refused += times
  }
}
