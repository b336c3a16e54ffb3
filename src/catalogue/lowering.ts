/**
 * Lowers a counter that was moved too far by mistake: a new incarnation with a counter of its own starts below ids that
 * may have been issued. Only for operators that have made sure that no such id is in use, with all nodes stopped.
 */
import { FahaoError } from '../base/errors.ts'
import { larger } from '../engine/advance-rules.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'
import { noGenerator } from './generator-records.ts'
import { checkName } from './name-rules.ts'
import { seal } from './seal.ts'
import {
  counterOf,
  firstOf,
  generatorKey,
  newCounter,
  newKey,
  readStored,
  type StoredGenerator,
  writeStored,
} from './stored-generator.ts'

/** The effect of a lowering. */
export type Lowering = {
  readonly name: string
  /** Ids from `to` up to the last one below `from` may have been issued, and can be issued again. */
  readonly from: bigint
  readonly to: bigint
  readonly record: StoredRecord
  readonly before: StoredGenerator
}

/** The effect of lowering a generator to `to`; changes nothing. ERR if it is impossible, NOTOWNER if the store is in use. */
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
      `an alteration of '${name}' is incomplete; start a server, ask it for ID.INFO ${name}, and stop it`,
    )
  if (definition.period !== undefined)
    throw refused(
      `the numbers of '${name}' begin again each ${definition.period}, and are not lowered within it`,
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

/** Lowers it, in a new incarnation. CONFLICT if another process has changed the generator since. */
export async function lower(engine: Engine, { name, from, to, record, before }: Lowering): Promise<void> {
  const { definition } = before
  const incarnation = before.incarnation + 1n
  const after: StoredGenerator = {
    ...before,
    incarnation,
    counter: newCounter(name, incarnation),
    floor: to,
    definition: { ...definition, start: definition.start! < to ? definition.start! : to },
    key: newKey(definition),
    loweredFrom: larger(from, before.loweredFrom ?? 0n),
  }
  if ((await engine.write(record.key, writeStored(after), record.version)) === undefined)
    throw new FahaoError(
      'CONFLICT',
      `generator '${name}' was just changed by another process; stop all servers first`,
    )
  await seal(engine, name, { ...before, incarnation })
}

function refused(why: string): FahaoError {
  return new FahaoError('ERR', why)
}
