/** Many tenants, each with numbers that begin again every month: their memory, their store, a stop and a start. */
import { statSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { freePort } from '../test/launch/places.ts'
import { inspectable, serverMemory } from './inspector.ts'
import { askEach, type NameRequest } from './name-links.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, spreadOf } from './rounds.ts'

const bytesMost = 6000
const warmNames = 2000
/** Generators leave memory when nothing was asked of them for this long. */
const idleAfterMs = 4000

const createRequest: NameRequest = {
  of: (name) =>
    command([
      'ID.CREATE',
      name,
      'KIND',
      'sequence',
      'PERIOD',
      'month',
      'ZONE',
      'Europe/Berlin',
      'WIDTH',
      '6',
    ]),
  replyLines: 1,
}

function command(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`
}

/** 100,000 tenants, or as many as are wanted. */
export async function keysInPeriods(lifetime: Lifetime, effort: Effort): Promise<Section> {
  const count = effort.names ?? (effort.quick ? 10_000 : 100_000)
  const port = await freePort()
  const server = await startFahao(lifetime, {
    args: ['--log-level', 'warn', '--idle-after', `${idleAfterMs}ms`],
    env: inspectable(port),
    readyWithinMs: 60_000,
  })
  const bytesOfStore = () =>
    ['', '-wal'].reduce(
      (sum, end) => sum + (statSync(server.file + end, { throwIfNoEntry: false })?.size ?? 0),
      0,
    )
  const links = { connections: 32, pipeline: 8 }
  const all = { count, nameOf, ...links }
  const warm = { ...links, count: warmNames, nameOf: (index: number) => `warm:${index}` }
  const createSeconds = await askEach(server.resp, { ...all, request: createRequest })
  await askEach(server.resp, { ...warm, request: createRequest })
  const restart = async () => {
    // Until the connections of the requests before have ended.
    await setTimeout(500)
    const fromMs = performance.now()
    await server.kill('SIGTERM')
    const stoppedMs = performance.now()
    await server.start()
    return { stopMs: stoppedMs - fromMs, startMs: performance.now() - stoppedMs }
  }
  await restart()
  const definedBytes = bytesOfStore()
  await askEach(server.resp, warm)
  const empty = await serverMemory(port)
  const firstSeconds = await askEach(server.resp, all)
  const full = await serverMemory(port)
  const againSeconds = await askEach(server.resp, all)
  const { stopMs, startMs } = await restart()
  const usedBytes = bytesOfStore()
  await askEach(server.resp, warm)
  await askEach(server.resp, all)
  await setTimeout(4 * idleAfterMs)
  const idle = await serverMemory(port)
  await server.kill()
  const figure = (what: string, unit: string, value: number, most?: number): Figure => ({
    what,
    unit,
    ...(most !== undefined && { budget: { most } }),
    ...spreadOf([value]),
  })
  return {
    name: `Keys: ${count.toLocaleString('en-US')} in months`,
    how: `Each name is created with a period of a month on an empty SQLite store. After a new start each is asked once, and again. Memory: growth after a full collection of garbage, in use, and once all have left memory, ${idleAfterMs / 1000} s after their last request at least. Store: the file and its log.`,
    figures: [
      figure('creations a second', '', count / createSeconds),
      figure('first draws of the month a second: record, mark and reserve', '', count / firstSeconds),
      figure('draws a second of names in use, one each', '', count / againSeconds),
      figure('heap and buffers, per key in use', 'B', (full.usedBytes - empty.usedBytes) / count, bytesMost),
      figure(
        'heap and buffers, per key that has left memory',
        'B',
        (idle.usedBytes - empty.usedBytes) / count,
      ),
      figure('store, per key that is defined', 'B', definedBytes / count),
      figure('store, per key that has issued', 'B', usedBytes / count),
      figure('stop with all in use', 'ms', stopMs),
      figure('start after it', 'ms', startMs),
    ],
  }
}

function nameOf(index: number): string {
  return `invoice:tenant${index}`
}
