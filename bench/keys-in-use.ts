/** Many keys in use: their memory beside Redis's, how long a stop takes with them, and what a crash skips. */
import { setTimeout } from 'node:timers/promises'
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
/** After this time those are at rest that were asked once. */
const restMs = 5000
const stopMostMs = 3000
/** Keys in use before the first measurement: their code and tables are no cost of the others. */
const warmNames = 2000
/** Names that are asked for the next id after the stop, and after the crash, spread over all. */
const samples = 10_000
/** What a sequence that is used less than once a minute may skip in a crash. */
const skippedMost = 10
/** The most ids that are skipped, in each part of the histogram. */
const histogram = [0, 1, 3, 10, 100, Number.POSITIVE_INFINITY]

type Measured = {
  readonly usedBytes: number
  readonly residentBytes: number
  readonly stopMs: number
  readonly startMs: number
  readonly afterStop: Skips
  /** From the start after the crash until the first id. */
  readonly firstIdMs: number
  readonly afterCrash: Skips
}

/** The ids that each sampled name skipped. */
type Skips = readonly number[]

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
    how: `Each name is asked once on an empty SQLite store. Memory: growth after a full collection of garbage, five seconds after the last request, and growth of what is resident, divided by their number. Then SIGTERM until the process has ended, a start until PING is answered, and INCR of ${samples.toLocaleString('en-US')} of them; then INCR of all again, \`kill -9\`, a start until the first id, and INCR of the same ones.`,
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
  await setTimeout(restMs)
  const full = await serverMemory(port)
  const used = await sampled(server, count)
  const stoppedMs = performance.now()
  await server.kill('SIGTERM')
  const startedMs = performance.now()
  await server.start()
  const startMs = performance.now() - startedMs
  const stopped = await sampled(server, count)
  await askEach(server.resp, { count, nameOf })
  const usedAgain = await sampled(server, count)
  await server.kill()
  const crashedMs = performance.now()
  await server.start()
  await askEach(server.resp, { count: 1, nameOf: () => warmName(0) })
  const firstIdMs = performance.now() - crashedMs
  const crashed = await sampled(server, count)
  await server.kill()
  return {
    usedBytes: (full.usedBytes - empty.usedBytes) / count,
    residentBytes: (full.residentBytes - empty.residentBytes) / count,
    stopMs: startedMs - stoppedMs,
    startMs,
    afterStop: skips(used, stopped),
    firstIdMs,
    afterCrash: skips(usedAgain, crashed),
  }
}

function skips(before: readonly bigint[], after: readonly bigint[]): Skips {
  return after.map((id, index) => Number(id - before[index]!) - 1)
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
    figure('first id after a crash, from the start on', 'ms', measured.firstIdMs),
    figure('the most that one skipped in the crash', 'ids', Math.max(...measured.afterCrash), skippedMost),
    ...histogramOf('the stop', measured.afterStop),
    ...histogramOf('the crash', measured.afterCrash),
  ]
}

function histogramOf(event: string, all: Skips): Figure[] {
  return histogram.map((upTo, at) => {
    const above = at === 0 ? -1 : histogram[at - 1]!
    const count = all.filter((skipped) => skipped > above && skipped <= upTo).length
    const span =
      upTo === 0 ? 'none' : Number.isFinite(upTo) ? `${above + 1} to ${upTo}` : `${above + 1} or more`
    return { what: `of ${samples} names, skipped in ${event}: ${span}`, unit: '', ...spreadOf([count]) }
  })
}
