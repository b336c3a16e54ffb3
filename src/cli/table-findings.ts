/** What a doctor finds in the tables that hold the ids of generators: ids above the bound, columns that overflow, texts that are one. */
import { describe, FahaoError } from '../base/errors.ts'
import { upstreamUrl } from '../config/mysql-proxy-settings.ts'
import { compileFormat } from '../ids/format.ts'
import { type PeriodDefinition, periodsOf } from '../ids/period.ts'
import { isWide } from '../ids/wide-format.ts'
import { packageOf } from '../installation/packages.ts'
import type { GeneratorAnswer } from '../operations/shapes.ts'
import { type Guard, type Query, readGuards } from '../proxy/guard-rules.ts'
import { askServer } from '../proxy/known-guards.ts'
import type { Upstream } from '../proxy/socket-pair.ts'
import type { FilledColumn } from '../proxy/sql/configured-columns.ts'
import { UsageError } from './exit-codes.ts'
import { approximateDuration } from './generator-text.ts'
import { ask, generatorPath, type ServerOptions } from './server-api.ts'
import { grouped } from './terminal.ts'

/** What was found: a problem needs an action, a note may. */
export type Finding = {
  readonly level: 'problem' | 'note' | 'ok'
  readonly what: string
  readonly why?: string
  readonly todo?: string
}

/** A column as its database describes it. */
type ColumnFacts = {
  /** The largest integer that it holds; undefined: it holds texts. */
  readonly max: bigint | undefined
  readonly ignoresCase: boolean
  readonly largest: string | null
  /** Of MySQL. */
  readonly guard?: Guard
}

/** Reads columns; undefined: there is no such column, or it holds no ids. */
type ReadColumn = (column: FilledColumn) => Promise<ColumnFacts | undefined>

/** How to ask: the server of the generators, and the present rate of each, if it is known. */
export type TableOptions = {
  readonly server: ServerOptions
  readonly perSecond: (generator: string) => number | undefined
  /** Whether a MySQL proxy is configured: a guard that is missing is a problem then. */
  readonly isProxied: boolean
  readonly nowMs: number
}

/** Looks at each column. @param database the URL of MySQL or PostgreSQL, or the server behind the proxy. */
export async function tableFindings(
  database: string | Upstream,
  columns: readonly FilledColumn[],
  options: TableOptions,
): Promise<Finding[]> {
  return onDatabase(database, async (read) => {
    const found: Finding[] = []
    for (const column of columns) {
      try {
        found.push(...(await columnFindings(await read(column), column, options)))
      } catch (error) {
        found.push(unseen(nameOf(column), error))
      }
    }
    return found
  })
}

/** What could not be looked at. */
export function unseen(what: string, error: unknown): Finding {
  return { level: 'problem', what: `${what} cannot be looked at: ${describe(error)}` }
}

async function columnFindings(
  facts: ColumnFacts | undefined,
  column: FilledColumn,
  options: TableOptions,
): Promise<Finding[]> {
  const name = nameOf(column)
  if (facts === undefined)
    throw new FahaoError('ERR', 'there is no such column, or this user may not read it')
  const generator = await ask<GeneratorAnswer>(options.server, 'GET', generatorPath(column.generator))
  const found = [
    await aboveBound(facts, generator, name, options.server),
    overflow(facts, generator, name, options),
    sameTexts(facts, generator, name),
    unguarded(facts, name, options.isProxied),
  ].filter((finding) => finding !== undefined)
  const isWell = found.every(({ level }) => level !== 'problem')
  return isWell
    ? [...found, { level: 'ok', what: `${name} holds ids of '${generator.name}' below its bound` }]
    : found
}

/** The least id that is still to come; undefined: it is not known, or ids are not issued in order. */
function nextOf({ bound, definition }: GeneratorAnswer): bigint | undefined {
  if (bound === null) return undefined
  const start = BigInt(String(definition.start ?? 0))
  return BigInt(bound) > start ? BigInt(bound) : start
}

/** Of a shuffled generator, ids of a block that has begun are below the end of that block. */
const shuffledBlock = 1024n

/** Ids from the bound on are still to come. */
async function aboveBound(
  { largest, max }: ColumnFacts,
  generator: GeneratorAnswer,
  name: string,
  server: ServerOptions,
): Promise<Finding | undefined> {
  const next = nextOf(generator)
  if (largest === null || next === undefined || generator.kind === 'snowflake') return undefined
  const id = max === undefined ? await idOf(largest, generator.name, server) : BigInt(largest)
  const { within, layout } = generator.definition
  const end = within === 'shuffled' ? next + ((shuffledBlock - (next % shuffledBlock)) % shuffledBlock) : next
  if (id < end) return undefined
  return {
    level: 'problem',
    what: `${name} holds ${largest}, and '${generator.name}' stands at ${next}`,
    why: 'it issues the ids from there on a second time: the store is older than the table, or something else has made ids',
    todo:
      layout === undefined
        ? `fahao alter ${generator.name} --floor ${id + 1n}`
        : 'raise its bound by fahao advance, by more than what is missing',
  }
}

async function idOf(text: string, generator: string, server: ServerOptions): Promise<bigint> {
  const { id } = await ask<{ id: string }>(server, 'GET', '/v1/decode', { query: { id: text, generator } })
  return BigInt(id)
}

/** Dates further away than this are no problem of today, in years. */
const soonYears = 2
const yearSeconds = 365.25 * 86_400

/** When a column that is smaller than the generator's ids is full. */
function overflow(
  { max }: ColumnFacts,
  answer: GeneratorAnswer,
  name: string,
  { perSecond, nowMs }: TableOptions,
): Finding | undefined {
  const { name: generator, definition, stats } = answer
  const next = nextOf(answer)
  const ends = definition.max === undefined ? undefined : BigInt(String(definition.max))
  if (max === undefined || (ends ?? max + 1n) <= max) return undefined
  const todo = 'make the column a BIGINT before that, and the columns that refer to it'
  const [what, why] = [`${name} holds numbers up to ${grouped(max)}`, 'INSERTs fail from then on']
  if (next === undefined) return undefined
  const left = Number(max - next) / Number(definition.increment ?? 1)
  if (left < 0)
    return { level: 'problem', what: `${what}, and the next id of '${generator}' is larger`, why, todo }
  // Time is a part of such an id: how far it is from the end says nothing about their number.
  if (definition.layout !== undefined) return undefined
  const rate = perSecond(generator) ?? (stats ? stats.ratePerSecond + stats.callersPerSecond : 0)
  if (rate === 0)
    return {
      level: 'note',
      what: `${what}: ${grouped(Math.floor(left))} more ids fit, and none are drawn now`,
      why,
      todo,
    }
  const seconds = left / rate
  const date =
    nowMs + seconds * 1000 > 8.64e15
      ? 'later than dates go'
      : new Date(nowMs + seconds * 1000).toISOString().slice(0, 10)
  return {
    level: seconds < soonYears * yearSeconds ? 'problem' : 'note',
    what: `${what}: at ${grouped(Math.round(rate))} ids per second it is full on ${date}, in ${approximateDuration(seconds)}`,
    why,
    todo,
  }
}

/** Texts that differ in the case of letters alone. */
function sameTexts(
  { ignoresCase }: ColumnFacts,
  { name: generator, definition }: GeneratorAnswer,
  name: string,
): Finding | undefined {
  const { format } = definition
  if (!ignoresCase || format === undefined || isWide(String(format))) return undefined
  const periods = periodsOf(definition as PeriodDefinition)
  if (!compileFormat(String(format), { nodeWidth: 1, anyZone: true, periods }).mixesCases) return undefined
  return {
    level: 'problem',
    what: `${name} ignores the case of letters, and texts of '${generator}' (${format}) may differ in it alone`,
    why: 'two ids are one key there: an INSERT fails, or a SELECT finds the row of another id',
    todo: 'give the column a collation that compares bytes (utf8mb4_bin, or "C"), or use base36 for a new generator',
  }
}

function unguarded({ guard }: ColumnFacts, name: string, isProxied: boolean): Finding | undefined {
  if (guard === undefined || guard.missing.length === 0) return undefined
  return {
    level: isProxied ? 'problem' : 'note',
    what: `${name} takes rows without an id: ${guard.missing.join('; ')}`,
    why: 'the MySQL proxy fills in only where the database refuses them',
    todo: guard.ddl.length === 0 ? 'see fahao proxy check' : guard.ddl.join(' '),
  }
}

async function onDatabase<Result>(
  database: string | Upstream,
  work: (read: ReadColumn) => Promise<Result>,
): Promise<Result> {
  if (typeof database !== 'string') return askServer(database, (query) => work(mysqlColumns(query)))
  if (/^(?:mysqls?|mariadb):/.test(database)) {
    // Of a whole URL the name of the database, which the columns have.
    const url = database.replace(/^mariadb:/, 'mysql:').replace(/^(mysqls?:\/\/[^/]+)\/[^/]*$/, '$1')
    return askServer({ ...upstreamUrl.read(url), ca: undefined }, (query) => work(mysqlColumns(query)))
  }
  if (!/^postgres(?:ql)?:/.test(database))
    throw new UsageError(
      '--database is no database; write mysql://USER:PASSWORD@HOST or postgres://USER:PASSWORD@HOST/DATABASE',
    )
  const { default: pg } = await packageOf('pg', import('pg'))
  const client = new pg.Client({
    connectionString: database,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(postgresColumns(async (sql, values) => (await client.query(sql, [...values])).rows))
  } finally {
    await client.end()
  }
}

const timeoutMs = 10_000

function mysqlColumns(query: Query): ReadColumn {
  return async (column) => {
    const guard = (await readGuards(query, [column])).guards.get(column)
    if (guard?.type === undefined) return undefined
    const [row] = await query(
      'SELECT COLLATION_NAME AS collation FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND COLUMN_NAME = ?',
      [column.database, column.table, column.column],
    )
    const named = [column.column, column.database, column.table].map(
      (part) => `\`${part.replaceAll('`', '``')}\``,
    )
    const [found] = await query(`SELECT MAX(${named[0]}) AS largest FROM ${named[1]}.${named[2]}`, [])
    return {
      max: guard.type.holds === 'integers' ? guard.type.max : undefined,
      ignoresCase: /_ci(?:_|$)/.test(row?.collation ?? ''),
      largest: found?.largest ?? null,
      guard,
    }
  }
}

const postgresIntegers: Readonly<Record<string, bigint>> = {
  smallint: 2n ** 15n - 1n,
  integer: 2n ** 31n - 1n,
  bigint: 2n ** 63n - 1n,
}

function postgresColumns(query: Query): ReadColumn {
  return async ({ database: schema, table, column }) => {
    const [row] = await query(
      `SELECT format_type(a.atttypid, NULL) AS type,
         (a.atttypid::regtype::text LIKE '%citext' OR NOT coalesce(c.collisdeterministic, true))::text AS ignores_case
       FROM pg_attribute a LEFT JOIN pg_collation c ON c.oid = a.attcollation
       WHERE a.attrelid = to_regclass(format('%I.%I', $1::text, $2::text)) AND a.attname = $3 AND NOT a.attisdropped`,
      [schema, table, column],
    )
    if (row === undefined) return undefined
    const named = [column, schema, table].map((part) => `"${part.replaceAll('"', '""')}"`)
    const [found] = await query(`SELECT max(${named[0]})::text AS largest FROM ${named[1]}.${named[2]}`, [])
    const max = row.type === 'numeric' ? 2n ** 63n - 1n : postgresIntegers[row.type ?? '']
    return { max, ignoresCase: row.ignores_case === 'true', largest: found?.largest ?? null }
  }
}

function nameOf({ database, table, column }: FilledColumn): string {
  return `${database}.${table}.${column}`
}
