/** The ways in: each draws one id of a feature as a caller does, and gives its text, or the error. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import type pg from 'pg'
import type { ClientGenerator } from '../../../client/src/generator.ts'
import type { FahaoClient } from '../../../client/src/index.ts'
import type { Fahao } from '../../../src/index.ts'
import type { FahaoServer } from '../../launch/fahao.ts'
import type { RawClient } from '../../launch/raw-client.ts'
import { ReplyError } from '../../launch/raw-reply.ts'
import { entry } from '../cli-program.ts'
import type { Draw, Feature } from './features.ts'

/** What the ways need. */
export type Scene = {
  readonly server: FahaoServer
  readonly redis: RawClient
  readonly postgres: pg.Client
  readonly client: FahaoClient
  /** A node in this process on the same store, or on one like it where a store has one owner; undefined: a cluster has none. */
  readonly library: Fahao | undefined
}

/** Draws one id. Rejects with the error of the server. */
export type Way = (scene: Scene, feature: Feature) => Promise<string>

/** The title of the way in that has no server. */
export const libraryWay = 'library, `nextText`'
/** The title of the one that asks over HTTP, by a process for each id. */
export const commandLineWay = 'command line'

const run = promisify(execFile)

/** The ways of every server, by their titles. */
export const ways: Readonly<Record<string, Way>> = {
  'Redis, `ID.NEXT`': ({ redis }, { name, draw }) => asked(redis, 'ID.NEXT', name, ...drawWords(draw)),
  'Redis, `INCR`': ({ redis }, { name }) => asked(redis, 'INCR', name),
  'Redis, `ID.RUNS`': async ({ redis }, { name }) =>
    (await asked(redis, 'ID.RUNS', name, '1')).split(',', 1)[0]!,
  HTTP: overHttp,
  'SQL, `nextval`': ({ postgres }, { name }) =>
    selected(postgres, 'SELECT nextval($1::regclass) AS id', [name]),
  'SQL, `fahao_next`': ({ postgres }, { name, draw }) => selected(postgres, functionCall(name, draw), []),
  [commandLineWay]: onCommandLine,
  [libraryWay]: inProcess,
  'fahao-client, `next`': async (scene, feature) => String(await drawer(scene, feature, 'next')),
  'fahao-client, `nextText`': async (scene, feature) => String(await drawer(scene, feature, 'nextText')),
}

function drawWords({ gene, by, at }: Draw = {}): string[] {
  return [
    ...(at === undefined ? [] : ['AT', at]),
    ...(gene === undefined ? [] : ['GENE', String(gene)]),
    ...(by === undefined ? [] : ['BY', by]),
  ]
}

async function asked(redis: RawClient, ...words: string[]): Promise<string> {
  const reply = await redis.command(...words)
  if (reply instanceof ReplyError) throw new Error(reply.text)
  return String(reply)
}

async function overHttp({ server }: Scene, { name, draw }: Feature): Promise<string> {
  const query = new URLSearchParams(
    Object.entries(draw ?? {}).map(([key, value]): [string, string] => [key, String(value)]),
  )
  const answer = await fetch(`${server.http}/v1/generators/${name}/next?${query}`, { method: 'POST' })
  const body = (await answer.json()) as { ids: string[]; code: string; detail: string }
  if (!answer.ok) throw new Error(`${body.code} ${body.detail}`)
  return body.ids[0]!
}

async function onCommandLine({ server }: Scene, { name, draw }: Feature): Promise<string> {
  const options = Object.entries(draw ?? {}).flatMap(([option, value]) => [`--${option}`, String(value)])
  const words = [entry, 'next', name, '--url', server.http, ...options]
  const { stdout } = await run(process.execPath, words).catch(({ stderr }: { stderr: string }) => {
    throw new Error(stderr.trim().replace(/^fahao: /, ''))
  })
  return stdout.trim()
}

async function inProcess({ library }: Scene, { name, draw }: Feature): Promise<string> {
  return (await library!.open(name)).nextText(draw)
}

function functionCall(name: string, { gene, by, at }: Draw = {}): string {
  const given = [
    ...(gene === undefined ? [] : [`gene => ${gene}`]),
    ...(by === undefined ? [] : [`by => '${by}'`]),
    ...(at === undefined ? [] : [`at => '${at}'`]),
  ]
  return `SELECT fahao_next(${[`'${name}'`, ...given].join(', ')}) AS id`
}

async function selected(postgres: pg.Client, sql: string, values: readonly string[]): Promise<string> {
  const { rows } = await postgres.query(sql, [...values])
  return String(rows[0].id)
}

async function drawer({ client }: Scene, { name, draw }: Feature, method: 'next' | 'nextText') {
  const generator: ClientGenerator = await client.generator(name)
  return generator[method](draw)
}

/** The id that the proxy of MySQL fills into a row of the table with the generator's name. */
export async function filled(mysql: Connection, { name }: Feature): Promise<string> {
  const table = `\`${name}\``
  await mysql.query(`INSERT INTO ${table} (body) VALUES (1)`)
  const [rows] = await mysql.query<RowDataPacket[]>(`SELECT CAST(id AS CHAR) AS id FROM ${table}`)
  return String(rows.at(-1)!.id)
}
