/** The engine: its writes per id, its speed, and the effect of a stall on clients. */
import { join } from 'node:path'
import { createHistogram } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../src/base/clock.ts'
import { generatorKey } from '../src/catalogue/stored-generator.ts'
import { loadConfig } from '../src/config/load-config.ts'
import type { Engine } from '../src/engine/engine.ts'
import { openEngine } from '../src/engine/open.ts'
import { startNode } from '../src/node/start.ts'
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { temporaryFolder } from '../test/launch/places.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { openLoop } from './open-loop.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, ratioOf, type Spread, spreadOf } from './rounds.ts'
import { beginStall } from './stall.ts'

/** Writes, commits, creations, and a stall. */
export async function engine(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  return [
    await writes(lifetime, effort),
    await commits(lifetime, effort),
    await creations(lifetime, effort),
    await stalled(lifetime, effort),
  ]
}

async function writes(lifetime: Lifetime, { quick }: Effort): Promise<Section> {
  const ids = quick ? 50_000 : 200_000
  const { config } = loadConfig({ flags: { engine: freshStore(lifetime), resp: 'off', http: 'off' } })
  const node = await startNode(config)
  const figures: Figure[] = []
  try {
    for (const [pace, pauseEvery] of Object.entries({ steadily: 250, 'as fast as they come': ids })) {
      const name = pace.replaceAll(' ', '-')
      const generator = await node.catalogue.create(name, { kind: 'sequence', step: 1000, horizon: '0s' })
      for (let issued = 0; issued < ids; issued++) {
        await generator.draw(1)
        // Long enough for a refill, so that no caller waits and no step doubles.
        if (issued % pauseEvery === 0) await pause(5)
      }
      // Each reserve makes one version of the counter.
      const { version } = await node.engine.counter(generatorKey(name))
      const opened = ids + generator.stats().inHand
      figures.push({
        what: `writes per step (1000 ids), ids taken ${pace}`,
        unit: '',
        budget: { most: 1 },
        ...once((Number(version) * 1000) / opened),
      })
    }
  } finally {
    await node.close()
  }
  return {
    name: 'Engine: writes',
    how: `${ids.toLocaleString('en-US')} ids are drawn one by one from a sequence on SQLite without a horizon, so that refills are as small as they get; reserves by the counter's version, buffered ids at the end counted in.`,
    figures,
  }
}

async function commits(lifetime: Lifetime, { rounds, seconds }: Effort): Promise<Section> {
  const options = { clock: systemClock, callTimeoutMs: 5000, onEvent: () => {} }
  const store = await openEngine(freshStore(lifetime), options)
  const alone: number[] = []
  const together: number[] = []
  const latencies = createHistogram()
  try {
    for (let round = 0; round < rounds; round++) {
      alone.push(await reservesPerSecond(store, 1, seconds, (ns) => latencies.record(ns)))
      together.push(await reservesPerSecond(store, 64, seconds, () => {}))
    }
  } finally {
    await store.close()
  }
  return {
    name: 'Engine: durable reserves of SQLite',
    how: `\`reserve\` on a fresh file, ${seconds} s each, interleaved; median of ${rounds}. Each resolves only when it is synced.`,
    figures: [
      { what: 'one caller: reserves, each its own commit', unit: '/s', ...spreadOf(alone) },
      { what: 'one caller: median latency', unit: 'ms', ...once(latencies.percentile(50) / 1e6) },
      { what: 'one caller: p99 latency', unit: 'ms', ...once(latencies.percentile(99) / 1e6) },
      { what: '64 callers with a counter each: reserves, commits shared', unit: '/s', ...spreadOf(together) },
    ],
  }
}

async function reservesPerSecond(
  store: Engine,
  callers: number,
  seconds: number,
  record: (ns: number) => void,
): Promise<number> {
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  let done = 0
  const caller = async (_: unknown, index: number) => {
    for (let nowMs = performance.now(); nowMs < endMs; done++) {
      await store.reserve(`counter-${index}`, { size: 1n, incarnation: 1n })
      const thenMs = performance.now()
      record(Math.max(1, Math.round((thenMs - nowMs) * 1e6)))
      nowMs = thenMs
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return done / ((performance.now() - startMs) / 1000)
}

/** The engine's part of the creation of many generators at once: of each, a write of its record and the first reserve. */
async function creations(lifetime: Lifetime, { rounds, quick }: Effort): Promise<Section> {
  const names = quick ? 20_000 : 100_000
  const value = JSON.stringify({ state: 'live', definition: 'x'.repeat(150) })
  const options = { clock: systemClock, callTimeoutMs: 20_000, onEvent: () => {} }
  const figures: Figure[] = []
  for (const width of [128, 5000]) {
    const speeds: number[] = []
    const efforts: number[] = []
    for (let round = 0; round < rounds; round++) {
      const store = await openEngine(freshStore(lifetime), options)
      const [startMs, before] = [performance.now(), process.cpuUsage()]
      for (let from = 0; from < names; from += width) {
        const creates = Array.from({ length: Math.min(width, names - from) }, (_, index) => {
          // In no order, as names are.
          const key = `generators/user:${((from + index) * 7919) % names}:messages`
          const reserve = store.reserve(key, { size: 100n, floor: 1n, incarnation: 1n })
          return Promise.all([store.write(key, value, undefined), reserve])
        })
        await Promise.all(creates)
      }
      const { user, system } = process.cpuUsage(before)
      speeds.push(names / ((performance.now() - startMs) / 1000))
      efforts.push((user + system) / names)
      await store.close()
    }
    const what = `${width.toLocaleString('en-US')} at once`
    figures.push({ what: `creations, ${what}`, unit: '/s', ...spreadOf(speeds) })
    figures.push({ what: `CPU of a creation on all threads, ${what}`, unit: 'µs', ...spreadOf(efforts) })
  }
  return {
    name: 'Engine: creations on SQLite',
    how: `${names.toLocaleString('en-US')} names in no order on a fresh file, each with a write of a record and the first reserve of a counter, both durable; median of ${rounds}.`,
    figures,
  }
}

const generators = 100

async function stalled(lifetime: Lifetime, { rounds, quick }: Effort): Promise<Section> {
  const ratePerSecond = 20_000
  const server = await startFahao(lifetime, { args: ['--log-level', 'error'] })
  const names = Array.from({ length: generators }, (_, index) => `order:${index}`)
  const client = await RawClient.connect(server.resp, lifetime)
  for (const name of names) await client.command('ID.CREATE', name, 'KIND', 'sequence', 'HORIZON', '10s')
  const load = {
    port: server.resp,
    commands: names.map((name) => ['INCR', name]),
    connections: 20,
    ratePerSecond,
    seconds: 6,
  }
  // Until the server has measured the rate, and buffers a horizon of ids.
  await openLoop({ ...load, seconds: quick ? 20 : 60 })
  const pairs: { calm: number; stalled: number; calmMs: number; stalledMs: number; held: number }[] = []
  let vain = 0
  while (pairs.length < rounds) {
    const calm = await openLoop(load)
    const stall = await beginStall(lifetime, server.pid)
    const during = await openLoop(load)
    const held = await stall.end()
    await pause(1000)
    if (held === 0) {
      // With seconds of buffered ids, a stall may begin and end between two refills.
      if (++vain > rounds) throw new Error('no sync was held: there was no stall to measure')
      continue
    }
    pairs.push({
      calm: calm.percentile(99.99),
      stalled: during.percentile(99.99),
      calmMs: calm.percentile(50) / 1e6,
      stalledMs: during.percentile(50) / 1e6,
      held,
    })
  }
  const of = (name: keyof (typeof pairs)[number]) => pairs.map((pair) => pair[name])
  const milliseconds = (values: readonly number[]) => spreadOf(values.map((ns) => ns / 1e6))
  return {
    name: 'Engine: a stall of the disk',
    how: `${ratePerSecond.toLocaleString('en-US')} INCR per second in an open loop over ${generators} sequences with a horizon of 10 s, 6 s without and 6 s with every fsync held for 5 s (strace on the store's thread); latency from when a request was due; median of ${rounds} pairs.`,
    figures: [
      {
        what: 'p99.99 with a stall to p99.99 without',
        unit: '×',
        budget: { most: 2 },
        ...ratioOf(of('stalled'), of('calm')),
      },
      { what: 'p99.99 without', unit: 'ms', ...milliseconds(of('calm')) },
      { what: 'p99.99 with', unit: 'ms', ...milliseconds(of('stalled')) },
      { what: 'median without', unit: 'ms', ...spreadOf(of('calmMs')) },
      { what: 'median with', unit: 'ms', ...spreadOf(of('stalledMs')) },
      { what: 'syncs held', unit: '', ...spreadOf(of('held')) },
    ],
  }
}

function freshStore(lifetime: Lifetime): string {
  return `sqlite:${join(temporaryFolder(lifetime), 'fahao.db')}`
}

function once(value: number): Spread {
  return spreadOf([value])
}
