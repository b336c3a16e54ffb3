/**
 * Reserves and releases as updates of counters. The same expressions update one counter with its arguments as values, and
 * several counters joined with rows of arguments.
 */
import type { ReleaseRequest } from '../counter-rules.ts'
import type { ReserveRequest } from '../engine.ts'
import type { Known } from './history.ts'

/** A reserve's request, and what this process knows of the counter. */
export type ReserveArguments = Required<ReserveRequest> & {
  readonly counter: string
  readonly known: Known
  /** The highest end that this process holds, and the history in which it was reserved or acquired. */
  readonly held: { readonly end: bigint; readonly history: string }
}

/** See `Engine.release`. */
export type ReleaseArguments = ReleaseRequest & {
  readonly counter: string
  readonly known: Known
  /** The history in which the reservation was made. A version is meaningful only within its history. */
  readonly history: string
}

/** The arguments of an update, by column. `name` is the counter's. */
export type UpdateRow = { readonly name: string } & Readonly<Record<string, bigint | string>>

/** Returns the expression of an argument. */
type Argument = (column: string) => string

/** An update of counters. Its expressions use the counter `c` and the state `s`, which has to be sound. */
export type CounterUpdate = {
  readonly known: Known
  /** One for each counter, with the same columns. */
  readonly rows: readonly UpdateRow[]
  /**
   * Whether to add counters that have no row: the update then has the values of all columns, and finds such a counter at
   * `unusedRow`. Counters without a row are left out otherwise.
   */
  readonly addsRows: boolean
  /** The new values of columns of `c`, without its version. */
  readonly set: (a: Argument) => Readonly<Record<string, string>>
  readonly where: (a: Argument) => string
}

/** The columns of a counter that was never used: its row at version 0 is equal to none. */
export const unusedRow = { last: -1n, fence: 0n, incarnation: 0n }

/** Reserves of several counters. */
export function reserving(requests: readonly ReserveArguments[], addsRows = false): CounterUpdate {
  return {
    known: requests[0]!.known,
    addsRows,
    rows: requests.map((request) => ({
      name: request.counter,
      ...limitsOf(request),
      more: request.size - 1n,
      fence: request.fence,
      incarnation: request.incarnation,
      held: request.held.end - 1n,
      history: request.held.history,
    })),
    // `last` is the bound − 1 and `more` the size − 1. The 1 is added last, so that a size or a bound of 2^63 does
    // not overflow.
    set: (a) => ({
      last: `(GREATEST(c.last, ${a('below')}) + ${a('more')}) + 1`,
      fence: a('fence'),
      incarnation: a('incarnation'),
    }),
    where: (a) => `${current(a)} AND GREATEST(c.last, ${a('below')}) <= ${a('room')}
      AND (c.last >= ${a('held')} OR s.history <> ${a('history')})`,
  }
}

/** Releases of several counters. */
export function releasing(releases: readonly ReleaseArguments[]): CounterUpdate {
  return {
    known: releases[0]!.known,
    addsRows: false,
    rows: releases.map(({ counter, from, version, fence, incarnation, history }) => {
      return { name: counter, version, last: from - 1n, fence, incarnation, history }
    }),
    set: (a) => ({ last: a('last') }),
    where: (a) => `${current(a)} AND c.version = ${a('version')} AND s.history = ${a('history')}`,
  }
}

/** `below`: the range starts above this value; `room`: the largest `last` from which the range does not pass its end. */
export function limitsOf({ floor, held, max, size }: ReserveArguments): { below: bigint; room: bigint } {
  const room = max - 1n - size
  return { below: (floor > held.end ? floor : held.end) - 1n, room: room < -2n ? -2n : room }
}

function current(a: Argument): string {
  return `c.fence <= ${a('fence')} AND c.incarnation <= ${a('incarnation')}`
}
