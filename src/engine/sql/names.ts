/**
 * Look-ups of names in a database: what is there of each, and in the same message the records and first ranges of those that
 * were never used.
 *
 * Invariants
 *  1. A name is created only if there is neither a record of it nor a row of its counter, and as every write of records with a
 *     lock on the state row: no other process creates it at the same time.
 *  2. The range of a name is reserved by adding the counter's row. A row that has come meanwhile is left as it is, and the range
 *     is not reserved.
 *  3. The outcome of a name goes to one call, if several have asked for it.
 *  4. A name is not looked up here while this process holds a range of its counter: that the counter is gone is a loss.
 */
import { FahaoError } from '../../base/errors.ts'
import { completed, reserve, unused } from '../counter-rules.ts'
import type { First, LookedUp, Reservation } from '../engine.ts'
import type { Creation } from '../look-ups.ts'
import { lengthMax } from './batched-calls.ts'
import { type Counters, usedOf } from './counters.ts'
import { type Ask, integerOf, optionalTextOf, type Row, textOf } from './driver.ts'
import { changedPositionOf, type History } from './history.ts'
import type { Dialect, FirstRow, LookUpArguments } from './statements.ts'

/** The characters of a message that a name takes, beside its own bytes and the value of its record. */
const nameLength = 50

/** Look-ups in parts, each of which fits into a message. */
export function partsOf(lookUps: readonly Creation[]): Creation[][] {
  const parts: Creation[][] = []
  let length = lengthMax
  lookUps.forEach((lookUp, at) => {
    const more = lengthOf(lookUp, lookUps[at - 1])
    if (length + more > lengthMax) {
      parts.push([])
      length = 0
    }
    parts.at(-1)!.push(lookUp)
    length += more
  })
  return parts
}

/** The characters of a message that a part takes. */
export function lengthOfPart(part: readonly Creation[]): number {
  return part.reduce((length, lookUp, at) => length + lengthOf(lookUp, part[at - 1]), 0)
}

/**
 * In characters of `lengthMax`, each of up to 6 bytes. MySQL's message has a name six times and a value twice, in hexadecimal digits.
 * What several names get alike is sent once.
 */
function lengthOf({ key, first }: Creation, before: Creation | undefined): number {
  return nameLength + 2 * Buffer.byteLength(key) + (first === before?.first ? 0 : 2 * first.value.length)
}

/** The names in `fahao_records` and `fahao_counters`. */
export class Names {
  readonly #dialect: Dialect
  readonly #history: History
  readonly #counters: Counters

  constructor(dialect: Dialect, history: History, counters: Counters) {
    this.#dialect = dialect
    this.#history = history
    this.#counters = counters
  }

  /**
   * See `NameStore.lookUp`. Undefined for each name that is neither found nor created: another process was faster, or the
   * database has lost writes, this process has used the counter, or something is left of the name.
   */
  async lookUp(ask: Ask, lookUps: readonly Creation[], nowUs: number): Promise<(LookedUp | undefined)[]> {
    const { names, firsts } = this.#asked(lookUps)
    if (names.length === 0) return lookUps.map(() => undefined)
    const { known } = this.#history
    const rows = await ask(this.#dialect.lookUp!({ names, firsts, known, nowUs }))
    const position = changedPositionOf(rows[0])
    if (position !== undefined) this.#history.wrote(position)
    const byName = new Map(rows.map((row) => [optionalTextOf(row.name), row]))
    return lookUps.map(({ key, first }) => {
      const row = byName.get(key)
      byName.delete(key)
      const version = optionalTextOf(row?.done_version)
      if (version === undefined) return row && foundIn(row)
      const record = { key, value: first.value, version: BigInt(version) }
      const reservation = optionalTextOf(row!.begun) === undefined ? undefined : rangeOf(key, first)
      if (reservation) this.#counters.reserved(key, reservation, position!.history)
      return { record, counter: unused, isNew: true, reservation }
    })
  }

  #asked(lookUps: readonly Creation[]): Pick<LookUpArguments, 'names' | 'firsts'> {
    const firsts: FirstRow[] = []
    const places = new Map<First, bigint>()
    const names = new Map<string, LookUpArguments['names'][number]>()
    for (const { key, first } of lookUps) {
      if (names.has(key) || this.#counters.holds(key)) continue
      let place = places.get(first)
      if (place === undefined) {
        place = BigInt(firsts.push(firstRow(first)))
        places.set(first, place)
      }
      names.set(key, { name: key, place })
    }
    return { names: [...names.values()], firsts }
  }
}

function firstRow(first: First): FirstRow {
  const range = rangeOf('', first)
  if (range === undefined) return { value: first.value, last: undefined, fence: 0n, incarnation: 0n }
  const { fence, incarnation } = completed(first.reserve!)
  return { value: first.value, last: range.end - 1n, fence, incarnation }
}

/** The range that a name gets; undefined: none, or it does not fit, which the next reserve tells. */
function rangeOf(name: string, { reserve: request }: First): Reservation | undefined {
  const range = request && reserve(name, unused, request).answer
  return range instanceof FahaoError ? undefined : range
}

function foundIn(row: Row): LookedUp | undefined {
  const isRecorded = optionalTextOf(row.record_version) !== undefined
  const record = isRecorded
    ? { key: textOf(row.name), value: textOf(row.value), version: integerOf(row.record_version) }
    : undefined
  const counter = usedOf(row)
  return record === undefined && counter.version === 0n ? undefined : { record, counter, isNew: false }
}
