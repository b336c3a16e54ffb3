/** Several reserves, or several releases, as one update of the counters `c` by rows `a` of arguments. */
import type { Known } from './history.ts'
import type { ReleaseArguments, ReserveArguments } from './statements.ts'

/** An update of counters. Its expressions use `c`, `a`, and the state `s`, which has to be sound. */
export type Moves = {
  readonly known: Known
  /** Rows of arguments with the same columns; `name` is the counter's. */
  readonly rows: readonly ({ readonly name: string } & Readonly<Record<string, bigint | string>>)[]
  /** The new values of columns of `c`, besides its version. */
  readonly set: Readonly<Record<string, string>>
  readonly where: string
}

const isCurrent = 'c.fence <= a.fence AND c.incarnation <= a.incarnation'

/** Reserves, each as in `Statements.reserve`. */
export function reserveMoves(requests: readonly ReserveArguments[]): Moves {
  return {
    known: requests[0]!.known,
    rows: requests.map(({ counter, size, floor, max, fence, incarnation, held }) => ({
      name: counter,
      below: (floor > held.end ? floor : held.end) - 1n,
      more: size - 1n,
      room: max - 1n - size < -2n ? -2n : max - 1n - size,
      fence,
      incarnation,
      held: held.end - 1n,
      lineage: held.history,
    })),
    // In this order, a size of 2^63 and a bound of 2^63 do not overflow.
    set: {
      last: '(GREATEST(c.last, a.below) + a.more) + 1',
      fence: 'a.fence',
      incarnation: 'a.incarnation',
    },
    where: `${isCurrent} AND GREATEST(c.last, a.below) <= a.room
      AND (c.last >= a.held OR s.lineage <> a.lineage)`,
  }
}

/** Releases, each as in `Statements.release`. */
export function releaseMoves(releases: readonly ReleaseArguments[]): Moves {
  return {
    known: releases[0]!.known,
    rows: releases.map(({ counter, from, version, fence, incarnation, history }) => {
      return { name: counter, version, last: from - 1n, fence, incarnation, lineage: history }
    }),
    set: { last: 'a.last' },
    where: `${isCurrent} AND c.version = a.version AND s.lineage = a.lineage`,
  }
}
