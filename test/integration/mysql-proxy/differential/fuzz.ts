/**
 * Statements through the proxy into tables whose guard stands, hostile ones first, then statements at random.
 *
 *  1. No row has an id that is NULL, 0, negative or ''.
 *  2. An id of a generator was drawn from the generator of its table, and stands in the rows of one batch only: it was drawn once.
 *  3. The proxy goes on.
 *  4. A statement that the server also takes directly, on the same tables with AUTO_INCREMENT, leaves the same values in the
 *     other columns there. This is tried with statements that read no ids, and without what differs on purpose.
 *
 * Statements write no ids as large as those of the generators, so that ids that are given and ids that were drawn differ.
 */

import { triggerDdl } from '../../../../src/proxy/guard-rules.ts'
import { superuser } from '../../../launch/database.ts'
import { startFahao } from '../../../launch/fahao.ts'
import { guardTables } from '../../../launch/guards.ts'
import type { Lifetime } from '../../../launch/lifetime.ts'
import type { MariaDb } from '../../../launch/mariadb.ts'
import { isMariaDb, startMysql } from '../../../launch/mysql.ts'
import { startMysqlProxy } from '../../../launch/mysql-proxy.ts'
import { bytesOf, readCorpus } from './corpus.ts'
import { generate, type Modes } from './generated.ts'
import { boundIds, hostile, hostileOfMariaDb } from './hostile.ts'
import { mutate, Random } from './mutations.ts'
import { MysqlClient, type Parameter } from './mysql-client.ts'
import type { Reply } from './mysql-replies.ts'

/** How much to try, and what to begin with. */
export type FuzzOptions = {
  readonly seed: number
  /** How many statements beside the hostile ones. */
  readonly statements: number
  /** Stops after as many failures. Default: 10. */
  readonly failuresMax?: number
}

/** What happened, and what was wrong. */
export type FuzzReport = {
  /** Statements by what became of them: `accepted`, `error 1364` … and rows: `drawn`, `given`. */
  readonly counts: ReadonlyMap<string, number>
  readonly failures: readonly string[]
}

const schema = `
  CREATE DATABASE shop CHARACTER SET utf8mb4; CREATE DATABASE other; USE shop;
  CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, note VARCHAR(100), amount INT NOT NULL DEFAULT 7, code VARCHAR(40) UNIQUE);
  CREATE TABLE items (name VARCHAR(60) NOT NULL DEFAULT '', price DECIMAL(10,2) NOT NULL DEFAULT 0, orders_id BIGINT NULL,
    id INT UNSIGNED NOT NULL, PRIMARY KEY (id));
  CREATE TABLE \`Group\` (\`key\` VARCHAR(30), Id BIGINT UNSIGNED NOT NULL, \`values\` TEXT, PRIMARY KEY (Id), UNIQUE KEY (\`key\`));
  CREATE TABLE codes (id VARCHAR(40) NOT NULL PRIMARY KEY, note VARCHAR(100));
  CREATE TABLE plain (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, note VARCHAR(100), u INT UNIQUE);
  CREATE TABLE logs (at INT NOT NULL DEFAULT 0, text VARCHAR(200));
  CREATE TABLE other.orders (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, note VARCHAR(100));
  CREATE TABLE other.facts (id BIGINT NOT NULL PRIMARY KEY, fact VARCHAR(100) NOT NULL);
  CREATE VIEW order_notes AS SELECT id, note FROM orders`

/** Where the ids of the first generator begin, and how far behind them those of the next one. */
const [firstId, idsPerTable] = [3_200_000_000, 100_000_000]
const filled = [
  { table: 'shop.orders', column: 'id' },
  { table: 'shop.Group', column: 'Id' },
  { table: 'shop.codes', column: 'id' },
  { table: 'other.facts', column: 'id' },
  // This one has a trigger, the others a CHECK.
  { table: 'shop.items', column: 'id' },
]
/** These have the same tables with AUTO_INCREMENT beside them, in the database `twin`. */
const compared = [
  { table: 'orders', id: 'id BIGINT', others: 'note, amount, code' },
  { table: 'items', id: 'id INT UNSIGNED', others: 'name, price, orders_id' },
  { table: '`Group`', id: 'Id BIGINT UNSIGNED', others: '`key`, `values`' },
]
const twins = `CREATE DATABASE twin CHARACTER SET utf8mb4; CREATE TABLE twin.logs LIKE shop.logs; ${compared
  .map(
    ({ table, id }) => `CREATE TABLE twin.${table} LIKE shop.${table};
  ALTER TABLE twin.${table} MODIFY ${id} NOT NULL AUTO_INCREMENT, AUTO_INCREMENT = 2200000000`,
  )
  .join(';')}`
const rowsOf = (database: string) =>
  compared.map(({ table, others }) => `SELECT ${others} FROM ${database}.${table} ORDER BY 1, 2, 3`).join(';')
const [comparison, emptying] = [
  `${rowsOf('shop')};${rowsOf('twin')}`.replaceAll('Group` ORDER BY 1, 2, 3', 'Group` ORDER BY 1, 2'),
  ['shop', 'twin']
    .flatMap((database) => compared.map(({ table }) => `DELETE FROM ${database}.${table}`))
    .join(';'),
]
/** Tables without a twin, and values that are not the same twice or depend on the connection. */
const incomparable = /\b(?:plain|other|nope|order_notes|use|from|table|delayed|returning)\b/i
const batchStatements = 50
/** These take the tables or the guards away, take long, end the server's work, change ids, or write ids like those of generators. */
const unwanted =
  /\b(?:create|drop|alter|truncate|rename|grant|revoke|flush|kill|shutdown|handler|load|outfile|dumpfile|sleep|(?:get|release)_lock|lock|xa|check\w*|analyze|optimize|repair|global|persist|install|benchmark|password|read_only|autocommit|insert_id|last_insert_id|identity|wp_\w+|kinds|rules|parts|chinese|my_isam|made|dumped|seq_\w+|uuid\w*|max_\w+|sql_select_limit|character_set_results|collation\w*|start|begin(?!\s+not)|while|loop|repeat)\b|update\s+`?id`?\s*=|update\s+(?:ignore\s+)?[`\w.]*\s+set\b|\d{8}|[0-9a-f]{7}|e\d{2}/i
const charsets = ['utf8mb4', 'utf8mb4', 'latin1', 'gbk', 'sjis', 'big5', 'cp932']
const sqlModes = [
  'STRICT_TRANS_TABLES',
  '',
  '',
  'ANSI_QUOTES',
  'NO_BACKSLASH_ESCAPES',
  'NO_AUTO_VALUE_ON_ZERO',
  'ANSI_QUOTES,NO_BACKSLASH_ESCAPES',
]

/** Tries statements on a server of its own. Resolves to what happened, whatever it was. */
export async function fuzzSql(lifetime: Lifetime, options: FuzzOptions): Promise<FuzzReport> {
  const [database, fahao] = await Promise.all([
    startMysql(lifetime, { 'innodb-flush-log-at-trx-commit': 0, 'sync-binlog': 0, 'secure-file-priv': '' }),
    startFahao(lifetime, { args: ['--log-level', 'warn'] }),
  ])
  await database.admin(schema)
  await database.admin(twins)
  await guardTables(
    database,
    filled.slice(0, -1).map(({ table, column }) => `${table}.${column}`),
  )
  const [, trigger = ''] = triggerDdl(
    { database: 'shop', table: 'items', column: 'id', generator: '' },
    { holds: 'integers', max: 0n },
  ).split(/DELIMITER \/\/\n|\/\/\n/)
  await database.admin(trigger)
  const client = await fahao.connect()
  const tables: string[] = []
  for (const [at, { table, column }] of filled.entries()) {
    await client.command('ID.CREATE', table, 'KIND', 'sequence', 'START', firstId + at * idsPerTable)
    tables.push('--table', `${table}.${column}=${table}`)
  }
  const { port } = await startMysqlProxy(lifetime, {
    upstream: database.port,
    args: ['--url', fahao.http, ...tables],
  })
  const fuzzer = new Fuzzer(database, port)
  await fuzzer.run(options)
  return fuzzer
}

class Fuzzer implements FuzzReport {
  readonly counts = new Map<string, number>()
  readonly failures: string[] = []
  readonly #database: MariaDb
  readonly #port: number
  /** Ids of rows of earlier batches. */
  readonly #seen = new Set<number>()
  readonly #bases: readonly Buffer[]

  constructor(database: MariaDb, port: number) {
    this.#database = database
    this.#port = port
    const ofCorpus = readCorpus().flatMap(({ scripts }) => scripts.flatMap((script) => script.statements))
    this.#bases = [...ofCorpus.map(({ sql }) => sql), ...hostile.flat().map(bytesOf)].filter(
      (sql) => sql.length < 1000 && !unwanted.test(sql.toString('latin1')),
    )
  }

  async run({ seed, statements, failuresMax = 10 }: FuzzOptions): Promise<void> {
    const lists = isMariaDb ? [...hostile, ...hostileOfMariaDb] : hostile
    for (const [at, list] of lists.entries()) {
      const file = `hostile-${at}`
      await this.#batch(
        list.map((sql) => ({ sql: bytesOf(sql.replaceAll('FILE', file)), prepared: undefined })),
      )
    }
    await this.#batch(
      boundIds.flatMap((id) =>
        ['orders', 'items', 'codes', '`Group`'].map((table) => ({
          sql: Buffer.from(`INSERT INTO ${table} (id) VALUES (?), (?)`),
          prepared: [id, id],
        })),
      ),
    )
    await this.#batch([
      { sql: Buffer.from("SET sql_mode = ''"), prepared: undefined },
      ...boundIds.flatMap((id) =>
        ['orders', 'items', 'codes', '`Group`'].map((table) => ({
          sql: Buffer.from(`INSERT IGNORE INTO ${table} (id) VALUES (?)`),
          prepared: [id],
        })),
      ),
    ])
    for (let at = 0; at < statements && this.failures.length < failuresMax; at += batchStatements) {
      const random = new Random(seed + at * 7919)
      const count = Math.min(batchStatements, statements - at)
      const [charset, sqlMode] = [random.of(charsets), random.of(sqlModes)]
      const ansiQuotes = sqlMode.includes('ANSI_QUOTES')
      const modes = { ansiQuotes, noBackslashEscapes: sqlMode.includes('NO_BACKSLASH'), charset }
      await this.#batch([
        { sql: Buffer.from(`SET NAMES ${charset}, sql_mode = '${sqlMode}'`), prepared: undefined },
        ...Array.from({ length: count }, () => this.#next(random, modes)),
      ])
      if (at % (2 * batchStatements) === 0) await this.#compare(random)
    }
  }

  /** Sends statements to both, each on one connection, and compares the rows. */
  async #compare(random: Random): Promise<void> {
    const modes = { ansiQuotes: random.once(3), noBackslashEscapes: random.once(3), charset: 'utf8mb4' }
    const words = [modes.ansiQuotes && 'ANSI_QUOTES', modes.noBackslashEscapes && 'NO_BACKSLASH_ESCAPES']
    const session = Buffer.from(
      `SET NAMES utf8mb4, sql_mode = '${[random.of(['', 'STRICT_TRANS_TABLES']), ...words].filter(Boolean)}'`,
    )
    const [proxied, direct, looks] = await Promise.all([
      this.#connect(),
      ...['twin', 'shop'].map((database) => this.#connect(this.#database.port, database)),
    ])
    await looks!.query(Buffer.from(emptying))
    await Promise.all([proxied, direct].map((client) => client!.query(session)))
    for (let left = batchStatements; left > 0; left--) {
      const trial = this.#comparable(random, modes)
      const sql = Buffer.from(trial.sql.toString('latin1').replace(/\bshop\b/g, 'twin'), 'latin1')
      const replies = [await send(proxied, trial), await send(direct!, { ...trial, sql })]
      const isEqual = replies.every((each) => each.every(({ kind }) => kind !== 'error'))
      // With IGNORE, rows are left out that the guard refuses.
      const isLess =
        /ignore/i.test(`${sql}`) && replies[0]!.some((each) => 'warnings' in each && each.warnings > 0)
      if (isEqual && !isLess) {
        const found = (await looks!.query(Buffer.from(comparison))).map(
          (each) => each.kind === 'rows' && each.rows,
        )
        const [own, expected] = [found.slice(0, 3), found.slice(3)].map((rows) => JSON.stringify(rows))
        this.#count('statements compared')
        if (own !== expected)
          this.failures.push(
            `the proxy: ${own}\ndirectly:  ${expected}\nafter (${session})\n${describe(trial)}`,
          )
        if (own === expected && !random.once(4)) continue
      }
      await looks!.query(Buffer.from(emptying))
    }
    for (const client of [proxied, direct, looks]) client!.end()
  }

  /** A statement of which a change at random does not read or name more ids, or more tables of `shop`. */
  #comparable(random: Random, modes: Modes): Trial {
    for (;;) {
      const parameters: Parameter[] = []
      const isPrepared = random.once(4)
      const base = generate(random, { ...modes, ...(isPrepared && { parameters }) })
      const sql = isPrepared || random.once(2) ? base : mutate(base, this.#bases, random)
      const [before, after] = [base, sql].map(
        (text) => text.toString('latin1').match(/(?:id|shop)\b/gi)?.length,
      )
      if (before === after && !unwanted.test(`${sql}`) && !incomparable.test(`${sql}`))
        return { sql, prepared: isPrepared ? parameters : undefined }
    }
  }

  #next(random: Random, modes: Modes): Trial {
    for (;;) {
      const parameters: Parameter[] = []
      const isPrepared = random.once(4)
      const base =
        isPrepared || random.once(2)
          ? generate(random, { ...modes, ...(isPrepared && { parameters }) })
          : random.of(this.#bases)
      const sql = isPrepared || random.once(2) ? base : mutate(base, this.#bases, random)
      if (unwanted.test(sql.toString('latin1'))) continue
      const prepared = isPrepared
        ? parameters.map((value) => (random.once(3) ? random.of(boundIds) : value))
        : undefined
      return { sql, prepared }
    }
  }

  /** Sends statements on one connection, and looks at the rows. */
  async #batch(trials: readonly Trial[]): Promise<void> {
    let client = await this.#connect()
    for (const trial of trials) {
      try {
        for (const reply of await send(client, trial))
          this.#count(reply.kind === 'error' ? `error ${reply.code}` : 'accepted')
        this.#count('statements')
      } catch {
        this.#count('connections ended')
        client.end()
        client = await this.#connect()
      }
    }
    client.end()
    await this.#judge(trials)
  }

  async #judge(trials: readonly Trial[]): Promise<void> {
    const found = new Set<number>()
    for (const [at, { table, column }] of filled.entries()) {
      const name = table.replace(/[^.]+/g, '`$&`')
      for (const { id } of await this.#database.admin(
        `SELECT CAST(\`${column}\` AS CHAR) AS id FROM ${name}`,
      )) {
        const number = Number(id)
        const isDrawn = number >= firstId && number < firstId + filled.length * idsPerTable
        const isOwn = Math.floor((number - firstId) / idsPerTable) === at
        const isMissing = id === null || id === '' || (table !== 'shop.codes' && number <= 0)
        if (isMissing || (isDrawn && (!isOwn || this.#seen.has(number))))
          this.failures.push(`${table} has the id ${id} after\n${trials.map(describe).join('\n')}`)
        this.#count(isDrawn ? 'rows drawn' : 'rows given')
        if (isDrawn) found.add(number)
      }
      await this.#database.admin(`DELETE FROM ${name}`)
    }
    // Statements that insert the rows of a table into itself double it.
    await this.#database.admin('DELETE FROM shop.plain; DELETE FROM shop.logs; DELETE FROM other.orders')
    for (const id of found) this.#seen.add(id)
  }

  #count(key: string): void {
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1)
  }

  #connect(port = this.#port, database = 'shop'): Promise<MysqlClient> {
    return MysqlClient.connect({ port, user: superuser, database })
  }
}

/** A statement; with values, it is prepared and executed with them. */
type Trial = { readonly sql: Buffer; readonly prepared: readonly Parameter[] | undefined }

async function send(client: MysqlClient, { sql, prepared: values }: Trial): Promise<Reply[]> {
  if (values === undefined) return client.query(sql)
  const prepared = await client.prepare(sql)
  if (prepared.kind === 'error') return [prepared]
  const given = prepared.parameters.map((_, at) => values[at] ?? null)
  const replies = await client.execute(prepared.id, given)
  client.closeStatement(prepared.id)
  return replies
}

function describe({ sql, prepared }: Trial): string {
  const values = prepared?.map((value) => (value instanceof Uint8Array ? 'bytes' : `${value}`)) ?? []
  return `  ${JSON.stringify(sql.toString('latin1'))} ${values}`
}
