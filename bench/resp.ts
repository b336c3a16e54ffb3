/** RESP: INCR against two Redis servers and a minimal Node server. */
import { join } from 'node:path'
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { freePort } from '../test/launch/places.ts'
import { startProcess } from '../test/launch/process.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { startRedis } from '../test/launch/redis.ts'
import { processCpuUs } from './process-cpu.ts'
import { type RedisLoad, redisBenchmark } from './redis-benchmark.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

type Server = { readonly port: number; readonly pid: number }
type Measured = { readonly perSecond: number; readonly cpuUs: number }
type Contender = 'redis' | 'aof' | 'fahao' | 'bare' | 'before'
type Servers = Readonly<Partial<Record<Contender, Server>>>
/** The commands of each contender; a contender without one does not take part. */
type Scenario = {
  readonly name: string
  readonly loads: Partial<Record<Contender, Pick<RedisLoad, 'command' | 'keys'>>>
}

const names: Record<Contender, string> = {
  redis: 'Redis, no persistence',
  aof: 'Redis, AOF always',
  fahao: 'Fahao, SQLite',
  bare: 'bare node:net',
  before: 'the earlier build',
}
const pipelines = [1, 16, 128] as const
const floors = {
  1: { redis: { least: 0.95, aim: 1 }, aof: { least: 1, aim: 1.1 } },
  16: { redis: { least: 0.85, aim: 1 }, aof: { least: 1.3, aim: 1.6 } },
  128: { redis: { least: 0.85, aim: 1 }, aof: { least: 1.5, aim: 1.9 } },
} as const
const cpuMost = 1.15
const firstRequests = { 1: 20_000, 16: 200_000, 128: 500_000 } as const

/** INCR with its budgets, then other commands for information. */
export async function resp(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const servers = await startServers(lifetime, effort.before)
  const every = { redis: {}, aof: {}, fahao: {}, bare: {}, before: {} }
  const sections = [await incr(servers, effort, { name: 'INCR', loads: every })]
  const shorter = { ...effort, rounds: Math.min(3, effort.rounds) }
  for (const scenario of scenarios) sections.push(await information(servers, shorter, scenario))
  return sections
}

const scenarios: readonly Scenario[] = [
  // Few enough names for the server's cache of requests, and too many for it.
  ...[1000, 20_000].map((keys) => ({
    name: `INCR over ${keys.toLocaleString('en-US')} keys`,
    loads: { redis: { keys }, fahao: { keys }, bare: { keys }, before: { keys } },
  })),
  {
    name: 'INCR of a snowflake',
    loads: {
      redis: {},
      fahao: { command: ['INCR', 'event'] },
      bare: {},
      before: { command: ['INCR', 'event'] },
    },
  },
  {
    name: 'ID.NEXT of a sequence',
    loads: {
      redis: {},
      fahao: { command: ['ID.NEXT', 'order'] },
      bare: {},
      before: { command: ['ID.NEXT', 'order'] },
    },
  },
]

async function startServers(lifetime: Lifetime, before: string | undefined): Promise<Servers> {
  const barePort = await freePort()
  const bare = await startProcess(lifetime, {
    command: process.execPath,
    args: [join(import.meta.dirname, 'bare-resp.ts'), `${barePort}`],
    readyWhen: { port: barePort },
  })
  return {
    redis: await startRedis(lifetime),
    aof: await startRedis(lifetime, { appendfsync: 'always' }),
    fahao: await startOurs(lifetime),
    bare: { port: barePort, pid: bare.pid },
    ...(before && { before: await startOurs(lifetime, before) }),
  }
}

async function startOurs(lifetime: Lifetime, checkout?: string): Promise<Server> {
  const { resp, pid } = await startFahao(lifetime, {
    ...(checkout && { checkout }),
    // redis-benchmark does not name a library that reads large integers exactly.
    args: ['--auto-create', '*=sequence', '--rounding-guard', 'off', '--log-level', 'warn'],
  })
  const client = await RawClient.connect(resp, lifetime)
  await client.command('ID.CREATE', 'event', 'KIND', 'snowflake')
  return { port: resp, pid }
}

async function incr(servers: Servers, effort: Effort, scenario: Scenario): Promise<Section> {
  const figures: Figure[] = []
  const absolute: Figure[] = []
  for (const pipeline of pipelines) {
    const rounds = await measureAll(servers, effort, scenario, pipeline)
    const at = `pipeline ${pipeline}`
    const budget = floors[pipeline]
    figures.push(
      {
        what: `${at}: throughput to ${names.redis}`,
        unit: '×',
        budget: budget.redis,
        ...throughput(rounds, 'redis'),
      },
      {
        what: `${at}: throughput to ${names.aof}`,
        unit: '×',
        budget: budget.aof,
        ...throughput(rounds, 'aof'),
      },
      {
        what: `${at}: server CPU per request to ${names.bare}`,
        unit: '×',
        budget: { most: cpuMost },
        ...cpu(rounds, 'bare'),
      },
      // Throughput to Redis also depends on the load generator; where the server's core is what is short, it is the
      // inverse of this.
      { what: `${at}: server CPU per request to ${names.redis}`, unit: '×', ...cpu(rounds, 'redis') },
      ...besideEarlier(rounds, at),
    )
    absolute.push(...absolutes(rounds, at))
  }
  return { name: `RESP: ${scenario.name}`, how: how(effort), figures: [...figures, ...absolute] }
}

async function information(servers: Servers, effort: Effort, scenario: Scenario): Promise<Section> {
  const figures: Figure[] = []
  for (const pipeline of pipelines) {
    const rounds = await measureAll(servers, effort, scenario, pipeline)
    const at = `pipeline ${pipeline}`
    figures.push(
      { what: `${at}: throughput to INCR on ${names.redis}`, unit: '×', ...throughput(rounds, 'redis') },
      { what: `${at}: server CPU per request to INCR on ${names.bare}`, unit: '×', ...cpu(rounds, 'bare') },
      ...besideEarlier(rounds, at),
      ...absolutes(rounds, at),
    )
  }
  return { name: `RESP: ${scenario.name} (for information)`, how: how(effort), figures }
}

function how({ rounds, seconds }: Effort): string {
  return `\`redis-benchmark -c 50\`, about ${seconds} s each, interleaved; ratios round by round, median of ${rounds}.`
}

type Rounds = ReadonlyMap<Contender, readonly Measured[]>

async function measureAll(
  servers: Servers,
  effort: Effort,
  { loads }: Scenario,
  pipeline: (typeof pipelines)[number],
): Promise<Rounds> {
  const contenders = (Object.keys(servers) as Contender[]).filter((name) => loads[name] !== undefined)
  const requests = new Map<Contender, number>()
  // Warms up, creates generators on first use, and finds the number of requests that fill the time.
  for (const name of contenders) {
    const { keys = 0 } = loads[name]!
    // The chance to miss a key is e^-20: the measurement creates no generator.
    await redisBenchmark(servers[name]!.port, { ...loads[name], pipeline: 128, requests: 128 + keys * 20 })
    const load = { ...loads[name], pipeline, requests: firstRequests[pipeline] }
    await redisBenchmark(servers[name]!.port, load)
    const perSecond = await redisBenchmark(servers[name]!.port, load)
    requests.set(name, Math.ceil((perSecond * effort.seconds) / pipeline) * pipeline)
  }
  return interleaved(contenders, effort.rounds, (name) =>
    measure(servers[name]!, { ...loads[name], pipeline, requests: requests.get(name)! }),
  )
}

async function measure({ port, pid }: Server, load: RedisLoad): Promise<Measured> {
  const before = processCpuUs(pid)
  const perSecond = await redisBenchmark(port, load)
  return { perSecond, cpuUs: (processCpuUs(pid) - before) / load.requests }
}

function besideEarlier(rounds: Rounds, at: string): Figure[] {
  if (!rounds.has('before')) return []
  return [
    { what: `${at}: throughput to ${names.before}`, unit: '×', ...throughput(rounds, 'before') },
    { what: `${at}: server CPU per request to ${names.before}`, unit: '×', ...cpu(rounds, 'before') },
  ]
}

function throughput(rounds: Rounds, peer: Contender) {
  const of = (name: Contender) => rounds.get(name)!.map(({ perSecond }) => perSecond)
  return ratioOf(of('fahao'), of(peer))
}

function cpu(rounds: Rounds, peer: Contender) {
  const of = (name: Contender) => rounds.get(name)!.map(({ cpuUs }) => cpuUs)
  return ratioOf(of('fahao'), of(peer))
}

function absolutes(rounds: Rounds, at: string): Figure[] {
  return [...rounds].flatMap(([name, measured]) => [
    {
      what: `${at}: ${names[name]}, requests`,
      unit: 'k/s',
      ...spreadOf(measured.map(({ perSecond }) => perSecond / 1000)),
    },
    {
      what: `${at}: ${names[name]}, CPU per request`,
      unit: 'µs',
      ...spreadOf(measured.map(({ cpuUs }) => cpuUs)),
    },
  ])
}
