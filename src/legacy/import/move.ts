/**
 * Moves one row's generator out of an old service's table.
 *
 * Invariants
 *  1. Before the generator is live, its bound here is at least the row's, and no old node finds the row any more. So no
 *     failure in between repeats an id; at worst no node issues until the import is run again.
 *  2. Within one database the row goes out of service and the generator becomes live in one transaction.
 */
import { FahaoError, hasCode } from '../../base/errors.ts'
import {
  counterOf,
  generatorKey,
  newKey,
  readStored,
  type StoredGenerator,
  writeStored,
} from '../../catalogue/stored-generator.ts'
import { larger } from '../../engine/advance-rules.ts'
import type { Engine, StoredRecord } from '../../engine/engine.ts'
import type { LegacyToken } from '../table.ts'
import type { PlannedRow } from './plan.ts'
import type { ImportStores } from './stores.ts'
import type { RecordToWrite } from './taking-out.ts'

const triesMax = 20

/**
 * Moves the generator of one row. Resolves to the bound from which it continues. Rejects with CONFLICT if an old node
 * has reserved by the row since it was planned, or another process has changed the generator.
 */
export async function moveRow(options: ImportStores, planned: PlannedRow): Promise<bigint> {
  const { table, takingOut, target, together } = options
  const { name, row } = planned
  await writeTokens(target, planned.tokens)
  if (together && planned.todo === 'import') return moveTogether(options, planned)
  const live = await next(target, planned, row.bound)
  if (planned.todo === 'import') {
    // Only at the planned bound: if it has moved meanwhile, an old node still runs.
    await takingOut.takeOut(name, row.bound)
    if ((await table.row(name)) !== undefined)
      throw new FahaoError(
        'CONFLICT',
        `'${name}' has moved on while it was being imported: an old node still runs; stop it and run this again`,
      )
  }
  return goLive(target, live)
}

async function moveTogether({ takingOut, target }: ImportStores, planned: PlannedRow): Promise<bigint> {
  let floor = 0n
  await takingOut.moveOut(planned.name, async (bound) => {
    const live = await next(target, planned, bound)
    floor = live.stored.floor
    return live
  })
  return floor
}

/** The record that makes a generator live, and what it holds. */
type LiveRecord = RecordToWrite & { readonly stored: StoredGenerator }

/** Writes the generator's record, last of all. */
async function goLive(target: Engine, { key, value, expected, stored }: LiveRecord): Promise<bigint> {
  let written: StoredRecord | undefined
  try {
    written = await target.write(key, value, expected)
  } catch (error) {
    if (!hasCode(error, 'UNKNOWN')) throw error
    const found = await target.read(key)
    written = found?.value === value ? found : undefined
  }
  if (written === undefined)
    throw new FahaoError('CONFLICT', `record ${key} was changed by another process; run it again`)
  return stored.floor
}

/** The generator's next record, after its counter was raised to the row's bound, unless it was above that. */
async function next(target: Engine, { name, definition }: PlannedRow, bound: bigint): Promise<LiveRecord> {
  const key = generatorKey(name)
  const record = await target.read(key)
  const before = record && readStored(record)
  if (before?.state === 'live')
    throw new FahaoError('EXISTS', `generator '${name}' has been created meanwhile; nothing was changed`)
  const counter = before?.counter
  const counterName = counterOf(name, { counter })
  const known = await target.counter(counterName)
  // Under the newest incarnation so far: if this ends here, the name can still be created in another way.
  const newest = larger(before?.incarnation ?? 0n, known.incarnation)
  const fence = known.fence > 0n && { fence: known.fence }
  const raise = { size: 0n, floor: bound, incarnation: larger(newest, 1n), ...fence }
  const { end: floor } = await target.reserve(counterName, raise)
  const stored: StoredGenerator = {
    state: 'live',
    incarnation: newest + 1n,
    counter,
    floor,
    definition: definition!,
    key: newKey(definition!),
    // A row with a distance has a remainder, for tinyid's databases side by side.
    offsetGiven: definition!.increment! > 1,
  }
  return { key, value: writeStored(stored), expected: record?.version, stored }
}

async function writeTokens(target: Engine, tokens: readonly LegacyToken[]): Promise<void> {
  for (const { token, key } of tokens) {
    const record = `tinyid-tokens/${token}/${key}`
    for (let tries = 0; tries < triesMax; tries++) {
      if ((await target.read(record)) !== undefined) break
      await target.write(record, '{}', undefined)
    }
  }
}
