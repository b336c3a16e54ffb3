/** Databases: ids from Fahao against ids from the same database alone, one per request. */
import { createHistogram } from 'node:perf_hooks'
import { type DatabaseServer, superuser } from '../test/launch/database.ts'
import { type FahaoServer, startFahao } from '../test/launch/fahao.ts'
import { type Lifetime, Scope } from '../test/launch/lifetime.ts'
import { startMariaDb } from '../test/launch/mariadb.ts'
import { startPostgres } from '../test/launch/postgres.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { type Link, mariaDbLink, postgresLink, respLink } from './database-links.ts'
import { closedLoop, pacedLoop } from './database-load.ts'
import { processCpuUs, treeCpuUs } from './process-cpu.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

/** A database, and the ways to get an id from it by one statement. */
type Peer = {
  readonly name: string
  readonly start: (lifetime: Lifetime) => Promise<DatabaseServer>
  readonly tables: string
  /** By common name. */
  readonly statements: Readonly<Record<string, string>>
  readonly link: (url: string, statements: Readonly<Record<string, string>>) => Promise<Link>
}

const update = 'UPDATE of a row'
const peers: readonly Peer[] = [
  {
    name: 'PostgreSQL',
    start: startPostgres,
    tables: `CREATE SEQUENCE one CACHE 1; CREATE SEQUENCE thousand CACHE 1000;
      CREATE TABLE counters (name text PRIMARY KEY, value bigint NOT NULL) WITH (fillfactor = 10);
      INSERT INTO counters VALUES ('order', 0)`,
    statements: {
      'nextval, CACHE 1': "SELECT nextval('one')",
      'nextval, CACHE 1000': "SELECT nextval('thousand')",
      [update]: "UPDATE counters SET value = value + 1 WHERE name = 'order' RETURNING value",
    },
    link: postgresLink,
  },
  {
    name: 'MariaDB',
    start: startMariaDb,
    tables: `CREATE SEQUENCE one NOCACHE; CREATE SEQUENCE thousand CACHE 1000;
      CREATE TABLE numbered (id BIGINT PRIMARY KEY AUTO_INCREMENT);
      CREATE TABLE counters (name VARCHAR(64) PRIMARY KEY, value BIGINT NOT NULL);
      INSERT INTO counters VALUES ('order', 0)`,
    statements: {
      'sequence, NOCACHE': 'SELECT NEXT VALUE FOR one',
      'sequence, CACHE 1000': 'SELECT NEXT VALUE FOR thousand',
      'INSERT, AUTO_INCREMENT': 'INSERT INTO numbered () VALUES ()',
      [update]: "UPDATE counters SET value = LAST_INSERT_ID(value + 1) WHERE name = 'order'",
    },
    link: mariaDbLink,
  },
]

const segment = 'Fahao, segment'
const sequence = 'Fahao, sequence'
const sequenceOnThree = 'Fahao, sequence on 3 nodes'
const commands = { [segment]: ['INCR', 'segment'], [sequence]: ['INCR', 'sequence'] }
const connections = [16, 64] as const
const connectionsMost = Math.max(...connections)
const pacedPerSecond = 1000
/** A system that cannot reach this multiple of the rate would only show its queue. */
const headroom = 1.3

/** One way to get ids. */
type Contender = {
  readonly name: string
  /** As many connections as the largest measurement uses. */
  readonly links: readonly Link[]
  /** The name that links use. */
  readonly request: string
  /** CPU of the servers that take part, so far. */
  readonly cpuUs: () => number
}
type Measured = { readonly perSecond: number; readonly cpuUs: number }
type Rounds = ReadonlyMap<Contender, readonly Measured[]>
/** Number and length of the measurements at full speed, and at the rate. */
type Times = Record<'rounds' | 'seconds' | 'pacedRounds' | 'pacedSeconds', number>

const quickTimes: Times = { rounds: 2, seconds: 0.3, pacedRounds: 1, pacedSeconds: 0.7 }
const fullTimes: Times = { rounds: 4, seconds: 0.5, pacedRounds: 6, pacedSeconds: 1 }

/** PostgreSQL, then MariaDB. */
export async function database(_: Lifetime, { quick }: Effort): Promise<Section[]> {
  const sections: Section[] = []
  for (const peer of peers) {
    const scope = new Scope()
    try {
      sections.push(await against(peer, scope, quick ? quickTimes : fullTimes))
    } finally {
      // The next database has the machine to itself.
      await scope.end()
    }
  }
  return sections
}

async function against(peer: Peer, lifetime: Lifetime, times: Times): Promise<Section> {
  const server = await peer.start(lifetime)
  const nodes = await startNodes(lifetime, await server.newDatabase())
  const contenders = await connectAll(peer, server, nodes)
  try {
    for (const { links, request } of contenders) await closedLoop(links, request, times.seconds)
    const figures: Figure[] = []
    let fast: Contender[] = []
    for (const count of connections) {
      const rounds = await interleaved(contenders, times.rounds, (contender) =>
        measure(contender, count, times.seconds),
      )
      figures.push(...throughput(rounds, `${count} connections`))
      fast = contenders.filter((each) => medianOf(rounds, each) >= pacedPerSecond * headroom)
    }
    figures.push(...(await tails(fast, times)))
    const slow = contenders.filter((each) => !fast.includes(each)).map(({ name }) => name)
    return { name: `Database: ${peer.name}`, how: how(times, slow), figures }
  } finally {
    for (const { links } of contenders) for (const link of links) link.close()
  }
}

async function startNodes(lifetime: Lifetime, engine: string): Promise<FahaoServer[]> {
  const nodes: FahaoServer[] = []
  for (let count = 0; count < 3; count++)
    nodes.push(await startFahao(lifetime, { engine, args: ['--log-level', 'warn'] }))
  const client = await RawClient.connect(nodes[0]!.resp, lifetime)
  for (const kind of ['segment', 'sequence']) await client.command('ID.CREATE', kind, 'KIND', kind)
  return nodes
}

/** Fahao's nodes use one database; the systems without Fahao use another one of the same server. */
async function connectAll(
  peer: Peer,
  server: DatabaseServer,
  nodes: readonly FahaoServer[],
): Promise<Contender[]> {
  const name = new URL(await server.newDatabase()).pathname.slice(1)
  await server.admin(peer.tables, name)
  const open = (link: (at: number) => Promise<Link>) =>
    Promise.all(Array.from({ length: connectionsMost }, (_, at) => link(at)))
  const theirs = await open(() => peer.link(server.url(name, superuser), peer.statements))
  const one = await open(() => respLink(nodes[0]!.resp, commands))
  const three = await open((at) => respLink(nodes[at % nodes.length]!.resp, commands))
  const cpuWith = (count: number) => () =>
    nodes.slice(0, count).reduce((sum, { pid }) => sum + processCpuUs(pid), treeCpuUs(server.process.pid))
  return [
    ...Object.keys(peer.statements).map((request) => {
      return { name: request, links: theirs, request, cpuUs: cpuWith(0) }
    }),
    { name: segment, links: one, request: segment, cpuUs: cpuWith(1) },
    { name: sequence, links: one, request: sequence, cpuUs: cpuWith(1) },
    { name: sequenceOnThree, links: three, request: sequence, cpuUs: cpuWith(3) },
  ]
}

async function measure(
  { links, request, cpuUs }: Contender,
  count: number,
  seconds: number,
): Promise<Measured> {
  const before = cpuUs()
  const { answers, perSecond } = await closedLoop(links.slice(0, count), request, seconds)
  return { perSecond, cpuUs: (cpuUs() - before) / answers }
}

function throughput(rounds: Rounds, at: string): Figure[] {
  const all = [...rounds].map(([{ name }, measured]) => ({
    name,
    perSecond: measured.map(({ perSecond }) => perSecond),
    cpuUs: measured.map(({ cpuUs }) => cpuUs),
  }))
  const of = (name: string) => all.find((each) => each.name === name)!.perSecond
  const ratio = (ours: string, theirs: string): Figure => ({
    what: `${at}: ${ours}, ids per second to ${theirs}`,
    unit: '×',
    ...ratioOf(of(ours), of(theirs)),
  })
  const theirs = all.map(({ name }) => name).filter((name) => !name.startsWith('Fahao'))
  return [
    ...theirs.map((name) => ratio(segment, name)),
    ...theirs.map((name) => ratio(sequence, name)),
    ratio(sequenceOnThree, update),
    ...all.flatMap(({ name, perSecond, cpuUs }) => [
      { what: `${at}: ${name}, ids`, unit: 'k/s', ...spreadOf(perSecond.map((value) => value / 1000)) },
      { what: `${at}: ${name}, CPU of the servers per id`, unit: 'µs', ...spreadOf(cpuUs) },
    ]),
  ]
}

/** Latencies at one rate for all. */
async function tails(contenders: readonly Contender[], times: Times): Promise<Figure[]> {
  const rounds = await interleaved(contenders, times.pacedRounds, ({ links, request }) =>
    pacedLoop(links, request, pacedPerSecond, times.pacedSeconds),
  )
  return [...rounds].flatMap(([{ name }, parts]) => {
    const all = createHistogram()
    for (const part of parts) all.add(part)
    return [50, 99, 99.99].map((percentile) => ({
      what: `paced: ${name}, p${percentile}`,
      unit: 'ms',
      ...spreadOf([all.percentile(percentile) / 1e6]),
    }))
  })
}

function medianOf(rounds: Rounds, contender: Contender): number {
  return spreadOf(rounds.get(contender)!.map(({ perSecond }) => perSecond)).value
}

function how({ rounds, seconds, pacedRounds, pacedSeconds }: Times, slow: readonly string[]): string {
  const rate = pacedPerSecond.toLocaleString('en-US')
  const samples = (pacedPerSecond * pacedSeconds * pacedRounds).toLocaleString('en-US')
  const without = slow.length === 0 ? '' : `; too slow for it: ${slow.join('; ')}`
  return `One id per request, no pipelines, prepared statements, one client process that asks by bytes; the database as durable as its launcher has it. As fast as the answers come, ${seconds} s each, interleaved; ratios round by round, median of ${rounds}. CPU is that of the database and of the nodes asked. Paced: ${rate} per second over ${connectionsMost} connections, latency from when a request was due, ${samples} requests each${without}.`
}
