/**
 * The way down for a counter that was moved too far by mistake: an incarnation of its own counter that starts below ids that
 * may have been issued. Only for an operator who knows that they were not, or are not in use, with all nodes stopped.
 */
import { FahaoError } from '../base/errors.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'
import { noGenerator } from './generator-records.ts'
import { seal } from './incarnation-change.ts'
import {
  checkName,
  counterAnew,
  counterOf,
  firstOf,
  generatorKey,
  newKey,
  readStored,
  type StoredGenerator,
  writeStored,
} from './stored.ts'

/** What a lowering does. */
export type Lowering = {
  readonly name: string
  /** Ids from `to` up to the last one below `from` may have been issued, and can be issued again. */
  readonly from: bigint
  readonly to: bigint
  readonly record: StoredRecord
  readonly before: StoredGenerator
}

/** What lowering a generator to `to` would do; changes nothing. ERR where it cannot be done, NOTOWNER where it is in use. */
export async function planLowering(engine: Engine, name: string, to: bigint): Promise<Lowering> {
  checkName(name)
  const ownership = await engine.ownership()
  if (ownership.state === 'other')
    throw new FahaoError('NOTOWNER', `the store is in use by ${ownership.holder}; stop all its servers first`)
  const record = await engine.read(generatorKey(name))
  if (record === undefined) throw noGenerator(name)
  const before = readStored(record)
  const { state, floor, definition } = before
  if (state === 'altering')
    throw refused(
      `'${name}' is about to become another; start a server, ask it for ID.INFO ${name}, and stop it`,
    )
  if (definition.max === undefined)
    throw refused(
      `'${name}' is a ${definition.kind}, which follows the clock; only sequence and segment are lowered`,
    )
  if (definition.scramble) throw refused(`ids of '${name}' are scrambled over all of [0, max]: none is lower`)
  const { bound } = await engine.counter(counterOf(name, before))
  const first = firstOf(floor, definition)
  const from = bound > first ? bound : first
  if (to < from) return { name, from, to, record, before }
  throw refused(`'${name}' stands at ${from} already; to move it forward use ID.ALTER ${name} FLOOR ${to}`)
}

/** Does it, in a new incarnation. CONFLICT when another process has changed the generator since. */
export async function lower(engine: Engine, { name, to, record, before }: Lowering): Promise<void> {
  const { definition } = before
  const incarnation = before.incarnation + 1n
  const after: StoredGenerator = {
    ...before,
    incarnation,
    counter: counterAnew(name, incarnation),
    floor: to,
    definition: { ...definition, start: definition.start! < to ? definition.start! : to },
    key: newKey(definition),
  }
  if ((await engine.write(record.key, writeStored(after), record.version)) === undefined)
    throw new FahaoError('CONFLICT', `generator '${name}' was just changed by others; stop all servers first`)
  await seal(engine, name, { ...before, incarnation })
}

function refused(why: string): FahaoError {
  return new FahaoError('ERR', why)
}
