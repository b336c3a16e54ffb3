/** The PostgreSQL door of a server that users start: psql, what INFO and metrics show, protected mode, stop, restart. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client } from 'pg'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { freePort } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'

const scope = new Scope()
let server: FahaoServer
let port: number

before(async () => {
  port = await freePort()
  server = await startFahao(scope, { args: ['--postgres', `127.0.0.1:${port}`] })
})
after(() => scope.end())

/** What psql prints of some statements, as rows of values with bars between. */
function psql(statements: string, ...options: readonly string[]): Promise<string> {
  return runProgram(
    [
      'psql',
      '--no-psqlrc',
      '--tuples-only',
      '--no-align',
      '--set=ON_ERROR_STOP=1',
      ...options,
      `postgres://app:secret@127.0.0.1:${port}/ids`,
    ],
    { input: statements },
  ).then((text) => text.trim())
}

describe('the PostgreSQL door', () => {
  test('serves psql', async () => {
    assert.equal(await psql('CREATE SEQUENCE order_id START 100;'), 'CREATE SEQUENCE')
    assert.equal(await psql("SELECT nextval('order_id');"), '100')
    assert.equal(await psql("SELECT nextval('order_id') FROM generate_series(1, 3);"), '101\n102\n103')
    assert.equal(
      await psql("BEGIN; SELECT nextval('order_id'); ROLLBACK; SELECT lastval();"),
      'BEGIN\n104\nROLLBACK\n104',
    )
    assert.equal(await psql('SELECT last_value, is_called FROM order_id;'), '104|t')
    await assert.rejects(
      psql("SELECT nextval('missing');"),
      /relation "missing" does not exist\nHINT: {2}This server has sequences and no tables; create one with CREATE SEQUENCE missing\./,
    )
    await assert.rejects(psql('SELECT * FROM;'), /syntax error|not supported/)
  })

  test('gives psql a result in parts', async () => {
    const parts = await psql('SELECT generate_series FROM generate_series(1, 5);', '--set=FETCH_COUNT=2')
    assert.equal(parts, '1\n2\n3\n4\n5')
  })

  test('draws from the same generators as RESP and HTTP', async () => {
    const client = await server.connect()
    assert.equal(await client.command('ID.CREATE', 'shared', 'KIND', 'sequence'), 'OK')
    assert.equal(await client.command('INCR', 'shared'), 1n)
    assert.equal(await psql("SELECT nextval('shared');"), '2')
    const answer = await fetch(`${server.http}/v1/generators/shared/next`, { method: 'POST' })
    assert.deepEqual(await answer.json(), { ids: ['3'] })
  })

  test('is in CLIENT LIST and in the metrics', async () => {
    const client = await server.connect()
    const connected = new Client({ host: '127.0.0.1', port, user: 'app', application_name: 'a b\nc=d' })
    await connected.connect()
    const list = String(await client.command('CLIENT', 'LIST'))
    await connected.end()
    assert.match(list, / name=a_b_c=d .*cmd=NULL user=default /)
    const metrics = await (await fetch(`${server.http}/metrics`)).text()
    assert.match(metrics, /^fahao_connections_total\{protocol="postgres"\} [1-9]\d*$/m)
    assert.match(metrics, /^fahao_requests_total\{protocol="postgres"\} [1-9]\d*$/m)
  })

  test('keeps its ids through a kill', async () => {
    const before = Number(await psql("SELECT nextval('order_id');"))
    await server.kill()
    await server.restart()
    assert.ok(Number(await psql("SELECT nextval('order_id');")) > before)
  })

  test('refuses an address that other machines reach while there are no users', async () => {
    const open = await freePort()
    await assert.rejects(
      startFahao(scope, { args: ['--postgres', `0.0.0.0:${open}`] }),
      /other machines can reach/,
    )
  })
})
