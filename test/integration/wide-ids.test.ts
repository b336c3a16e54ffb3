/**
 * Ids of 128 bits from 16 processes at once, read back by databases. `FAHAO_WIDE_IDS` is how many each process draws: with
 * 62500 a million of each form.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { startMysql } from '../launch/mysql.ts'
import { startPostgres } from '../launch/postgres.ts'
import { runProgram } from '../launch/program.ts'

const scope = new Scope()
const processes = 16
const count = process.env.FAHAO_WIDE_IDS ?? '200'
const forms = { uuid: 'uuidv7', ulid: 'ulid', document: 'objectid' } as const
const chunk = 5000
/** Of each generator what each process has drawn. */
const drawn: Record<string, string[][]> = { uuid: [], ulid: [], document: [] }

before(async () => {
  const server = await startFahao(scope)
  const admin = await server.connect()
  for (const [name, format] of Object.entries(forms))
    await admin.command('ID.CREATE', name, 'KIND', 'snowflake', 'FORMAT', format)
  const program = new URL('wide-ids-program.ts', import.meta.url).pathname
  const url = `redis://127.0.0.1:${server.resp}`
  const draw = () => runProgram([process.execPath, program, url, count, ...Object.keys(forms)])
  const printed = await Promise.all(Array.from({ length: processes }, draw))
  for (const each of printed)
    for (const [name, texts] of Object.entries<string[]>(JSON.parse(each))) drawn[name]!.push(texts)
  // One more process reads them back: the service.
  for (const [name, [first]] of Object.entries(drawn)) {
    const answer = await fetch(`${server.http}/v1/decode?generator=${name}&id=${first![0]}`)
    assert.equal(answer.status, 200, await answer.text())
  }
})
after(() => scope.end())

/** All of a generator, in the order of their bytes. */
function sorted(name: string): string[] {
  return drawn[name]!.flat().sort()
}

/** Statements that insert all, and their values. */
function inserts(values: readonly string[], rowOf: (text: string) => string): string[] {
  const rows = values.map((text) => `(${rowOf(text)})`)
  return Array.from({ length: Math.ceil(rows.length / chunk) }, (_, at) =>
    rows.slice(at * chunk, (at + 1) * chunk).join(','),
  )
}

describe('ids of 128 bits from 16 processes', () => {
  for (const name of Object.keys(forms))
    test(`none of ${name} is there twice, and those of each process increase`, () => {
      assert.equal(drawn[name]!.length, processes)
      for (const texts of drawn[name]!)
        assert.ok(texts.every((text, at) => at === 0 || text > texts[at - 1]!))
      assert.equal(new Set(drawn[name]!.flat()).size, drawn[name]!.flat().length)
    })

  test('a column uuid of PostgreSQL takes them, and has them in the same order', async () => {
    const db = await startPostgres(scope)
    await db.admin('CREATE TABLE ids (id uuid PRIMARY KEY)')
    for (const values of inserts(drawn.uuid!.flat(), (text) => `'${text}'`))
      await db.admin(`INSERT INTO ids VALUES ${values}`)
    const rows = await db.admin('SELECT id FROM ids ORDER BY id')
    assert.deepEqual(
      rows.map(({ id }) => id),
      sorted('uuid'),
    )
  })

  test('binary(16) and uuid of MariaDB or MySQL take them, and have them in the same order', async () => {
    const db = await startMysql(scope)
    await db.admin('CREATE DATABASE wide')
    const [version] = await db.admin('SELECT VERSION() AS version')
    const isMariaDb = String(version!.version).includes('MariaDB')
    await db.admin(
      `CREATE TABLE ids (id binary(16) PRIMARY KEY, own ${isMariaDb ? 'uuid' : 'char(36)'} UNIQUE)`,
      'wide',
    )
    for (const values of inserts(drawn.uuid!.flat(), (text) =>
      isMariaDb ? `UNHEX(REPLACE('${text}', '-', '')), '${text}'` : `UUID_TO_BIN('${text}'), '${text}'`,
    ))
      await db.admin(`INSERT INTO ids VALUES ${values}`, 'wide')
    for (const column of ['id', 'own']) {
      const rows = await db.admin(`SELECT own FROM ids ORDER BY ${column}`, 'wide')
      assert.deepEqual(
        rows.map(({ own }) => own),
        sorted('uuid'),
        column,
      )
    }
  })
})
