/**
 * Each feature of ids by each way in, on each engine and in each mode: a cell of docs/reference/id-features.md is what was
 * issued here, or the sentence of the refusal. `WRITE_PAGE=1` writes the tables of the page.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Connection, createConnection } from 'mysql2/promise'
import pg from 'pg'
import { connect } from '../../../client/src/index.ts'
import { optionName } from '../../../src/catalogue/generator-options.ts'
import { type Fahao, type GeneratorInput, openFahao } from '../../../src/index.ts'
import { owner, password } from '../../launch/database.ts'
import { startEtcd } from '../../launch/etcd.ts'
import { startFahao } from '../../launch/fahao.ts'
import { guardTables, upstreamOf } from '../../launch/guards.ts'
import { Scope } from '../../launch/lifetime.ts'
import { type MariaDb, startMariaDb } from '../../launch/mariadb.ts'
import { startMysqlProxy } from '../../launch/mysql-proxy.ts'
import { freePort, temporaryFolder } from '../../launch/places.ts'
import { startPostgres } from '../../launch/postgres.ts'
import { type Feature, features, whole } from './features.ts'
import { commandLineWay, filled, libraryWay, type Scene, ways } from './ways.ts'

const page = join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'id-features.md')
const begin = '<!-- begin: written by test/integration/id-features -->\n'
const end = '<!-- end -->\n'
const proxyWay = 'MySQL proxy'

const scope = new Scope()
/** The servers of each place: every draw asks the next of them. */
const places = new Map<string, Scene[]>()
let mysql: Connection

before(async () => {
  const [mariadb, postgres, etcd] = await Promise.all([
    startMariaDb(scope),
    startPostgres(scope),
    startEtcd(scope),
  ])
  const cluster = ['--cluster', 'test']
  places.set('SQLite, one node', await sceneOf(1, undefined))
  places.set('PostgreSQL, two nodes', await sceneOf(2, await postgres.newDatabase()))
  places.set('MariaDB, two nodes', await sceneOf(2, await mariadb.newDatabase()))
  places.set('etcd, a cluster of two', await sceneOf(2, etcd.url('ids'), cluster))
  places.set('PostgreSQL, a cluster of two', await sceneOf(2, await postgres.newDatabase(), cluster))
  mysql = await throughProxy(mariadb, places.get('SQLite, one node')![0]!)
})
after(() => scope.end())

async function sceneOf(
  nodes: number,
  engine: string | undefined,
  flags: readonly string[] = [],
): Promise<Scene[]> {
  const scenes: Scene[] = []
  for (let node = 0; node < nodes; node++) {
    const port = await freePort()
    const args = ['--postgres', `127.0.0.1:${port}`, '--forward', ...flags]
    const server = await startFahao(scope, {
      ...(engine !== undefined && { engine }),
      args,
      readyWithinMs: 60_000,
    })
    const redis = await server.connect()
    const postgres = new pg.Client({ host: '127.0.0.1', port, user: 'app', database: 'app' })
    await postgres.connect()
    const client = await connect(`redis://127.0.0.1:${server.resp}`)
    scope.after(async () => {
      await client.close()
      await postgres.end()
    })
    scenes.push({ server, redis, postgres, client, library: undefined })
  }
  for (const { name, create } of features)
    assert.equal(await scenes[0]!.redis.command('ID.CREATE', name, ...create), 'OK', name)
  const library = flags.length > 0 ? undefined : await libraryOn(engine)
  return scenes.map((scene) => ({ ...scene, library }))
}

/** A node in this process: on the store of the servers, or on one of its own where that has one owner. */
async function libraryOn(engine: string | undefined): Promise<Fahao> {
  const library = await openFahao({ engine: engine ?? `sqlite:${temporaryFolder(scope)}/ids.db` })
  scope.after(() => library.close())
  if (engine !== undefined) return library
  for (const { name, create } of features) {
    const options = create.flatMap((word, at) => (at % 2 === 0 ? [[optionName(word)!, create[at + 1]!]] : []))
    await library.open(name, Object.fromEntries(options) as GeneratorInput)
  }
  return library
}

async function throughProxy(db: MariaDb, { server }: Scene): Promise<Connection> {
  const tables = features.map(({ name, text }) => {
    const type = String(text) === String(whole) ? 'BIGINT' : 'VARCHAR(64) COLLATE utf8mb4_bin'
    return `CREATE TABLE shop.\`${name}\` (id ${type} PRIMARY KEY, body INT);`
  })
  await db.admin(`
    CREATE DATABASE shop; GRANT ALL PRIVILEGES ON *.* TO ${owner}@'127.0.0.1';
    ${tables.join('\n')}`)
  await guardTables(
    db,
    features.map(({ name }) => `shop.${name}.id`),
  )
  const columns = features.flatMap(({ name }) => ['--table', `shop.${name}.id=${name}`])
  const { port } = await startMysqlProxy(scope, {
    upstream: upstreamOf(db),
    args: ['--url', server.http, ...columns],
  })
  const connection = await createConnection({
    host: '127.0.0.1',
    port,
    user: owner,
    password,
    database: 'shop',
  })
  scope.after(async () => connection.destroy())
  return connection
}

/** What a draw gave: whether it was an id, and the text of it or of the refusal. */
type Outcome = { readonly issued: boolean; readonly text: string }

async function outcome(draw: Promise<string>): Promise<Outcome> {
  try {
    return { issued: true, text: await draw }
  } catch (error) {
    const { code, message, sqlMessage } = error as { code?: string; message: string; sqlMessage?: string }
    const words = sqlMessage ?? message
    return { issued: false, text: code === undefined || words.startsWith(code) ? words : `${code}: ${words}` }
  }
}

/** Refusals by their sentences, numbered in the order in which they are met. */
class Footnotes {
  readonly #numbers = new Map<string, number>()

  /** What a cell says of an outcome. */
  cell({ issued, text }: Outcome, { name, has }: Feature): string {
    if (issued) return has === undefined || has(BigInt(text)) ? 'yes' : 'ids of now'
    const sentence = text.replaceAll(`'${name}'`, "'NAME'").replaceAll(name, 'NAME')
    if (!this.#numbers.has(sentence)) this.#numbers.set(sentence, this.#numbers.size + 1)
    return `no, ${this.#numbers.get(sentence)}`
  }

  get lines(): string[] {
    return [...this.#numbers].map(([sentence, number]) => `${number}. ${sentence}`)
  }
}

const notes = new Footnotes()
const tables: string[] = []
/** The cells of the first place, by feature and way. */
const first = new Map<string, Map<string, string>>()

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

test('each feature is issued by each way in, or refused with a sentence before an id is used', async () => {
  const [scene] = places.get('SQLite, one node')!
  const titles = [...Object.keys(ways), proxyWay]
  tables.push(rowOf(['feature', ...titles]), rowOf(['---', ...titles.map(() => '---')]))
  for (const feature of features) {
    const cells = new Map<string, string>()
    const texts: string[] = []
    for (const [title, way] of Object.entries(ways)) {
      const drawn = await outcome(way(scene!, feature))
      cells.set(title, notes.cell(drawn, feature))
      if (drawn.issued && title !== libraryWay) texts.push(drawn.text)
      if (drawn.issued && /NEXT|HTTP|nextText|fahao_next|command/.test(title))
        assert.match(drawn.text, feature.text, title)
    }
    cells.set(proxyWay, notes.cell(await outcome(filled(mysql, feature)), feature))
    assert.equal(cells.get('Redis, `ID.NEXT`'), 'yes', feature.name)
    assert.equal(new Set(texts).size, texts.length, `${feature.name}: ${texts}`)
    first.set(feature.name, cells)
    tables.push(rowOf([feature.title, ...titles.map((title) => cells.get(title)!)]))
  }
})

test('each feature is the same on every engine and in every mode, or the page tells the difference', async () => {
  const others = [...places].slice(1)
  tables.push('', rowOf(['feature', ...places.keys()]), rowOf(['---', ...[...places].map(() => '---')]))
  for (const feature of features) {
    const cells = ['as above']
    for (const [, scenes] of others) {
      let turn = 0
      const differences = new Set<string>()
      const texts: string[] = []
      for (const [title, way] of Object.entries(ways)) {
        // What the command line asks for, HTTP has asked for.
        if (title === commandLineWay || (title === libraryWay && scenes[0]!.library === undefined)) continue
        for (const _ of scenes) {
          const drawn = await outcome(way(scenes[turn++ % scenes.length]!, feature))
          const cell = notes.cell(drawn, feature)
          if (drawn.issued) texts.push(drawn.text)
          if (cell !== first.get(feature.name)!.get(title)) differences.add(cell)
        }
      }
      assert.equal(new Set(texts).size, texts.length, `${feature.name}: ${texts}`)
      cells.push(differences.size === 0 ? 'as above' : [...differences].join('; '))
    }
    tables.push(rowOf([feature.title, ...cells]))
  }
})

test('docs/reference/id-features.md has these tables', () => {
  const text = readFileSync(page, 'utf8')
  const [before = '', rest = ''] = text.split(begin)
  const after = rest.slice(rest.indexOf(end))
  const wanted = `${before}${begin}\n${[...tables, '', ...notes.lines].join('\n')}\n\n${after}`
  if (process.env.WRITE_PAGE) writeFileSync(page, wanted)
  assert.equal(readFileSync(page, 'utf8'), wanted, 'WRITE_PAGE=1 writes them')
})
