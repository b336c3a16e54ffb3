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
  /** By the number of the caller. `request` is another one each time. */
  readonly draw: (caller: number, request: number) => Promise<unknown>
}
type Measured = { readonly perSecond: number; readonly p99Ms: number }

const buffered = 'a sequence'
const withoutGaps = 'GAPS none'
const locked = 'SELECT … FOR UPDATE, UPDATE, COMMIT'
/** The commands of each way through Fahao. */
const commands: Readonly<Record<string, (request: string) => readonly (readonly string[])[]>> = {
  [buffered]: () => [['ID.NEXT', 'plain']],
  [withoutGaps]: () => [['ID.NEXT', 'whole']],
}

/** What an engine is started with; the contenders beside Fahao on it. */
type Store = { readonly engine: string | undefined; readonly beside: readonly Contender[] }

const stores: Readonly<Record<string, (lifetime: Lifetime) => Promise<Store>>> = {
  SQLite: async () => ({ engine: undefined, beside: [] }),
  async PostgreSQL(lifetime) {
    const server = await startPostgres(lifetime)
    const name = new URL(await server.newDatabase()).pathname.slice(1)
    await server.admin(
      'CREATE TABLE ir_sequence (id integer PRIMARY KEY, number_next bigint); INSERT INTO ir_sequence VALUES (1, 1)',
      name,
    )
    return {
      engine: await server.newDatabase(),
      beside: [await lockedRow(lifetime, server.url(name, superuser))],
    }
  },
  MariaDB: async (lifetime) => ({ engine: await (await startMariaDb(lifetime)).newDatabase(), beside: [] }),
  etcd: async (lifetime) => ({ engine: (await startEtcd(lifetime)).url('gaps'), beside: [] }),
}

/** Each store by itself. */
export async function gaps(_: Lifetime, { rounds, seconds }: Effort): Promise<Section[]> {
  const sections: Section[] = []
  for (const [name, start] of Object.entries(stores)) {
    const scope = new Scope()
    try {
      sections.push(await on(name, await start(scope), scope, rounds, seconds))
    } finally {
      await scope.end()
    }
  }
  return sections
}

async function on(
  name: string,
  { engine, beside }: Store,
  lifetime: Lifetime,
  rounds: number,
  seconds: number,
): Promise<Section> {
  const server = await startFahao(lifetime, {
    args: ['--log-level', 'warn'],
    ...(engine !== undefined && { engine }),
  })
  const clients = await Promise.all(
    Array.from({ length: callers }, () => RawClient.connect(server.resp, lifetime)),
  )
  for (const [name, options] of Object.entries({ plain: [], whole: ['GAPS', 'none'] }))
    await clients[0]!.command('ID.CREATE', name, 'KIND', 'sequence', ...options)
  const contenders: Contender[] = Object.entries(commands).map(([name, commandsOf]) => ({
    name,
    async draw(caller, request) {
      for (const command of commandsOf(`${caller}-${request}`)) {
        const reply = await clients[caller]!.command(...command)
        if (reply instanceof ReplyError) throw new Error(reply.text)
      }
    },
  }))
  const measured = await interleaved([...contenders, ...beside], rounds, (contender) =>
    measure(contender, seconds),
  )
  const of = (which: keyof Measured) =>
    new Map([...measured].map(([{ name }, each]) => [name, each.map((one) => one[which])]))
  const rates = of('perSecond')
  const figures: Figure[] = [...rates].map(([name, perSecond]) => {
    return { what: `${name}: numbers`, unit: '/s', ...spreadOf(perSecond) }
  })
  for (const [name, p99Ms] of of('p99Ms'))
    figures.push({ what: `${name}: p99`, unit: 'ms', ...spreadOf(p99Ms) })
  for (const { name } of beside)
    figures.push({
      what: `${withoutGaps}, numbers per second to ${name}`,
      unit: '×',
      ...ratioOf(rates.get(withoutGaps)!, rates.get(name)!),
    })
  return {
    name: `Without gaps: ${name}`,
    how: `${callers} callers, each with a connection and one request under way; the ways take turns.`,
    figures,
  }
}

/** A counter row as Odoo's sequences without gaps have it: locked until the transaction of the document commits. */
async function lockedRow(lifetime: Lifetime, url: string): Promise<Contender> {
  const clients = await Promise.all(
    Array.from({ length: callers }, async () => {
      const client = new pg.Client({ connectionString: url })
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

let requests = 0

async function measure({ draw }: Contender, seconds: number): Promise<Measured> {
  const latencies: number[] = []
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let nowMs = performance.now(); nowMs < endMs; ) {
        await draw(caller, requests++)
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
