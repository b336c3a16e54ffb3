/** A family: what its names cost in memory and in the store, and how fast they are, beside ordinary keys. */
import { statSync } from 'node:fs'
import { type FahaoServer, startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { freePort } from '../test/launch/places.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { inspectable, serverMemory } from './inspector.ts'
import { askEach } from './name-links.ts'
import { processCpuUs } from './process-cpu.ts'
import { redisBenchmark } from './redis-benchmark.ts'
import type { Budget, Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

/** A row of 64 bytes, 16 to 32 of slots, and what the heap of the process grows by meanwhile. */
const bytes = { most: 140, aim: 100 }
/** Names after which nearly every section is open, of 16,384; with a million more the tables are full, as they grow by doubling. */
const warmNames = 2 ** 20 - 1_000_000
const keysOf = { family: 'room:__rand_int__', ordinary: 'key:__rand_int__' } as const
const keyCounts = [1000, 20_000] as const
const pipeline = 16

/** `--names 100000000`: only so many names, touched once each. */
export async function families(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const server = await startOurs(lifetime)
  const touched = await touch(server, effort.names ?? (effort.quick ? 200_000 : 2_000_000))
  await server.server.kill()
  return effort.names === undefined ? [touched, await speed(lifetime, effort)] : [touched]
}

type Ours = { readonly server: FahaoServer; readonly inspector: number }

async function startOurs(lifetime: Lifetime): Promise<Ours> {
  const inspector = await freePort()
  const args = ['--auto-create', 'key:*=sequence', '--log-level', 'warn']
  const server = await startFahao(lifetime, { args, env: inspectable(inspector), readyWithinMs: 60_000 })
  const client = await server.connect()
  await client.command('ID.CREATE', 'room:*', 'FAMILY')
  await client.close()
  return { server, inspector }
}

/** Names that are touched once each, and a crash. */
async function touch({ server, inspector }: Ours, count: number): Promise<Section> {
  const openSeconds = await askEach(server.resp, { count: warmNames, nameOf: (index) => `room:w${index}` })
  const warm = await serverMemory(inspector)
  const before = { bytes: storeBytes(server), reserves: await reservesOf(server), cpuUs: cpuOf(server) }
  const part = Math.min(count, 950_000)
  const partSeconds = await askEach(server.resp, { count: part, nameOf, connections: 1, pipeline: 128 })
  const inUse = await serverMemory(inspector)
  let seconds = partSeconds
  if (count > part)
    seconds += await askEach(server.resp, {
      count: count - part,
      nameOf: (index) => nameOf(part + index),
      connections: 4,
      pipeline: 128,
    })
  const cpuUs = (cpuOf(server) - before.cpuUs) / count
  const reserves = (await reservesOf(server)) - before.reserves
  const after = await serverMemory(inspector)
  const grown = storeBytes(server) - before.bytes
  const client = await server.connect()
  const last = await client.command('INCR', nameOf(count - 1))
  const stoppedMs = performance.now()
  await server.kill('SIGTERM')
  const startedMs = performance.now()
  await server.start()
  const next = await RawClient.connect(server.resp)
  const first = await next.command('INCR', nameOf(count - 1))
  const firstMs = performance.now() - startedMs
  await next.close()
  await client.close()
  const figure = (what: string, unit: string, value: number, budget?: Budget): Figure => ({
    what,
    unit,
    ...(budget && { budget }),
    ...spreadOf([value]),
  })
  return {
    name: `A family: ${count.toLocaleString('en-US')} names touched once each`,
    how: `INCR of each name once on SQLite, by one connection and then by four, 128 requests under way on each, after ${warmNames.toLocaleString('en-US')} other names that have opened the sections. Memory: growth after a full collection of garbage, over the first ${part.toLocaleString('en-US')}. Then SIGTERM, and a start until one name has answered.`,
    figures: [
      figure('resident, per name in memory', 'B', (inUse.residentBytes - warm.residentBytes) / part, bytes),
      figure('heap and buffers, per name in memory', 'B', (inUse.usedBytes - warm.usedBytes) / part),
      figure('resident, after all names', 'MB', after.residentBytes / 1e6),
      figure('the same with the sections open alone', 'MB', warm.residentBytes / 1e6),
      figure('first names a second, which open the sections', '', warmNames / openSeconds),
      figure('names a second, one connection', '', part / partSeconds),
      figure('names a second, all', '', count / seconds),
      figure('CPU per name', 'µs', cpuUs),
      figure('reserves for all of them', '', reserves),
      figure('growth of the store', 'kB', grown / 1000),
      figure('stop', 'ms', startedMs - stoppedMs),
      figure('start until the first id', 'ms', firstMs),
      figure('ids that this name skipped', '', Number(first as bigint) - Number(last as bigint) - 1),
    ],
  }
}

/** INCR of random names that are in memory, beside as many sequences. */
async function speed(lifetime: Lifetime, effort: Effort): Promise<Section> {
  const { server } = await startOurs(lifetime)
  const figures: Figure[] = []
  for (const keys of keyCounts) {
    const measure = async (form: keyof typeof keysOf, requests: number) => {
      const fromUs = cpuOf(server)
      const perSecond = await redisBenchmark(server.resp, {
        command: ['INCR', keysOf[form]],
        keys,
        pipeline,
        requests,
      })
      return { perSecond, cpuUs: (cpuOf(server) - fromUs) / requests }
    }
    const forms = ['family', 'ordinary'] as const
    // All names in memory, and a look at the rate.
    for (const form of forms) await measure(form, 20 * keys)
    const { perSecond } = await measure('family', 100_000)
    const requests = Math.ceil(perSecond * effort.seconds)
    const rounds = await interleaved(forms, effort.rounds, (form) => measure(form, requests))
    const of = (form: keyof typeof keysOf, what: 'perSecond' | 'cpuUs') =>
      rounds.get(form)!.map((each) => each[what])
    const what = `${keys.toLocaleString('en-US')} names`
    figures.push(
      { what: `${what}: INCR a second`, unit: '', ...spreadOf(of('family', 'perSecond')) },
      {
        what: `${what}: throughput to sequences of their own`,
        unit: '×',
        budget: { least: 0.95 },
        ...ratioOf(of('family', 'perSecond'), of('ordinary', 'perSecond')),
      },
      {
        what: `${what}: CPU to theirs`,
        unit: '×',
        ...ratioOf(of('family', 'cpuUs'), of('ordinary', 'cpuUs')),
      },
    )
  }
  return {
    name: 'A family: names in memory beside sequences',
    how: `redis-benchmark, 50 clients, pipeline ${pipeline}, random names of one server on SQLite, interleaved.`,
    figures,
  }
}

function nameOf(index: number): string {
  return `room:${index}`
}

function cpuOf({ process }: FahaoServer): number {
  return processCpuUs(process.pid)
}

/** How often the sections of the family have reserved. */
async function reservesOf(server: FahaoServer): Promise<number> {
  const figures = await (await fetch(`${server.http}/metrics`)).text()
  return Number(/^fahao_refills_total\{[^}]*room:\*[^}]*\} (\d+)/m.exec(figures)?.[1])
}

/** The file and its log. */
function storeBytes({ engine }: FahaoServer): number {
  const file = engine.slice('sqlite:'.length)
  return [file, `${file}-wal`].reduce((sum, each) => sum + statSync(each).size, 0)
}
