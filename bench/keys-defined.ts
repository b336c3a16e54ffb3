/** Many generators that are only defined: a start, and what reads all of them. */
import { join } from 'node:path'
import type { DatabaseServer } from '../test/launch/database.ts'
import { startEtcd } from '../test/launch/etcd.ts'
import { startFahao } from '../test/launch/fahao.ts'
import { type Lifetime, Scope } from '../test/launch/lifetime.ts'
import { startMariaDb } from '../test/launch/mariadb.ts'
import { temporaryFolder } from '../test/launch/places.ts'
import { startPostgres } from '../test/launch/postgres.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { definedName, defineInDatabase, defineInEtcd, defineInSqlite, etcdPrefix } from './defined-store.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, ratioOf, spreadOf } from './rounds.ts'

/** Where generators are defined, how many, and how long a start may take. */
type Store = {
  readonly name: string
  readonly count: number
  readonly startMostMs: number
  /** Resolves to the engine's URL. */
  define(lifetime: Lifetime, count: number): Promise<string>
}

const sqlite: Omit<Store, 'count'> = {
  name: 'SQLite',
  startMostMs: 1000,
  async define(lifetime, count) {
    const engine = `sqlite:${join(temporaryFolder(lifetime), 'fahao.db')}`
    await defineInSqlite(lifetime, engine, count)
    return engine
  },
}

const others: readonly Omit<Store, 'count'>[] = [
  {
    name: 'PostgreSQL',
    startMostMs: 3000,
    define: async (lifetime, count) => inDatabase(lifetime, await startPostgres(lifetime), count),
  },
  {
    name: 'MariaDB',
    startMostMs: 3000,
    define: async (lifetime, count) => inDatabase(lifetime, await startMariaDb(lifetime), count),
  },
  {
    name: 'etcd',
    startMostMs: 3000,
    async define(lifetime, count) {
      const etcd = await startEtcd(lifetime, { quotaBytes: 8 * 2 ** 30 })
      await defineInEtcd(lifetime, etcd, count)
      return etcd.url(etcdPrefix)
    },
  },
]

async function inDatabase(lifetime: Lifetime, server: DatabaseServer, count: number): Promise<string> {
  const engine = await server.newDatabase()
  await defineInDatabase(lifetime, server, engine, count)
  return engine
}

/** A million defined generators, or as many as are wanted, on SQLite. */
export function keysDefined(lifetime: Lifetime, effort: Effort): Promise<Section> {
  return definedIn(lifetime, effort, {
    ...sqlite,
    count: effort.names ?? (effort.quick ? 200_000 : 1_000_000),
  })
}

/** The same on each other store: ten million where `names` says so, and at most a million on etcd. */
export async function keysDefinedElsewhere(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const sections: Section[] = []
  const count = effort.names ?? (effort.quick ? 100_000 : 1_000_000)
  for (const store of others) {
    const scope = new Scope()
    lifetime.after(() => scope.end())
    const most = store.name === 'etcd' ? 1_000_000 : count
    sections.push(await definedIn(scope, effort, { ...store, count: Math.min(count, most) }))
    await scope.end()
  }
  return sections
}

async function definedIn(lifetime: Lifetime, effort: Effort, store: Store): Promise<Section> {
  const { name, count, startMostMs } = store
  const engine = await store.define(lifetime, count)
  const options = { args: ['--log-level', 'warn'], readyWithinMs: 60_000 }
  const [full, empty] = [
    await startFahao(lifetime, { ...options, engine }),
    await startFahao(lifetime, options),
  ]
  const starts = { full: [] as number[], empty: [] as number[] }
  for (let round = 0; round < Math.min(effort.rounds, 3); round++) {
    for (const [server, values] of [
      [full, starts.full],
      [empty, starts.empty],
    ] as const) {
      await server.kill()
      values.push(await timed(() => server.start()))
    }
  }
  const client = await RawClient.connect(full.resp, lifetime)
  const ask = async (...command: (string | number)[]) => {
    const reply = await client.command(...command)
    if (reply instanceof Error) throw reply
  }
  const figures: Figure[] = []
  for (const [what, task] of [
    ['first id of one', () => ask('ID.NEXT', definedName(count >> 1))],
    ['SCAN, 1,000 names', () => ask('SCAN', 0, 'COUNT', 1000)],
    ['ID.LIST of a prefix', () => ask('ID.LIST', 'MATCH', `${definedName(count >> 1)}*`)],
    ['metrics', async () => await (await fetch(`${full.http}/metrics`)).text()],
    ['DBSIZE', () => ask('DBSIZE')],
    ['DBSIZE again', () => ask('DBSIZE')],
  ] as const)
    figures.push({ what, unit: 'ms', ...spreadOf([await timed(task)]) })
  return {
    name: `Keys: ${count.toLocaleString('en-US')} defined on ${name}`,
    how: 'Starts until PING is answered, each after a kill, in turns with a server on an empty SQLite store; then each request once.',
    figures: [
      { what: 'start', unit: 'ms', budget: { most: startMostMs }, ...spreadOf(starts.full) },
      { what: 'start, to one on an empty store of SQLite', unit: '×', ...ratioOf(starts.full, starts.empty) },
      ...figures,
    ],
  }
}

async function timed(task: () => Promise<unknown>): Promise<number> {
  const fromMs = performance.now()
  await task()
  return performance.now() - fromMs
}
