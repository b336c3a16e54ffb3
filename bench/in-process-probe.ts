/** Prints nanoseconds per id as JSON: `node --expose-gc bench/in-process-probe.ts ROUNDS MILLISECONDS` */
import { Snowflake as SapphireSnowflake } from '@sapphire/snowflake'
import { do_not_optimize as keep, measure } from 'mitata'
import { nanoid } from 'nanoid'
import { Snowflake as WasmSnowflake } from 'nodejs-snowflake'
import { monotonicFactory, ulid } from 'ulid'
import { v4, v7 } from 'uuid'
import { layouts, snowflake } from '../src/ids.ts'
import { openFahao } from '../src/index.ts'
import { interleaved } from './rounds.ts'

/** One contender in one round. */
export type Lap = { readonly name: string; readonly ns: number }

const [rounds, milliseconds] = process.argv.slice(2).map(Number)
const fahao = await openFahao({ engine: 'memory:', workerId: 'static:7' })
// Ids for the whole run are in hand from the first one on: what is measured is issuing.
const counter = { step: 10_000_000_000 }
const sequence = await fahao.open('sequence', { kind: 'sequence', ...counter })
const text = await fahao.open('text', { kind: 'sequence', ...counter })
const segment = await fahao.open('segment', { kind: 'segment', ...counter })
const event = await fahao.open('event', { kind: 'snowflake', borrowMax: '1h' })
for (const generator of [sequence, text, segment, event]) await generator.next()
const ids = snowflake({ layout: layouts.twitter, workerId: 7, borrowMaxMs: 3_600_000 })
const idsText = snowflake({ layout: layouts.twitter, workerId: 7, borrowMaxMs: 3_600_000 })
const sapphire = new SapphireSnowflake(0)
const wasm = new WasmSnowflake({ instance_id: 7 })
const monotonicUlid = monotonicFactory()

const contenders: Readonly<Record<string, () => unknown>> = {
  'nothing (what measuring costs)': () => keep(1),
  'fahao/ids: snowflake, bigint': () => keep(ids.next()),
  'fahao/ids: snowflake, decimal string': () => keep(idsText.nextText()),
  'openFahao: snowflake, tryNext, bigint': () => keep(issued(event.tryNext())),
  'openFahao: sequence, tryNextNumber': () => keep(issued(sequence.tryNextNumber())),
  'openFahao: segment, tryNextNumber': () => keep(issued(segment.tryNextNumber())),
  'openFahao: sequence, tryNext, bigint': () => keep(issued(sequence.tryNext())),
  'openFahao: sequence, decimal string': () => keep(String(issued(text.tryNextNumber()))),
  '@sapphire/snowflake, bigint (repeats ids beyond 4096 per ms)': () => keep(sapphire.generate()),
  'nodejs-snowflake, bigint (wasm, waits beyond 4096 per ms)': () => keep(wasm.getUniqueID()),
  ulid: () => keep(ulid()),
  'ulid, monotonic': () => keep(monotonicUlid()),
  'uuid v4': () => keep(v4()),
  'uuid v7': () => keep(v7()),
  'crypto.randomUUID': () => keep(crypto.randomUUID()),
  nanoid: () => keep(nanoid()),
  'Date.now': () => keep(Date.now()),
}

const laps: Lap[] = []
await interleaved(Object.keys(contenders), rounds!, async (name) => {
  const { p50 } = await measure(contenders[name]!, { min_cpu_time: milliseconds! * 1_000_000 })
  laps.push({ name, ns: p50 })
})
await fahao.close()
console.log(JSON.stringify(laps))

function issued<Id>(id: Id | undefined): Id {
  if (id === undefined) throw new Error('ran dry: the figures would be those of an empty hand')
  return id
}
