/** Names that are not known yet: how many are created and answered a second, beside Redis with AOF always. */
import { startEtcd } from '../test/launch/etcd.ts'
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { startMariaDb } from '../test/launch/mariadb.ts'
import { startPostgres } from '../test/launch/postgres.ts'
import { startRedis } from '../test/launch/redis.ts'
import { askEach } from './name-links.ts'
import { processCpuUs } from './process-cpu.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

type Contender = 'fahao' | 'redis' | 'before'
type Server = { readonly port: number; readonly pid: number }
type Measured = { readonly perSecond: number; readonly cpuUs: number }

const names: Record<Contender, string> = {
  fahao: 'Fahao, SQLite',
  redis: 'Redis, AOF always',
  before: 'the earlier build',
}
const perSecondLeast = 30_000
const perSecondAim = 100_000
const elsewhereLeast = 10_000
const forms = [
  { what: '50 connections, one request each', connections: 50, pipeline: 1 },
  { what: 'one connection, pipeline 128', connections: 1, pipeline: 128 },
] as const
const firstNames = 1024

/** INCR of new names, each durable before it is answered. */
export async function newKeys(lifetime: Lifetime, effort: Effort): Promise<Section> {
  const servers = new Map<Contender, Server>([
    ['fahao', await startOurs(lifetime)],
    ['redis', await startAof(lifetime)],
    ...(effort.before === undefined ? [] : [['before', await startOurs(lifetime, effort.before)] as const]),
  ])
  const figures: Figure[] = []
  for (const form of forms) {
    const counts = new Map<Contender, number>()
    for (const [name, server] of servers) {
      await measure(server, firstNames, form)
      const { perSecond } = await measure(server, firstNames, form)
      counts.set(name, Math.ceil(perSecond * effort.seconds))
    }
    const rounds = await interleaved([...servers.keys()], effort.rounds, (name) =>
      measure(servers.get(name)!, counts.get(name)!, form),
    )
    const of = (name: Contender, what: keyof Measured) => rounds.get(name)!.map((each) => each[what])
    figures.push({
      what: `${form.what}: new keys a second`,
      unit: '',
      budget: { least: perSecondLeast, aim: perSecondAim },
      ...spreadOf(of('fahao', 'perSecond')),
    })
    for (const name of servers.keys()) {
      if (name === 'fahao') continue
      figures.push(
        {
          what: `${form.what}: throughput to ${names[name]}`,
          unit: '×',
          ...ratioOf(of('fahao', 'perSecond'), of(name, 'perSecond')),
        },
        {
          what: `${form.what}: server CPU per key to ${names[name]}`,
          unit: '×',
          ...ratioOf(of('fahao', 'cpuUs'), of(name, 'cpuUs')),
        },
        {
          what: `${form.what}: ${names[name]}, new keys a second`,
          unit: '',
          ...spreadOf(of(name, 'perSecond')),
        },
      )
    }
    for (const name of servers.keys())
      figures.push({
        what: `${form.what}: ${names[name]}, CPU per key`,
        unit: 'µs',
        ...spreadOf(of(name, 'cpuUs')),
      })
  }
  return {
    name: 'Keys: new ones',
    how: `INCR of names that are not known yet, each durable before it is answered; about ${effort.seconds} s each, interleaved; ratios round by round, median of ${effort.rounds}.`,
    figures,
  }
}

async function startAof(lifetime: Lifetime): Promise<Server> {
  return startRedis(lifetime, { appendfsync: 'always' })
}

async function startOurs(
  lifetime: Lifetime,
  checkout?: string,
  { engine, kind = 'sequence' }: { engine?: string; kind?: string } = {},
): Promise<Server> {
  const { resp, pid } = await startFahao(lifetime, {
    ...(checkout && { checkout }),
    ...(engine && { engine }),
    args: ['--auto-create', `*=${kind}`, '--log-level', 'warn'],
  })
  return { port: resp, pid }
}

/** The same on stores that several nodes share, where a node by itself serves segments. */
export async function newKeysElsewhere(lifetime: Lifetime, effort: Effort): Promise<Section> {
  const stores = [
    ['PostgreSQL', await (await startPostgres(lifetime)).newDatabase()],
    ['MariaDB', await (await startMariaDb(lifetime)).newDatabase()],
    ['etcd', (await startEtcd(lifetime)).url('new')],
  ] as const
  const figures: Figure[] = []
  for (const [store, engine] of stores) {
    const server = await startOurs(lifetime, undefined, { engine, kind: 'segment' })
    for (const form of forms) {
      await measure(server, firstNames, form)
      const { perSecond } = await measure(server, firstNames, form)
      const count = Math.ceil(perSecond * effort.seconds)
      const rounds: Measured[] = []
      for (let round = 0; round < effort.rounds; round++) rounds.push(await measure(server, count, form))
      figures.push(
        {
          what: `${store}, ${form.what}: new keys a second`,
          unit: '',
          budget: { least: elsewhereLeast },
          ...spreadOf(rounds.map((each) => each.perSecond)),
        },
        {
          what: `${store}, ${form.what}: CPU of the node per key`,
          unit: 'µs',
          ...spreadOf(rounds.map((each) => each.cpuUs)),
        },
      )
    }
  }
  return {
    name: 'Keys: new ones on other stores',
    how: `INCR of names that are not known yet, of kind segment, each durable before it is answered; about ${effort.seconds} s each, median of ${effort.rounds}. The store runs on the same machine.`,
    figures,
  }
}

/** How many names each server has been asked for. */
const asked = new Map<Server, number>()

async function measure(server: Server, count: number, form: (typeof forms)[number]): Promise<Measured> {
  const from = asked.get(server) ?? 0
  asked.set(server, from + count)
  const before = processCpuUs(server.pid)
  const seconds = await askEach(server.port, {
    ...form,
    count,
    nameOf: (index) => `new:user:${from + index}`,
  })
  return { perSecond: count / seconds, cpuUs: (processCpuUs(server.pid) - before) / count }
}
