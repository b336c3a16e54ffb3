/**
 * Where statements run for comparison: a MariaDB whose id columns have AUTO_INCREMENT, and one whose id columns are plain,
 * behind the proxy. All suites share both.
 */
import { type FahaoServer, startFahao } from '../../../launch/fahao.ts'
import { guardTables } from '../../../launch/guards.ts'
import type { Lifetime } from '../../../launch/lifetime.ts'
import { type MariaDb, startMariaDb } from '../../../launch/mariadb.ts'
import { startMysqlProxy } from '../../../launch/mysql-proxy.ts'
import { readSchema } from './corpus.ts'

/** A column that is filled in, and the words that create its generator: `ID.CREATE order KIND sequence`. */
export type FilledColumn = {
  /** `database.table.column`. */
  readonly column: string
  readonly generator: string
  /** After `ID.CREATE` and the name. */
  readonly create: readonly (string | number)[]
}

/** A table whose ids are filled in. */
export type FilledTable = { readonly table: string; readonly column: string; readonly firstId: number }

/** One of the two servers. */
export type Side = {
  readonly database: MariaDb
  /** Where clients of this side connect: the database's own port, or the proxy's. */
  readonly port: number
}

/** Both servers, and the server that the proxy asks for ids. */
export type Stage = { readonly direct: Side; readonly proxied: Side; readonly fahao: FahaoServer }

/** How many ids lie between the first ids of two tables. */
export const idsPerTable = 50_000_000
/** Ids begin there: numbers that no statement, no length of a column and no limit of a type has, and that fit INT UNSIGNED. */
export const firstIds = { direct: 2_200_000_000, proxied: 3_200_000_000 } as const
/** With AUTO_INCREMENT, or behind the proxy. */
export type SideName = keyof typeof firstIds

const tables: readonly (readonly [table: string, column: string])[] = [
  ['shop.orders', 'id'],
  ['shop.items', 'id'],
  ['shop.Group', 'Id'],
  ['shop.kinds', 'id'],
  ['shop.rules', 'id'],
  ['shop.parts', 'id'],
  ['shop.chinese', 'id'],
  ['shop.my_isam', 'id'],
  ['shop.wp_posts', 'ID'],
  ['shop.wp_options', 'option_id'],
  ['other.facts', 'id'],
  // Scripts create these.
  ['shop.made', 'id'],
  ['shop.dumped', 'id'],
]

/** The tables of a side whose ids are filled in, or that have AUTO_INCREMENT, with the first id of each. */
export function filledTables(side: SideName): FilledTable[] {
  return tables.map(([table, column], at) => ({
    table,
    column,
    firstId: firstIds[side] + at * idsPerTable + 1,
  }))
}

/** Starts both servers and the proxy, which fills `further` columns of the proxied side too. */
export async function startStage(lifetime: Lifetime, further: readonly FilledColumn[]): Promise<Stage> {
  const [[direct, proxied], fahao] = await Promise.all([
    startDatabases(lifetime),
    startFahao(lifetime, { args: ['--log-level', 'warn'] }),
  ])
  const own = filledTables('proxied').map(({ table, column, firstId }) => ({
    column: `${table}.${column}`,
    generator: table,
    create: ['KIND', 'sequence', 'START', firstId],
  }))
  const columns = [...own, ...further]
  const client = await fahao.connect()
  for (const { generator, create } of columns) await client.command('ID.CREATE', generator, ...create)
  const filled = columns.flatMap(({ column, generator }) => ['--table', `${column}=${generator}`])
  const args = ['--url', fahao.http, ...filled]
  const { port } = await startMysqlProxy(lifetime, { upstream: proxied.port, args })
  return { direct: { database: direct, port: direct.port }, proxied: { database: proxied, port }, fahao }
}

/** Starts the two databases, with the tables of the corpus. */
export function startDatabases(lifetime: Lifetime): Promise<[direct: MariaDb, proxied: MariaDb]> {
  return Promise.all([startDatabase(lifetime, 'direct'), startDatabase(lifetime, 'proxied')])
}

async function startDatabase(lifetime: Lifetime, side: SideName): Promise<MariaDb> {
  const database = await startMariaDb(lifetime, {
    settings: { 'innodb-flush-log-at-trx-commit': 0, 'sync-binlog': 0, 'local-infile': 1 },
  })
  const isDirect = side === 'direct'
  await database.admin(readSchema('schema').replaceAll(' @auto', isDirect ? ' AUTO_INCREMENT' : ''))
  if (isDirect) await startIds(database)
  else
    await guardTables(
      database,
      filledTables(side).map(({ table, column }) => `${table}.${column}`),
    )
  return database
}

/** Sets where AUTO_INCREMENT begins. */
export async function startIds(direct: MariaDb): Promise<void> {
  for (const each of filledTables('direct')) await startAt(direct, each)
}

/** The tables that scripts create are not there yet. */
async function startAt(database: MariaDb, { table, firstId }: FilledTable): Promise<void> {
  const quoted = table.replace(/[^.]+/g, '`$&`')
  await database.admin(`ALTER TABLE ${quoted} AUTO_INCREMENT = ${firstId}`).catch((error) => {
    if (error.errno !== 1146) throw error
  })
}
