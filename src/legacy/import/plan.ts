/**
 * Plans what an import does with each row of an old service's table. Changes nothing. `table.ts` reads the rows, by
 * the columns in `schemas.ts`.
 *
 * A row is in one of three states: in service in the old table, out of service there, or live here. The state is read from
 * the two stores alone, so an import that failed continues where it stopped.
 */
import { describe } from '../../base/errors.ts'
import { type Definition, define } from '../../catalogue/definition.ts'
import { parseOptions } from '../../catalogue/generator-options.ts'
import { checkName } from '../../catalogue/name-rules.ts'
import {
  counterOf,
  generatorKey,
  readStored,
  type StoredGenerator,
} from '../../catalogue/stored-generator.ts'
import type { Engine } from '../../engine/engine.ts'
import { isKey, movedKey } from '../schemas.ts'
import type { LegacyRow, LegacyTable, LegacyToken } from '../table.ts'
import type { ImportStores } from './stores.ts'

/** The plan for one row: a step, or the reason why there is none. */
export type PlannedRow = {
  readonly name: string
  readonly row: LegacyRow
  readonly tokens: readonly LegacyToken[]
  readonly todo: 'import' | 'finish' | 'nothing'
  /** The definition of its generator; undefined if the row makes none. */
  readonly definition: Definition | undefined
  /** Why it cannot be imported; undefined: it can, or it was. */
  readonly problem: string | undefined
}

/** What operators add to the tables' contents. */
export type PlanOptions = {
  /** The rows to import; empty: all. */
  readonly names: readonly string[]
  /** The largest id of a name that is in use. */
  readonly maxIds: ReadonlyMap<string, bigint>
  readonly nowUs: number
}

/** How many rows are planned, or moved, at once: what these ask of a store at one time shares messages and transactions. */
const rowsAtOnce = 500

/** Plans or moves rows, several at once. The results are in the order of the rows. */
export async function forEachRow<Row, Result>(
  rows: readonly Row[],
  work: (row: Row) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const lane = async () => {
    while (next < rows.length) {
      const at = next++
      results[at] = await work(rows[at]!)
    }
  }
  await Promise.all(Array.from({ length: rowsAtOnce }, lane))
  return results
}

/** Every row that is asked for, in the order of the names. */
export async function planImport(stores: ImportStores, options: PlanOptions): Promise<PlannedRow[]> {
  const { table } = stores
  const [rows, tokens] = await Promise.all([table.rows(), table.tokens()])
  const names = new Set(options.names)
  const wanted = rows.filter(({ key }) => names.size === 0 || names.has(key))
  const tokensOf = Map.groupBy(tokens, ({ key }) => key)
  const planned = await forEachRow(wanted, (row) =>
    planRow(stores, row, tokensOf.get(row.key) ?? [], options),
  )
  return planned.sort((a, b) => (a.name < b.name ? -1 : 1))
}

async function planRow(
  { table, takingOut, target }: ImportStores,
  row: LegacyRow,
  tokens: readonly LegacyToken[],
  { maxIds, nowUs }: PlanOptions,
): Promise<PlannedRow> {
  const name = row.key
  const bare = { name, row, tokens, definition: undefined, problem: undefined }
  let definition: Definition
  try {
    checkName(name)
    definition = define(parseOptions(row.options), nowUs)
  } catch (error) {
    return { ...bare, todo: 'nothing', problem: describe(error) }
  }
  const whole = { ...bare, definition }
  const record = await target.read(generatorKey(name))
  const stored = record && readStored(record)
  if (!row.inService) {
    // A generator that was imported, and dropped since, has a floor at the row's bound or above.
    const isLeft = stored === undefined || (stored.state === 'dropped' && stored.floor < row.bound)
    const todo = isLeft ? 'finish' : 'nothing'
    return {
      ...whole,
      todo,
      problem: stored?.state === 'live' ? await behind(target, row, stored) : undefined,
    }
  }
  const problem =
    problemOf(table, row, stored?.state === 'live', maxIds.get(name)) ?? (await takingOut.refusal(name))
  return { ...whole, todo: problem === undefined ? 'import' : 'nothing', problem }
}

function problemOf(
  { schema }: LegacyTable,
  { key, bound }: LegacyRow,
  isLive: boolean,
  maxId: bigint | undefined,
): string | undefined {
  if (isLive)
    return 'a generator of this name exists already; where it was only laid over this row, drop it first'
  if (!isKey(schema, key) || movedKey(schema, key) === undefined)
    return 'its name leaves no room to take it out of service; shorten it'
  if (bound < 0n) return `it stands at ${bound}; ids are 0 or more`
  if (maxId !== undefined && bound <= maxId)
    return `it stands at ${bound}, and ids up to ${maxId} are in use: raise it by at least ${maxId + 1n - bound}`
  return undefined
}

/** The bound of an imported generator is below its row only if its store has lost writes. */
async function behind(
  target: Engine,
  { key, bound }: LegacyRow,
  stored: StoredGenerator,
): Promise<string | undefined> {
  const now = (await target.counter(counterOf(key, stored))).bound
  if (now >= bound) return undefined
  return `it was imported at ${bound}, and stands at ${now} now: has an old copy been put in place? Raise its floor`
}
