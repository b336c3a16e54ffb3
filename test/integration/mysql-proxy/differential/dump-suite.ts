/** Dumps of mariadb-dump, loaded through the proxy by the client `mariadb`: all rows come back as they were. */
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { password, superuser } from '../../../launch/database.ts'
import { guardTables } from '../../../launch/guards.ts'
import { temporaryFolder } from '../../../launch/places.ts'
import { runProgram } from '../../../launch/program.ts'
import { readSchema } from './corpus.ts'
import { MysqlClient } from './mysql-client.ts'
import type { FilledColumn, Stage } from './stage.ts'

/** The columns that these tests need filled. */
export const dumpColumns: readonly FilledColumn[] = [
  { column: 'restored.orders.id', generator: 'restored-order', create: ['KIND', 'sequence', 'START', 5000] },
  { column: 'restored.items.id', generator: 'restored-item', create: ['KIND', 'sequence', 'START', 5000] },
  { column: 'restored.types.id', generator: 'restored-type', create: ['KIND', 'sequence', 'START', 5000] },
]

/** The tables, and what a row consists of: `*` leaves out a column that is invisible. */
const tables = { orders: '*', items: '*', types: '*, `a``b`' } as const
type Table = keyof typeof tables

/** How the options of mariadb-dump are combined. */
const forms: readonly (readonly string[])[] = [
  [],
  ['--complete-insert'],
  ['--skip-extended-insert', '--where=id<30'],
  ['--skip-extended-insert', '--complete-insert', '--hex-blob', '--where=id<30'],
  ['--hex-blob', '--no-autocommit'],
  ['--insert-ignore', '--skip-add-locks'],
  ['--replace', '--complete-insert', '--skip-comments', '--skip-dump-date'],
  ['--skip-quote-names', '--skip-set-charset', '--skip-tz-utc', '--ignore-table=archive.types'],
  ['--single-transaction', '--order-by-primary', '--skip-disable-keys', '--add-drop-trigger'],
  ['--default-character-set=utf8mb4', '--max-allowed-packet=1M', '--net-buffer-length=4096'],
  ['--compatible=ansi', '--complete-insert', '--default-character-set=utf8mb4'],
  ['--skip-opt', '--set-charset', '--create-options', '--hex-blob', '--where=id<30'],
]

/** Registers the tests. */
export function dumpSuite(stage: () => Stage): void {
  describe('dumps that are loaded through the proxy', () => {
    const database = () => stage().proxied.database
    const dump = (options: readonly string[], file: string, ...some: readonly string[]) =>
      shell(
        `mariadb-dump ${login(database().port)} ${options.map((each) => `'${each}'`).join(' ')} archive ${some.join(' ')} > ${file}`,
      )
    const empty = (further = '') =>
      database().admin(
        `DROP DATABASE IF EXISTS restored; CREATE DATABASE restored CHARACTER SET utf8mb4; ${further}`,
      )

    const rowsOf = async (schemaName: string, table: Table, where = '') => {
      const [reply] = await client.query(
        `SELECT ${tables[table]} FROM ${schemaName}.${table} ${where} ORDER BY id`,
      )
      assert.ok(reply?.kind === 'rows', JSON.stringify(reply))
      assert.ok(reply.rows.length > 2)
      return reply.rows.map((row) => JSON.stringify(row))
    }
    let client: MysqlClient

    before(async () => {
      await database().admin(readSchema('dumped'))
      client = await MysqlClient.connect({ port: database().port, user: superuser })
    })
    after(() => client.end())

    for (const form of forms) {
      test(`have the same rows, in the form ${form.join(' ') || 'without options'}`, async (t) => {
        const file = join(temporaryFolder(t), 'dump.sql')
        const isSmall = form.includes('--where=id<30')
        await empty()
        await dump(form, file)
        assert.ok(statSync(file).size > (isSmall ? 1000 : 50_000))
        await shell(
          `mariadb ${login(stage().proxied.port)} --default-character-set=utf8mb4 restored < ${file}`,
        )
        for (const table of tablesOf(form)) {
          const where = isSmall ? 'WHERE id < 30' : ''
          const [restored, archived] = [
            await rowsOf('restored', table),
            await rowsOf('archive', table, where),
          ]
          assert.deepEqual(
            restored.filter((row, at) => row !== archived[at]),
            [],
          )
          assert.equal(restored.length, archived.length)
        }
      })
    }

    test('get ids for the rows that have none', async (t) => {
      const file = join(temporaryFolder(t), 'dump.sql')
      await empty(
        'CREATE TABLE restored.orders (id BIGINT NOT NULL PRIMARY KEY, note VARCHAR(200), code INT)',
      )
      await guardTables(database(), ['restored.orders.id'])
      await dump(['--no-create-info', '--complete-insert'], file, 'items')
      const withoutIds = `sed -E 's/INSERT INTO .items. \\(.name., .id.\\)/INSERT INTO orders (note, id)/; s/,[0-9]+\\)/,NULL)/g; /LOCK|KEYS/d'`
      await shell(`${withoutIds} ${file} | mariadb ${login(stage().proxied.port)} restored`)
      const [row] = await database().admin(
        'SELECT COUNT(*) AS rows_, MIN(id) AS least, MAX(id) AS largest, COUNT(DISTINCT note) AS notes FROM restored.orders',
      )
      assert.deepEqual({ ...row }, { rows_: '300', least: '5000', largest: '5299', notes: '300' })
    })
  })
}

function tablesOf(form: readonly string[]): Table[] {
  const all = Object.keys(tables) as Table[]
  return all.filter((table) => !form.includes(`--ignore-table=archive.${table}`))
}

function login(port: number): string {
  return `--no-defaults --protocol=tcp --host=127.0.0.1 --port=${port} --user=${superuser} --password=${password}`
}

function shell(command: string): Promise<string> {
  return runProgram(['sh', '-c', command])
}
