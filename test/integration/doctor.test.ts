/** `fahao doctor` by its program, with tables on MariaDB and PostgreSQL. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { owner, password, superuser } from '../launch/database.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { type MariaDb, startMariaDb } from '../launch/mariadb.ts'
import { type Postgres, startPostgres } from '../launch/postgres.ts'
import { asking } from './cli-program.ts'

type Finding = { level: string; what: string; why?: string; todo?: string }
type Context = Parameters<typeof asking>[0]

const scope = new Scope()
let server: FahaoServer

before(async () => {
  server = await startFahao(scope)
})
after(() => scope.end())

/** What it finds, apart from what is well; and its exit code. */
async function doctor(t: Context, ...args: readonly string[]): Promise<{ code: number; found: Finding[] }> {
  const engine = args.includes('--engine') ? [] : ['--engine', server.engine]
  const { code, stdout, stderr } = await asking(t, server)('doctor', ...engine, ...args, '--json')
  assert.notEqual(stdout, '', stderr)
  const { findings } = JSON.parse(stdout) as { findings: Finding[] }
  return { code, found: findings.filter(({ level }) => level !== 'ok') }
}

const about = (found: readonly Finding[], name: string) =>
  found.filter(({ what }) => what.startsWith(name)).map(({ level, what }) => `${level}: ${what}`)

async function create(t: Context, name: string, ...options: string[]): Promise<void> {
  assert.equal((await asking(t, server)('create', name, '--kind', 'segment', ...options)).code, 0)
}

describe('fahao doctor', () => {
  test('exits with 0 where no problem is found, and with 1 where no server answers', async (t) => {
    assert.deepEqual(
      (await doctor(t)).found.filter(({ level }) => level === 'problem'),
      [],
    )
    assert.equal((await doctor(t)).code, 0)
    const away = await doctor(t, '--url', 'http://127.0.0.1:1')
    assert.equal(away.code, 1)
    assert.match(away.found.at(-1)!.what, /the server at http:\/\/127\.0\.0\.1:1 cannot be looked at/)
  })

  test('refuses a database without a table', async (t) => {
    const { code, stderr } = await asking(t, server)('doctor', '--database', 'mysql://a@127.0.0.1')
    assert.equal(code, 2)
    assert.match(stderr, /name a column and its generator/)
  })
})

describe('fahao doctor with tables on MariaDB', () => {
  let db: MariaDb
  const at = () => `mysql://${superuser}:${password}@127.0.0.1:${db.port}`
  before(async () => {
    db = await startMariaDb(scope)
    await db.admin(`
      CREATE DATABASE shop;
      CREATE TABLE shop.orders (id BIGINT NOT NULL PRIMARY KEY, CHECK (id > 0));
      CREATE TABLE shop.small (id INT NOT NULL PRIMARY KEY, CHECK (id > 0));
      CREATE TABLE shop.codes (code VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL, CHECK (code <> ''));
      CREATE TABLE shop.open (id BIGINT NOT NULL PRIMARY KEY)`)
  })

  test('finds ids from the bound on, and none after what it says was done', async (t) => {
    await create(t, 'order')
    await asking(t, server)('next', 'order')
    await db.admin('INSERT INTO shop.orders VALUES (500000)')
    const args = ['--database', at(), '--table', 'shop.orders.id=order']
    const { code, found } = await doctor(t, ...args)
    assert.equal(code, 1)
    const [finding] = found.filter(({ what }) => what.startsWith('shop.orders.id'))
    assert.match(finding!.what, /holds 500000, and 'order' stands at \d+$/)
    assert.equal(finding!.todo, 'fahao alter order --floor 500001')
    assert.equal((await asking(t, server)(...finding!.todo!.split(' ').slice(1))).code, 0)
    assert.deepEqual(await doctor(t, ...args), {
      code: 0,
      found: found.filter(({ level }) => level === 'note'),
    })
  })

  test('says when an INT is full, and that the next id is larger', async (t) => {
    await create(t, 'small', '--start', '2147480000', '--step', '1')
    const args = ['--database', at(), '--table', 'shop.small.id=small']
    assert.match(
      about((await doctor(t, ...args)).found, 'shop.small')[0]!,
      /^note: .* 3,64\d more ids fit, and none/,
    )
    await asking(t, server)('next', 'small', '--count', '100')
    const [full] = about((await doctor(t, ...args)).found, 'shop.small')
    assert.match(
      full!,
      /^problem: .* up to 2,147,483,647: at \d+ ids per second it is full on \d{4}-\d\d-\d\d, in /,
    )
    await asking(t, server)('alter', 'small', '--floor', '2147483648')
    assert.match(
      about((await doctor(t, ...args)).found, 'shop.small')[0]!,
      /^problem: .*the next id .* is larger$/,
    )
  })

  test('finds texts that a collation takes for one, and reads the largest', async (t) => {
    await create(t, 'code', '--format', 'c{id:8:base62}')
    await db.admin("INSERT INTO shop.codes VALUES ('c0000zzzz')")
    const { found } = await doctor(t, '--database', at(), '--table', 'shop.codes.code=code')
    const [above, same] = about(found, 'shop.codes')
    assert.match(above!, /holds c0000zzzz, and 'code' stands at/)
    assert.match(same!, /^problem: .*ignores the case of letters, and texts of 'code'/)
  })

  test('finds a missing guard: a problem where a proxy is configured, and a note elsewhere', async (t) => {
    await create(t, 'open')
    const table = ['--table', 'shop.open.id=open']
    assert.match(
      about((await doctor(t, '--database', at(), ...table)).found, 'shop.open')[0]!,
      /^note: .*no guard/,
    )
    const proxied = await doctor(t, '--upstream', at(), ...table)
    assert.match(about(proxied.found, 'shop.open')[0]!, /^problem: .*no guard/)
    assert.match(proxied.found.at(-1)!.todo!, /^ALTER TABLE/)
  })

  test('finds settings of the store that lose commits, and changes nothing in it', async (t) => {
    const url = await db.newDatabase()
    const safe = await doctor(t, '--engine', url)
    assert.deepEqual(about(safe.found, 'mysql:'), [])
    await db.admin('SET GLOBAL innodb_flush_log_at_trx_commit = 2')
    t.after(() => db.admin('SET GLOBAL innodb_flush_log_at_trx_commit = 1'))
    const { code, found } = await doctor(t, '--engine', url)
    assert.equal(code, 1)
    assert.match(about(found, 'mysql:')[0]!, /problem: .*innodb_flush_log_at_trx_commit is 2: set it to 1/)
    const name = new URL(url).pathname.slice(1)
    const tables = await db.admin(`SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = '${name}'`)
    assert.deepEqual(tables, [])
  })

  test('says what it cannot look at', async (t) => {
    const { found } = await doctor(
      t,
      '--database',
      at(),
      '--table',
      'shop.nothing.id=order',
      '--table',
      'shop.orders.id=absent',
    )
    assert.match(about(found, 'shop.nothing')[0]!, /cannot be looked at: .*no such column/)
    assert.match(about(found, 'shop.orders')[0]!, /cannot be looked at: .*no generator 'absent'/)
    const away = await doctor(t, '--database', 'mysql://a@127.0.0.1:1', '--table', 'shop.orders.id=order')
    assert.match(about(away.found, 'the database')[0]!, /cannot be looked at/)
  })
})

describe('fahao doctor with tables on PostgreSQL', () => {
  let db: Postgres
  let url: string
  before(async () => {
    db = await startPostgres(scope)
    url = await db.newDatabase()
    await db.admin(
      `CREATE COLLATION lax (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
       CREATE TABLE orders (id integer PRIMARY KEY); CREATE TABLE codes (code text COLLATE lax);
       INSERT INTO orders VALUES (900000); GRANT SELECT ON orders, codes TO ${owner}`,
      new URL(url).pathname.slice(1),
    )
  })

  test('finds ids from the bound on, a column that overflows, and texts that are one', async (t) => {
    await create(t, 'pg')
    await create(t, 'pgcode', '--format', 'c{id:8:base62}')
    const tables = ['--table', 'public.orders.id=pg', '--table', 'public.codes.code=pgcode']
    const { code, found } = await doctor(t, '--database', url, ...tables)
    assert.equal(code, 1)
    assert.match(about(found, 'public.orders')[0]!, /problem: .*holds 900000, and 'pg' stands at/)
    assert.match(about(found, 'public.orders')[1]!, /note: .*up to 2,147,483,647/)
    assert.match(about(found, 'public.codes')[0]!, /problem: .*ignores the case/)
  })

  test('finds settings of the store that lose commits', async (t) => {
    assert.deepEqual(about((await doctor(t, '--engine', url)).found, 'postgres:'), [])
    await db.admin(`ALTER ROLE ${owner} SET synchronous_commit = off`)
    t.after(() => db.admin(`ALTER ROLE ${owner} RESET synchronous_commit`))
    const { found } = await doctor(t, '--engine', url)
    assert.match(about(found, 'postgres:')[0]!, /problem: .*synchronous_commit is off/)
  })
})
