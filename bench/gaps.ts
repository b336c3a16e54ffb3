/** Numbers without gaps, beside a sequence that buffers, and beside a locked row of PostgreSQL as Odoo has it. */
import pg from 'pg'
import { superuser } from '../test/launch/database.ts'
import { startEtcd } from '../test/launch/etcd.ts'
import { startFahao } from '../test/launch/fahao.ts'
import { atEnd, type Lifetime, Scope } from '../test/launch/lifetime.ts'
import { startMariaDb } from '../test/launch/mariadb.ts'
import { startPostgres } from '../test/launch/postgres.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { ReplyError } from '../test/launch/raw-reply.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

const callers = 64

/** One way to get a number. */
type Contender = {
  readonly name: string
  /** By the number of the caller. */
  readonly draw: (caller: number) => Promise<unknown>
}
type Measured = { readonly perSecond: number; readonly p99Ms: number }

const buffered = 'a sequence'
const withoutGaps = 'GAPS none'
const ledger = 'a ledger, reserve and confirm'
const locked = 'SELECT … FOR UPDATE, UPDATE, COMMIT in PostgreSQL'

/** The options of each way through Fahao, by the name of its generator. */
const ways = {
  [buffered]: ['plain'],
  [withoutGaps]: ['whole', 'GAPS', 'none'],
  [ledger]: ['invoice', 'LEDGER', 'on'],
} as const

type Stores = (lifetime: Lifetime, postgres: Postgres) => Promise<string | undefined>
type Postgres = Awaited<ReturnType<typeof startPostgres>>

/** The engine's URL. */
const stores: Readonly<Record<string, Stores>> = {
  SQLite: async () => undefined,
  PostgreSQL: (_, postgres) => postgres.newDatabase(),
  MariaDB: async (lifetime) => (await startMariaDb(lifetime)).newDatabase(),
  etcd: async (lifetime) => (await startEtcd(lifetime)).url('gaps'),
}

/** Each store by itself. */
export async function gaps(_: Lifetime, { rounds, seconds }: Effort): Promise<Section[]> {
  const sections: Section[] = []
  for (const [name, start] of Object.entries(stores)) {
    const scope = new Scope()
    try {
      const postgres = await startPostgres(scope)
      const engine = await start(scope, postgres)
      sections.push(await on(name, engine, await lockedRow(scope, postgres), scope, { rounds, seconds }))
    } finally {
      await scope.end()
    }
  }
  return sections
}

async function on(
  name: string,
  engine: string | undefined,
  row: Contender,
  lifetime: Lifetime,
  { rounds, seconds }: Pick<Effort, 'rounds' | 'seconds'>,
): Promise<Section> {
  const shared = engine === undefined ? {} : { engine }
  const server = await startFahao(lifetime, {
    args: ['--log-level', 'warn', ...(engine === undefined ? [] : ['--cluster', 'gaps'])],
    ...shared,
  })
  const clients = await Promise.all(
    Array.from({ length: callers }, () => RawClient.connect(server.resp, lifetime)),
  )
  const ask = async (caller: number, ...command: readonly string[]) => {
    const reply = await clients[caller]!.command(...command)
    if (reply instanceof ReplyError) throw new Error(reply.text)
    return reply
  }
  const contenders: Contender[] = []
  for (const [way, [generator, ...options]] of Object.entries(ways)) {
    await ask(0, 'ID.CREATE', generator, 'KIND', 'sequence', ...options)
    const next = (caller: number) => ask(caller, 'ID.NEXT', generator)
    const confirmed = async (caller: number) => {
      const [, reservation] = (await ask(caller, 'ID.RESERVE', generator)) as string[]
      await ask(caller, 'ID.CONFIRM', generator, reservation!)
    }
    contenders.push({ name: way, draw: way === ledger ? confirmed : next })
  }
  const measured = await interleaved([...contenders, row], rounds, (contender) => measure(contender, seconds))
  const of = (which: keyof Measured) =>
    new Map([...measured].map(([{ name }, each]) => [name, each.map((one) => one[which])]))
  const rates = of('perSecond')
  const figures: Figure[] = [...rates].map(([name, perSecond]) => {
    return { what: `${name}: numbers`, unit: '/s', ...spreadOf(perSecond) }
  })
  for (const [name, p99Ms] of of('p99Ms'))
    figures.push({ what: `${name}: p99`, unit: 'ms', ...spreadOf(p99Ms) })
  for (const way of [withoutGaps, ledger])
    figures.push({
      what: `${way}, numbers per second to ${row.name}`,
      unit: '×',
      ...(way === ledger && { budget: { least: 5 } }),
      ...ratioOf(rates.get(way)!, rates.get(row.name)!),
    })
  return {
    name: `Without gaps: ${name}`,
    how: `${callers} callers, each with a connection and one request under way; the ways take turns. Databases and etcd have one node, which is a cluster.`,
    figures,
  }
}

/** A counter row as Odoo's sequences without gaps have it: locked until the transaction of the document commits. */
async function lockedRow(lifetime: Lifetime, postgres: Postgres): Promise<Contender> {
  const database = new URL(await postgres.newDatabase()).pathname.slice(1)
  await postgres.admin(
    'CREATE TABLE ir_sequence (id integer PRIMARY KEY, number_next bigint); INSERT INTO ir_sequence VALUES (1, 1)',
    database,
  )
  const clients = await Promise.all(
    Array.from({ length: callers }, async () => {
      const client = new pg.Client({ connectionString: postgres.url(database, superuser) })
      await client.connect()
      atEnd(lifetime, () => client.end())
      return client
    }),
  )
  return {
    name: locked,
    async draw(caller) {
      const client = clients[caller]!
      await client.query('BEGIN; SELECT number_next FROM ir_sequence WHERE id = 1 FOR UPDATE')
      await client.query('UPDATE ir_sequence SET number_next = number_next + 1 WHERE id = 1')
      await client.query('COMMIT')
    },
  }
}

async function measure({ draw }: Contender, seconds: number): Promise<Measured> {
  const latencies: number[] = []
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let nowMs = performance.now(); nowMs < endMs; ) {
        await draw(caller)
        const sentMs = nowMs
        nowMs = performance.now()
        latencies.push(nowMs - sentMs)
      }
    }),
  )
  const perSecond = (latencies.length * 1000) / (performance.now() - startMs)
  latencies.sort((a, b) => a - b)
  return { perSecond, p99Ms: latencies[Math.ceil(latencies.length * 0.99) - 1]! }
}
