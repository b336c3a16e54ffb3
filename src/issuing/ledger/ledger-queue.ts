/**
 * The requests to a ledger that wait for their commit, in the order of their arrival.
 *
 * Invariants
 *  1. Each request is settled once: by its outcome, by an error, or when its time is over or its caller is gone.
 *  2. The queue is bounded, and each request waits for a bounded time.
 */
import type { Timer } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { onAbort } from '../../base/on-abort.ts'
import { dry } from '../issuer.ts'
import type { ReservoirOptions } from '../reservoir-options.ts'
import type { LedgerLines } from './ledger-lines.ts'
import { type Change, lineBytesMax, shortUser } from './line.ts'

/** What is asked of the lines: carried out once or more, and answered once. */
export type ChangeLines<Answer> = (lines: LedgerLines, change: Change) => Answer

/** Who asks, and for what. */
export type AskedLines = {
  readonly by: string
  /** A number whose line has to be in memory. */
  readonly number?: bigint
  /** How many bytes it adds to the commit at most. Default: of one line. */
  readonly bytes?: (lines: LedgerLines) => number
  readonly signal?: AbortSignal | undefined
  readonly onWait?: (() => void) | undefined
}

/** A request to reserve numbers. */
export type ReserveNumbers = {
  readonly count: number
  readonly by: string
  readonly holdMs?: number | undefined
  readonly ref?: string | undefined
  /** The hash of the caller's key. */
  readonly key?: string | undefined
  readonly signal?: AbortSignal | undefined
  readonly onWait?: (() => void) | undefined
}

/** A request that waits. */
export type LedgerRequest = Required<Pick<AskedLines, 'by' | 'bytes'>> &
  Pick<AskedLines, 'number'> & {
    readonly change: ChangeLines<unknown>
    /** It may have been carried out by a commit. */
    isSent: boolean
  }

type Entry = LedgerRequest & {
  readonly resolve: (answer: never) => void
  readonly reject: (error: unknown) => void
  timer?: Timer
  forget?: () => void
}

const oneBytes = 64 * lineBytesMax

/** The queue of one ledger. */
export class LedgerQueue {
  /** How many requests have ever joined. */
  joined = 0
  readonly #options: Pick<ReservoirOptions, 'clock' | 'issueTimeoutMs' | 'waitersMax'>
  readonly #late: (isSent: boolean) => Error
  readonly #entries = new Set<Entry>()

  /** @param late makes the error for a request whose time is over. */
  constructor(
    options: Pick<ReservoirOptions, 'clock' | 'issueTimeoutMs' | 'waitersMax'>,
    late: (isSent: boolean) => Error,
  ) {
    this.#options = options
    this.#late = late
  }

  get length(): number {
    return this.#entries.size
  }

  get entries(): Iterable<LedgerRequest> {
    return this.#entries
  }

  /** Rejects with BUSY, the reason of the signal, or the error of `late`. */
  join<Answer>(
    { by, number, bytes = () => oneBytes, signal, onWait }: AskedLines,
    change: ChangeLines<Answer>,
  ): Promise<Answer> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    const { clock, issueTimeoutMs, waitersMax } = this.#options
    if (this.#entries.size >= waitersMax)
      return Promise.reject(
        new FahaoError('BUSY', `${waitersMax} requests wait for this ledger already; retry with a pause`),
      )
    return new Promise((resolve, reject) => {
      onWait?.()
      const of = number === undefined ? {} : { number }
      const entry: Entry = { by: shortUser(by), ...of, bytes, change, resolve, reject, isSent: false }
      entry.forget = onAbort(signal, (reason) => this.settle(entry, reason))
      entry.timer = clock.timer(issueTimeoutMs, () => this.settle(entry, this.#late(entry.isSent)), true)
      this.#entries.add(entry)
      this.joined++
    })
  }

  /** Answers a request, or rejects it with an error. Nothing happens if it is settled already. */
  settle(request: LedgerRequest, error: unknown, answer?: unknown): void {
    const entry = request as Entry
    if (!this.#entries.delete(entry)) return
    entry.timer?.cancel()
    entry.forget?.()
    if (error === undefined) entry.resolve(answer as never)
    else entry.reject(error)
  }

  /** Rejects the requests for which `isMeant` holds; default: all. */
  refuse(error: unknown, isMeant: (request: LedgerRequest) => boolean = () => true): void {
    for (const entry of [...this.#entries]) if (isMeant(entry)) this.settle(entry, error)
  }
}

/** The error for a request whose time is over. `isSent`: it may have been carried out. */
export function late(name: string, isSent: boolean, failure: Error | undefined): FahaoError {
  if (!isSent) return dry(`the ledger of '${name}' writes each request,`, failure)
  return new FahaoError(
    'UNKNOWN',
    `it is not known whether the store has carried out this request to the ledger of '${name}'; repeat it`,
    { cause: failure },
  )
}
