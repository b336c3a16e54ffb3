/** Functions that PostgreSQL lacks, as a real client calls them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Client } from 'pg'
import { geneOf } from '../../../src/ids/gene.ts'
import { serve } from './serve.ts'

async function prepared(t: TestContext): Promise<Client> {
  const served = await serve(t)
  const { catalogue } = served.node
  await catalogue.create('order', { kind: 'sequence', gene: 10 })
  await catalogue.create('plain', { kind: 'sequence' })
  await catalogue.create('event', { kind: 'snowflake', past: 2 })
  await catalogue.create('u', { kind: 'snowflake', format: 'uuidv7' })
  return served.client()
}

/** The values of the first column, or the SQLSTATE and the message. */
async function column(client: Client, text: string, values: unknown[] = []): Promise<unknown[]> {
  try {
    const { rows } = await client.query({ text, values, rowMode: 'array' })
    return rows.map(([first]) => first)
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return [code, message]
  }
}

test('fahao_next draws texts with a gene, a key or a past moment', async (t) => {
  const client = await prepared(t)
  assert.deepEqual(await column(client, "SELECT fahao_next('plain')"), ['1'])
  assert.deepEqual(await column(client, "SELECT fahao_next('order', gene => 37)"), [String(1024 + 37)])
  assert.deepEqual(await column(client, "SELECT fahao_next('order', 38) AS id"), [String(2048 + 38)])
  const [byKey] = await column(client, 'SELECT fahao_next($1, by => $2)', ['order', 'user:8812'])
  assert.equal(Number(byKey) % 1024, geneOf('user:8812', 10))
  const [past] = await column(client, "SELECT fahao_next('event', at => $1)", [
    new Date('2019-05-04T12:00:00Z'),
  ])
  const [smallest] = await column(client, "SELECT fahao_encode('event', '2019-05-04T12:00:00Z')")
  const [later] = await column(client, "SELECT fahao_encode('event', '2019-05-04T12:00:00.001Z')")
  assert.deepEqual([past, smallest, later].map(String).toSorted(), [smallest, past, later])
})

test('fahao_next gives a row for each value of a series, and a uuid where it is cast to one', async (t) => {
  const client = await prepared(t)
  assert.deepEqual(await column(client, "SELECT fahao_next('plain') FROM generate_series(1, 3)"), [
    '1',
    '2',
    '3',
  ])
  assert.deepEqual(await column(client, "SELECT fahao_next('plain') FROM generate_series(1, 0)"), [])
  const uuids = await column(client, "SELECT fahao_next('u')::uuid FROM generate_series(1, 100)")
  assert.deepEqual(uuids, uuids.toSorted())
  assert.equal(new Set(uuids).size, 100)
})

test('fahao_bounds gives the ranges of a span of time', async (t) => {
  const client = await prepared(t)
  const { rows } = await client.query(
    "SELECT * FROM fahao_bounds('event', '2019-05-04T00:00:00Z', '2019-05-05T00:00:00Z')",
  )
  const ends = ['2019-05-04T00:00:00Z', '2019-05-05T00:00:00Z'].map((moment) =>
    column(client, 'SELECT fahao_encode($1, $2)', ['event', moment]),
  )
  const [[start], [end]] = (await Promise.all(ends)) as [string[], string[]]
  assert.deepEqual(rows, [{ start, end }])
})

test('what they cannot do is refused with a sentence, and draws nothing', async (t) => {
  const client = await prepared(t)
  const refusals: [sql: string, error: RegExp][] = [
    ["SELECT fahao_next('order')", /needs a gene/],
    ["SELECT fahao_next('plain', gene => 1)", /has no bits for a gene/],
    ["SELECT fahao_next('plain'), 1", /statements of their own/],
    ["SELECT fahao_next('plain') WHERE true", /statements of their own/],
    ["SELECT fahao_next('plain', colour => 1)", /has the arguments name, gene, by, at/],
    ["SELECT fahao_next('order', gene => 1 + 1)", /not a constant or a parameter/],
    ["SELECT fahao_next('none')", /none/],
    ['SELECT fahao_next(NULL)', /constant/],
    ["SELECT fahao_next('plain')::date", /cast to uuid, int8, text only/],
    ["SELECT fahao_encode('plain', '2019-05-04T12:00:00Z')", /do not tell time/],
    ["SELECT fahao_bounds('event', '2019-05-04T00:00:00Z')", /statements of their own/],
    ["SELECT * FROM fahao_bounds('event')", /needs its argument from/],
  ]
  for (const [sql, error] of refusals) assert.match(String(await column(client, sql)), error, sql)
  assert.deepEqual(await column(client, "SELECT fahao_next('plain')"), ['1'])
})

test('a user without the right to a generator gets nothing from them', async (t) => {
  const served = await serve(t)
  await served.node.catalogue.create('event', { kind: 'snowflake' })
  await served.setUser('admin', 'on', '>secret', '~*', '+@all')
  await served.setUser('app', 'on', '>secret', '~other', '+@issue', '+@read')
  const client = await served.client({ user: 'app', password: 'secret' })
  for (const sql of [
    "SELECT fahao_next('event')",
    "SELECT fahao_encode('event', '2019-05-04T12:00:00Z')",
    "SELECT * FROM fahao_bounds('event', '2019-05-04T12:00:00Z')",
  ])
    assert.match(String(await column(client, sql)), /^42501/, sql)
})

test('an argument that is NULL is refused: a row without its moment gets no id of now', async (t) => {
  const client = await prepared(t)
  for (const [sql, values] of [
    ["SELECT fahao_next('event', at => $1)", [null]],
    ["SELECT fahao_next('order', by => $1)", [null]],
    ['SELECT fahao_next($1)', [null]],
    ["SELECT * FROM fahao_bounds('event', '2019-05-04T00:00:00Z', $1)", [null]],
  ] as const)
    assert.match(String(await column(client, sql, [...values])), /^22004.* is NULL/, sql)
})

test('a cast that the texts of a generator do not fit is refused before an id is drawn', async (t) => {
  const client = await prepared(t)
  for (const sql of ["SELECT fahao_next('plain')::uuid", "SELECT fahao_next('u')::int8"])
    assert.match(String(await column(client, sql)), /^42846.*cannot be cast/, sql)
  assert.deepEqual(await column(client, "SELECT fahao_next('plain')::int8"), ['1'])
})
