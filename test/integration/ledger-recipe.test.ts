/** The recipe of docs/start/numbers-without-holes.md, with PostgreSQL and MariaDB: what fails leaves no number without a reason. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { createClient } from 'redis'
import { startFahao } from '../launch/fahao.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { temporaryFolder } from '../launch/places.ts'
import { startPostgres } from '../launch/postgres.ts'

type Database = { query(sql: string): Promise<unknown>; end(): Promise<void> }
type Fahao = { sendCommand(words: readonly string[]): Promise<unknown> }
type WriteDocument = (
  fahao: Fahao,
  open: () => Promise<Database>,
  ref: string,
  insert: (database: Database, number: string) => Promise<unknown>,
) => Promise<string>

const page = join(import.meta.dirname, '../../docs/start/numbers-without-holes.md')

/** The code of the page. */
async function recipe(lifetime: Lifetime): Promise<WriteDocument> {
  const [code] = /(?<=```ts\n)[\s\S]*?(?=```)/.exec(readFileSync(page, 'utf8'))!
  const path = join(temporaryFolder(lifetime), 'recipe.mjs')
  writeFileSync(path, code)
  return (await import(path)).writeDocument
}

async function openPostgres(url: string): Promise<Database> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return client as unknown as Database
}

async function openMariaDb(url: string): Promise<Database> {
  const connection = await createConnection(url)
  connection.on('error' as never, () => {})
  return connection as unknown as Database
}

const databases = {
  PostgreSQL: async (lifetime: Lifetime) => {
    const server = await startPostgres(lifetime)
    const url = await server.newDatabase()
    return () => openPostgres(url)
  },
  MariaDB: async (lifetime: Lifetime) => {
    const server = await startMariaDb(lifetime)
    const url = await server.newDatabase()
    return () => openMariaDb(url)
  },
}

describe('a document, its number, and a reason for each number without a document', {
  timeout: 120_000,
}, () => {
  for (const [title, start] of Object.entries(databases))
    test(`with ${title}: a rollback, a commit without an answer, and a lapsed hold leave no hole`, async (t) => {
      const [open, server, writeDocument] = await Promise.all([start(t), startFahao(t), recipe(t)])
      const admin = await open()
      await admin.query(
        'CREATE TABLE documents (number varchar(40) NOT NULL UNIQUE, ref varchar(40) NOT NULL)',
      )
      const fahao = createClient({ url: `redis://127.0.0.1:${server.resp}` })
      fahao.on('error', () => {})
      await fahao.connect()
      t.after(() => fahao.destroy())
      await fahao.sendCommand(['ID.CREATE', 'invoice', 'KIND', 'sequence', 'LEDGER', 'on'])
      const insert = (ref: string) => (database: Database, number: string) =>
        database.query(`INSERT INTO documents (number, ref) VALUES ('${number}', '${ref}')`)
      assert.equal(await writeDocument(fahao, open, 'a', insert('a')), '1')

      // The document cannot be inserted: its number goes to the next one.
      const broken = (database: Database, number: string) =>
        number === '2' ? database.query('INSERT INTO nowhere VALUES (1)') : insert('b')(database, number)
      await assert.rejects(writeDocument(fahao, open, 'b', broken))
      assert.equal(await writeDocument(fahao, open, 'b', insert('b')), '2')

      // The commit is refused, or carried out without an answer.
      const failing = (isDone: boolean) => async () => {
        const database = await open()
        const query = async (sql: string) => {
          if (sql !== 'COMMIT') return database.query(sql)
          await database.query(isDone ? 'COMMIT' : 'ROLLBACK')
          throw new Error('the connection was lost')
        }
        return { query, end: () => database.end() }
      }
      await assert.rejects(writeDocument(fahao, failing(false), 'c', insert('c')), /connection was lost/)
      assert.equal(await writeDocument(fahao, failing(true), 'd', insert('d')), '4')
      // A program that is started again.
      assert.equal(await writeDocument(fahao, open, 'd', insert('d')), '4')

      // The hold ends before the document is inserted: the number goes to another document.
      const late = async (database: Database, number: string) => {
        if (number === '5') {
          const [, reservation] = (await fahao.sendCommand([
            'ID.RESERVE',
            'invoice',
            'REF',
            'e',
            'KEY',
            'e',
          ])) as [string, string]
          await fahao.sendCommand(['ID.CANCEL', 'invoice', reservation])
        }
        return insert('e')(database, number)
      }
      await assert.rejects(writeDocument(fahao, open, 'e', late), /LAPSED/)
      assert.equal(await writeDocument(fahao, open, 'f', insert('f')), '6')

      const answer = await fetch(`${server.http}/v1/generators/invoice/ledger`)
      const { lines } = (await answer.json()) as { lines: { number: string; state: string; ref: string }[] }
      assert.deepEqual(
        lines.map(({ number, state, ref }) => `${number} ${state} ${ref}`),
        ['1 confirmed a', '2 confirmed b', '3 void c', '4 confirmed d', '5 void e', '6 confirmed f'],
      )
      await admin.end()
    })
})
