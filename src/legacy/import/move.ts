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
import type { Engine, StoredRecord } from '../../engine/engine.ts'
import type { LegacyToken } from '../table.ts'
import type { PlannedRow } from './plan.ts'
import type { ImportStores } from './stores.ts'

const triesMax = 20

/**
 * Moves the generator of one row. Resolves to the bound from which it continues. Rejects with CONFLICT if an old node
 * has reserved by the row since it was planned, or another process has changed the generator.
 */
export async function moveRow(options: ImportStores, planned: PlannedRow): Promise<bigint> {
  const { table, target, together } = options
  const { name, row } = planned
  await writeTokens(target, planned.tokens)
  if (planned.todo === 'finish') return goLive(target, planned, row.bound)
  if (together) return moveTogether(options, planned)
  await raise(target, generatorKey(name), row.bound)
  // Only at the planned bound: if it has moved meanwhile, an old node still runs.
  await table.takeOut(name, row.bound)
  if ((await table.row(name)) !== undefined)
    throw new FahaoError(
      'CONFLICT',
      `'${name}' has moved on while it was being imported: an old node still runs; stop it and run this again`,
    )
  return goLive(target, planned, row.bound)
}

async function moveTogether({ table, target }: ImportStores, planned: PlannedRow): Promise<bigint> {
  const { name } = planned
  let floor = 0n
  await table.moveOut(name, async (bound) => {
    const { record, stored } = await next(target, planned, bound)
    floor = stored.floor
    return { key: generatorKey(name), value: writeStored(stored), expected: record?.version }
  })
  return floor
}

/** Writes the generator's record, last of all. */
async function goLive(target: Engine, planned: PlannedRow, bound: bigint): Promise<bigint> {
  const { record, stored } = await next(target, planned, bound)
  const value = writeStored(stored)
  const key = generatorKey(planned.name)
  let written: StoredRecord | undefined
  try {
    written = await target.write(key, value, record?.version)
  } catch (error) {
    if (!hasCode(error, 'UNKNOWN')) throw error
    const found = await target.read(key)
    written = found?.value === value ? found : undefined
  }
  if (written === undefined)
    throw new FahaoError(
      'CONFLICT',
      `generator '${planned.name}' is being changed by another process; run it again`,
    )
  return stored.floor
}

/** The generator's next record, after its counter was raised. */
async function next(
  target: Engine,
  { name, definition }: PlannedRow,
  bound: bigint,
): Promise<{ record: StoredRecord | undefined; stored: StoredGenerator }> {
  const record = await target.read(generatorKey(name))
  const before = record && readStored(record)
  if (before?.state === 'live')
    throw new FahaoError('EXISTS', `generator '${name}' has been created meanwhile; nothing was changed`)
  const incarnation = (before?.incarnation ?? 0n) + 1n
  const counter = before?.counter
  const floor = await raise(target, counterOf(name, { counter }), bound, incarnation)
  return {
    record,
    stored: {
      state: 'live',
      incarnation,
      counter,
      floor,
      definition: definition!,
      key: newKey(definition!),
      // A row with a distance has a remainder, for tinyid's databases side by side.
      offsetGiven: definition!.increment! > 1,
    },
  }
}

/** Raises the counter to the row's bound, unless the counter is above it. */
async function raise(target: Engine, counter: string, bound: bigint, incarnation = 1n): Promise<bigint> {
  const seen = (await target.counter(counter)).incarnation
  const own = incarnation > seen ? incarnation : seen
  return (await target.reserve(counter, { size: 0n, floor: bound, incarnation: own })).end
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
