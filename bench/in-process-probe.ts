/**
 * Prints nanoseconds per id as JSON: `node --expose-gc bench/in-process-probe.ts ROUNDS MILLISECONDS [FOLDER]`.
 * FOLDER is another built checkout: only its ids are measured then.
 */
import { join } from 'node:path'

import { do_not_optimize as keep, measure } from 'mitata'
import type * as Ids from '../src/ids.ts'
import type * as Library from '../src/index.ts'
import { peers } from './peers.ts'
import { interleaved, spreadOf } from './rounds.ts'

/** One contender in one round. */
export type Lap = { readonly name: string; readonly ns: number }

/** Ids per call that is timed. */
const batch = 1000

const [rounds, milliseconds] = process.argv.slice(2, 4).map(Number)
const other = process.argv[4]
const source = join(other ?? join(import.meta.dirname, '..'), 'src')
const { layouts, snowflake, wideSnowflake }: typeof Ids = await import(join(source, 'ids.ts'))
const { openFahao }: typeof Library = await import(join(source, 'index.ts'))
const fahao = await openFahao({ engine: 'memory:', lead: '24h' })
// Ids for the whole run are buffered from the start: only issuing is measured.
const counter = { step: 10_000_000_000 }
const sequence = await fahao.open('sequence', { kind: 'sequence', ...counter })
const bigints = await fahao.open('bigints', { kind: 'sequence', ...counter })
const text = await fahao.open('text', { kind: 'sequence', ...counter })
const segment = await fahao.open('segment', { kind: 'segment', ...counter })
const event = await fahao.open('event', { kind: 'snowflake', borrowMax: '1h' })
const today = await fahao.open('today', { kind: 'sequence', start: 2n ** 60n, ...counter })
for (const generator of [sequence, bigints, text, segment, event, today]) await generator.next()
const ids = snowflake({ layout: layouts.twitter, workerId: 7, borrowMaxMs: 3_600_000 })
/** An earlier build makes no ids of 128 bits. */
const wide = (format: string) =>
  wideSnowflake?.({ layout: layouts.twitter, workerId: 7, borrowMaxMs: 3_600_000, format })
const [uuids, ulids, uuidBytes] = [wide('uuidv7'), wide('ulid'), wide('uuidv7')]
const bytes = new Uint8Array(16)
const idsText = snowflake({ layout: layouts.twitter, workerId: 7, borrowMaxMs: 3_600_000 })

/** An earlier build has no `tryNextText`. */
const textOf: (generator: Library.FahaoGenerator) => string =
  'tryNextText' in text
    ? (generator) => String(generator.tryNextText())
    : (generator) => String((generator as Library.FahaoGenerator).tryNext())

/**
 * Each contender has a loop of its own, so that the compiler optimises it like a caller's code: a shared loop would be
 * megamorphic, and storing every id where it cannot be optimised away would cost as much as issuing it.
 */
const contenders: Readonly<Record<string, (count: number) => unknown>> = {
  'fahao/ids: snowflake, bigint': (count) => {
    let last = 0n
    for (let index = 0; index < count; index++) last = ids.next()
    return last
  },
  'fahao/ids: snowflake, decimal string': (count) => {
    let last = ''
    for (let index = 0; index < count; index++) last = idsText.nextText()
    return last
  },
  'fahao/ids: uuidv7, text': (count) => {
    let last = ''
    for (let index = 0; index < count; index++) last = uuids!.nextText()
    return last
  },
  'fahao/ids: ulid, text': (count) => {
    let last = ''
    for (let index = 0; index < count; index++) last = ulids!.nextText()
    return last
  },
  'fahao/ids: uuidv7, 16 bytes into an array': (count) => {
    for (let index = 0; index < count; index++) uuidBytes!.nextBytes(bytes)
    return bytes[15]
  },
  'fahao/ids: uuidv7, 16 new bytes': (count) => {
    let last: unknown
    for (let index = 0; index < count; index++) last = uuidBytes!.nextBytes()
    return last
  },
  'openFahao: snowflake, tryNext, bigint': (count) => {
    let last: bigint | undefined
    for (let index = 0; index < count; index++) last = event.tryNext()
    return last
  },
  'openFahao: sequence, tryNextNumber': (count) => {
    let last: number | undefined
    for (let index = 0; index < count; index++) last = sequence.tryNextNumber()
    return last
  },
  'openFahao: segment, tryNextNumber': (count) => {
    let last: number | undefined
    for (let index = 0; index < count; index++) last = segment.tryNextNumber()
    return last
  },
  'openFahao: sequence, tryNext, bigint': (count) => {
    let last: bigint | undefined
    for (let index = 0; index < count; index++) last = bigints.tryNext()
    return last
  },
  'openFahao: sequence, decimal string': (count) => {
    let last = ''
    for (let index = 0; index < count; index++) last = textOf(text)
    return last === 'undefined' ? undefined : last
  },
  'openFahao: sequence, text of 19 digits': (count) => {
    let last = ''
    for (let index = 0; index < count; index++) last = textOf(today)
    return last === 'undefined' ? undefined : last
  },
  // V8 joins the two parts of a longer text when its characters are first read.
  'openFahao: sequence, text of 19 digits, and its last digit': (count) => {
    let last = 0
    for (let index = 0; index < count; index++) last += textOf(today).charCodeAt(18)
    return Number.isNaN(last) ? undefined : last
  },
  ...peers,
  'Date.now': (count) => {
    let last = 0
    for (let index = 0; index < count; index++) last = Date.now()
    return last
  },
}

const laps: Lap[] = []
const names = Object.keys(contenders).filter(
  (name) =>
    (other === undefined || /^(?:fahao|openFahao)/.test(name)) &&
    (wideSnowflake !== undefined || !/uuidv7|ulid,/.test(name)),
)
await interleaved(names, rounds!, async (name) => {
  const contender = contenders[name]!
  const { p50 } = await measure(() => keep(issued(contender(batch))), {
    min_cpu_time: milliseconds! * 1_000_000,
    // The loop is the batch.
    batch_threshold: 0,
  })
  laps.push({ name, ns: p50 / batch })
})
for (let round = 0; round < rounds!; round++) {
  laps.push({ name: 'openFahao: segment, while a refill is due', ns: await belowMarkNs(round) })
  laps.push({ name: 'openFahao: segment, default step, tight loop', ns: await defaultStepNs(round) })
}
await fahao.close()
console.log(JSON.stringify(laps))

/**
 * Nanoseconds per id while a refill is due and cannot come back, because the loop never yields: median over batches of
 * a fresh generator's ids below its mark, which is half of `step`.
 */
async function belowMarkNs(round: number): Promise<number> {
  const step = 4_000_000
  const generator = await fahao.open(`below-mark-${round}`, { kind: 'segment', step })
  await generator.next()
  const loop = (count: number) => {
    let last: number | undefined
    for (let index = 0; index < count; index++) last = generator.tryNextNumber()
    return issued(last)
  }
  loop(step * 0.55)
  const spentNs = Array.from({ length: (step * 0.4) / batch }, () => {
    const startNs = process.hrtime.bigint()
    loop(batch)
    return Number(process.hrtime.bigint() - startNs)
  })
  return spreadOf(spentNs).value / batch
}

/**
 * Nanoseconds per id of a generator with the default step, in a loop that yields only when nothing is buffered: median over
 * its spells of at least half a batch.
 */
async function defaultStepNs(round: number): Promise<number> {
  const generator = await fahao.open(`default-step-${round}`, { kind: 'segment' })
  const spell = () => {
    let count = 0
    while (generator.tryNextNumber() !== undefined) count++
    return count
  }
  const spentNs: number[] = []
  for (let total = 0; total < 3_000_000; ) {
    await generator.next()
    const startNs = process.hrtime.bigint()
    const count = spell()
    const ns = Number(process.hrtime.bigint() - startNs)
    total += count + 1
    if (count >= batch / 2) spentNs.push(ns / count)
  }
  return spreadOf(spentNs).value
}

function issued<Id>(id: Id | undefined): Id {
  if (id === undefined) throw new Error('ran dry: the figures would be those of an empty hand')
  return id
}
