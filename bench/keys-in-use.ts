/** Many keys in use: their memory beside Redis's, and how long a stop takes with them. */
import { type FahaoServer, startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { freePort } from '../test/launch/places.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { startRedis } from '../test/launch/redis.ts'
import { inspectable, serverMemory } from './inspector.ts'
import { askEach } from './name-links.ts'
import { residentBytes } from './process-cpu.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, spreadOf } from './rounds.ts'

const bytesMost = 400
const stopMostMs = 3000
/** Keys in use before the first measurement: their code and tables are no cost of the others. */
const warmNames = 2000
/** Names that are asked for the next id after the stop, spread over all. */
const samples = 500

type Measured = {
  readonly usedBytes: number
  readonly residentBytes: number
  readonly stopMs: number
  readonly startMs: number
  /** Of the sampled names, those that continued with the next id. */
  readonly continued: number
  /** The most ids that one of the sampled names skipped. */
  readonly skippedMost: number
}

/** 200,000 keys in use, or as many as are wanted. */
export async function keysInUse(lifetime: Lifetime, effort: Effort): Promise<Section> {
  const count = effort.names ?? (effort.quick ? 20_000 : 200_000)
  const redis = await startRedis(lifetime)
  await askEach(redis.port, { count: warmNames, nameOf: warmName })
  const empty = residentBytes(redis.pid)
  await askEach(redis.port, { count, nameOf })
  const redisBytes = (residentBytes(redis.pid) - empty) / count
  await redis.kill()
  const figures = figuresOf(await measure(lifetime, count))
  const before = effort.before === undefined ? [] : figuresOf(await measure(lifetime, count, effort.before))
  return {
    name: `Keys: ${count.toLocaleString('en-US')} in use`,
    how: `Each name is asked once on an empty SQLite store. Memory: growth after a full collection of garbage, and growth of what is resident, divided by their number. Then SIGTERM until the process has ended, a start until PING is answered, and INCR of ${samples} of them.`,
    figures: [
      ...figures,
      { what: 'Redis: resident, per key', unit: 'B', ...spreadOf([redisBytes]) },
      ...before.map(({ what, unit, value, low, high }) => ({
        what: `the earlier build: ${what}`,
        unit,
        value,
        low,
        high,
      })),
    ],
  }
}

function nameOf(index: number): string {
  return `shop:${index % 1000}:order:${index}`
}

function warmName(index: number): string {
  return `warm:${index}`
}

async function measure(lifetime: Lifetime, count: number, checkout?: string): Promise<Measured> {
  const port = await freePort()
  const server = await startFahao(lifetime, {
    ...(checkout && { checkout }),
    args: ['--auto-create', '*=sequence', '--log-level', 'warn'],
    env: inspectable(port),
    readyWithinMs: 60_000,
  })
  await askEach(server.resp, { count: warmNames, nameOf: warmName })
  const empty = await serverMemory(port)
  await askEach(server.resp, { count, nameOf })
  const full = await serverMemory(port)
  const before = await sampled(server, count)
  const stoppedMs = performance.now()
  await server.kill('SIGTERM')
  const startedMs = performance.now()
  await server.start()
  const startMs = performance.now() - startedMs
  const after = await sampled(server, count)
  await server.kill()
  const skipped = after.map((id, index) => Number(id - before[index]!) - 1)
  return {
    usedBytes: (full.usedBytes - empty.usedBytes) / count,
    residentBytes: (full.residentBytes - empty.residentBytes) / count,
    stopMs: startedMs - stoppedMs,
    startMs,
    continued: skipped.filter((ids) => ids === 0).length,
    skippedMost: Math.max(...skipped),
  }
}

async function sampled(server: FahaoServer, count: number): Promise<bigint[]> {
  const client = await RawClient.connect(server.resp)
  const ids: bigint[] = []
  for (let sample = 0; sample < samples; sample++) {
    const reply = await client.command('INCR', nameOf(Math.floor((sample * count) / samples)))
    if (typeof reply !== 'bigint') throw new Error(`INCR was answered: ${String(reply)}`)
    ids.push(reply)
  }
  await client.close()
  return ids
}

function figuresOf(measured: Measured): Figure[] {
  const figure = (what: string, unit: string, value: number, most?: number): Figure => ({
    what,
    unit,
    ...(most !== undefined && { budget: { most } }),
    ...spreadOf([value]),
  })
  return [
    figure('heap and buffers, per key', 'B', measured.usedBytes, bytesMost),
    figure('resident, per key, the store’s thread and its cache included', 'B', measured.residentBytes),
    figure('stop', 'ms', measured.stopMs, stopMostMs),
    figure('start after it', 'ms', measured.startMs),
    figure(`of ${samples} names, continued with the next id`, '', measured.continued),
    figure('ids that one of these skipped, at most', '', measured.skippedMost),
  ]
}
