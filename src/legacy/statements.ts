/**
 * Statements on counters. Some of the counters are rows of an old service's table. A reserve on a row has the effect of the old
 * service's own statement and, like all writes, checks the history in the same statement.
 */
import { limitsOf, type ReserveArguments } from '../engine/sql/counter-updates.ts'
import { type AdvanceArguments, type PutValue, type Raise, Statements } from '../engine/sql/statements.ts'
import { max63 } from '../ids/limits.ts'
import type { LegacySchema } from './schemas.ts'
import type { LegacyTable } from './table.ts'

/** Counters of generators have this in front of the generator's name, which is the row's. */
const generators = 'generators/'

/** The name of the row that is this counter; undefined: the counter is no row. */
export function rowOf(counter: string): string | undefined {
  return counter.startsWith(generators) ? counter.slice(generators.length) : undefined
}

/** Statements of an SQL engine on such a table. */
export class LegacyStatements extends Statements {
  readonly #put: PutValue
  readonly #table: LegacyTable

  constructor(put: PutValue, identity: string, table: LegacyTable) {
    super(put, identity)
    this.#put = put
    this.#table = table
  }

  override reserve(request: ReserveArguments): string {
    const key = rowOf(request.counter)
    if (key === undefined) return super.reserve(request)
    const { size, known, held } = request
    const put = this.#put
    const { schema } = this.#table
    const last = lastOf(schema)
    const limits = limitsOf(request)
    const below = put(limits.below)
    // A row's value is its last + 1 − shift. A size of 2^63 fits on the way, in this order.
    const next = `(GREATEST(${last}, ${below}) + ${put(size - 1n)}) + ${put(2n - schema.shift)}`
    return `UPDATE ${schema.table} AS c SET ${[`${schema.boundColumn} = ${next}`, ...schema.alsoSets].join(', ')}
      WHERE ${this.#table.among([key])} AND GREATEST(${last}, ${below}) <= ${put(limits.room)}
        AND EXISTS (SELECT 1 FROM fahao_about AS s WHERE s.one = 1 AND ${this.sound(known)}
          AND (${last} >= ${put(held.end - 1n)} OR s.history <> ${put(held.history)}))`
  }

  override ownRaises({ raises }: AdvanceArguments): readonly Raise[] {
    return raises.filter(({ counter }) => rowOf(counter) === undefined)
  }

  /** First the rows that this process or a record raises further, then all rows by the gap. */
  override raiseRows({ gap, raises }: AdvanceArguments, done: string, rowsMax: number): string[] {
    const put = this.#put
    const { table, boundColumn, stored, shift, increment, alsoSets } = this.#table.schema
    const known = raises.flatMap(({ counter, extra, last }) => {
      const key = rowOf(counter)
      const least = last - extra + 1n - shift
      return key === undefined || least <= 0n ? [] : [{ is: this.#table.among([key]), least }]
    })
    const from = (rows: typeof known) =>
      rows.length === 0
        ? stored
        : `CASE ${rows.map(({ is, least }) => `WHEN ${is} THEN GREATEST(${stored}, ${put(least)})`).join(' ')} ELSE ${stored} END`
    const update = (value: string, where: string) =>
      `UPDATE ${table} SET ${[`${boundColumn} = ${value}`, ...alsoSets].join(', ')} WHERE ${where}`
    const by = gap === 0n ? '0' : `${put(gap)} * LEAST(${increment}, ${put(max63 / gap)})`
    const all = (rows: typeof known) => update(`LEAST(${from(rows)}, ${put(max63)} - ${by}) + ${by}`, done)
    if (known.length <= rowsMax) return [all(known)]
    const parts = Array.from({ length: Math.ceil(known.length / rowsMax) }, (_, part) =>
      known.slice(part * rowsMax, (part + 1) * rowsMax),
    )
    const named = (rows: typeof known) => `(${rows.map(({ is }) => is).join(' OR ')})`
    return [...parts.map((rows) => update(from(rows), `${named(rows)} AND ${done}`)), all([])]
  }

  override returned(counter: string): string {
    if (rowOf(counter) === undefined) return super.returned(counter)
    return `${lastOf(this.#table.schema)} AS last, 1 AS version`
  }

  override stateAndCounter(counter: string): string {
    const key = rowOf(counter)
    if (key === undefined) return super.stateAndCounter(counter)
    return `fahao_about AS s LEFT JOIN ${this.#counterOf(key)} ON 1 = 1`
  }

  override counters(names: readonly string[]): string {
    const selects = names.map((name) => {
      const key = rowOf(name)
      return key === undefined
        ? super.counters([name])
        : `SELECT ${this.#put(name)} AS name, c.last, c.fence, c.incarnation, c.version FROM ${this.#counterOf(key)}`
    })
    return selects.join(' UNION ALL ')
  }

  /** A row as a counter `c`, which stores neither fence nor incarnation nor version. */
  #counterOf(key: string): string {
    const { schema } = this.#table
    return `(SELECT ${lastOf(schema)} AS last, 0 AS fence, 0 AS incarnation, 1 AS version
      FROM ${schema.table} WHERE ${this.#table.among([key])}) AS c`
  }
}

/** The largest value of a row that can have been issued. */
function lastOf({ stored, shift }: LegacySchema): string {
  return shift === 1n ? stored : `(${stored} - ${1n - shift})`
}
