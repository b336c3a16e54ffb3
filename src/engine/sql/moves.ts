/** Several reserves, or several releases, as one change of the counters `c` by rows `a` that say what is asked of each. */
import type { Known } from './history.ts'
import type { ReleaseArguments, ReserveArguments } from './statements.ts'

/** What moves counters. Expressions are of `c`, of `a`, and of the state `s`, which has to be sound. */
export type Moves = {
  readonly known: Known
  /** Each with the same columns, of which `name` is the counter's. */
  readonly rows: readonly ({ readonly name: string } & Readonly<Record<string, bigint | string>>)[]
  /** What becomes of which column of `c`, besides its version. */
  readonly set: Readonly<Record<string, string>>
  readonly where: string
}

const isCurrent = 'c.fence <= a.fence AND c.incarnation <= a.incarnation'

/** Reserves, each as `Statements.reserve` has it. */
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
    // A size of 2^63 and a bound of 2^63 fit on the way, in this order.
    set: {
      last: '(GREATEST(c.last, a.below) + a.more) + 1',
      fence: 'a.fence',
      incarnation: 'a.incarnation',
    },
    where: `${isCurrent} AND GREATEST(c.last, a.below) <= a.room
      AND (c.last >= a.held OR s.lineage <> a.lineage)`,
  }
}

/** Releases, each as `Statements.release` has it. */
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
