/**
 * The queries with which psql, drivers and ORMs look at catalogues, on PostgreSQL 15 and on Fahao with the same sequences: the
 * same columns, types and rows. `driver-queries/` has the queries as these programs send them (psql 15.18, asyncpg 0.32,
 * SQLAlchemy 2.1, Django 5.2, psycopg 3.3 and psycopg2 2.9, pgjdbc 42.7, Hibernate 6.6, jOOQ 3.19, pgx 5.12, postgres_fdw 15.18), with the values of their parameters.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Client } from 'pg'
import { owner, superuser } from '../launch/database.ts'
import { atEnd, Scope } from '../launch/lifetime.ts'
import { startPostgres } from '../launch/postgres.ts'
import { serve } from '../unit/postgres/serve.ts'

const folder = join(import.meta.dirname, 'driver-queries')
const sequences = ['order_id', 'small', 'Mixed.Case']
const statements = [
  'SET jit = off',
  'CREATE SEQUENCE order_id',
  'CREATE SEQUENCE small AS smallint INCREMENT BY 5',
  'CREATE SEQUENCE "Mixed.Case" START 7',
  "SELECT nextval('order_id')",
]

/** One of the two servers: a connection, and the oids of the sequences there. */
type Side = { readonly client: Client; readonly oids: ReadonlyMap<string, string> }
type Query = { readonly text: string; readonly values: readonly (string | null)[] }

const sides: Side[] = []
const scope = new Scope()
after(() => scope.end())

before(async () => {
  const postgres = await startPostgres(scope)
  const fahao = await serve(scope)
  const real = new Client({ connectionString: postgres.url('postgres', superuser) })
  await real.connect()
  await real.query(`DROP ROLE ${owner}`)
  atEnd(scope, () => real.end())
  sides.push(await prepared(real))
  sides.push(await prepared(await fahao.client({ user: superuser, database: 'postgres' })))
})

async function prepared(client: Client): Promise<Side> {
  for (const text of statements) await client.query(text)
  const oids = new Map<string, string>()
  for (const name of sequences) {
    const { rows } = await client.query<{ oid: number }>(`SELECT '"${name}"'::regclass::oid AS oid`)
    oids.set(name, String(rows[0]!.oid))
  }
  return { client, oids }
}

/** Columns with their types and modifiers, and rows in an order of their own; oids of sequences are written as their names. */
async function answer({ client, oids }: Side, { text, values }: Query): Promise<unknown> {
  const own = text.replace(/\{\{(.+?)\}\}/g, (_, name: string) => oids.get(name)!)
  const types = { getTypeParser: () => (value: unknown) => String(value) }
  const { fields, rows } = await client.query({ text: own, values: [...values], rowMode: 'array', types })
  const names = new Map([...oids].map(([name, oid]) => [oid, name]))
  return {
    columns: fields.map(({ name, dataTypeID, dataTypeModifier }) =>
      [name, dataTypeID, dataTypeModifier].join(' '),
    ),
    rows: rows.map((row: readonly string[]) => row.map((cell) => names.get(cell) ?? cell).join('|')).sort(),
  }
}

function queriesOf(file: string): Query[] {
  const parts = readFileSync(join(folder, file), 'utf8').split(/^---- (.*)\n/m)
  return parts.flatMap((values, index) =>
    index % 2 === 1 ? [{ values: JSON.parse(values) as string[], text: parts[index + 1]! }] : [],
  )
}

async function demandSame(query: Query): Promise<void> {
  const [real, fahao] = sides
  assert.deepEqual(await answer(fahao!, query), await answer(real!, query), query.text)
}

describe('catalogues answer as those of PostgreSQL', () => {
  for (const file of readdirSync(folder)) {
    test(file.replace('.sql', ''), async () => {
      const queries = queriesOf(file)
      assert.ok(queries.length > 0)
      for (const query of queries) await demandSame(query)
    })
  }

  test('every relation has the same columns, and every type the same facts', async () => {
    const schemas = `n.nspname IN ('pg_catalog', 'information_schema')`
    await demandSame({
      text: `SELECT n.nspname, c.relname, c.oid, c.relkind, c.reltype, a.attname, a.attnum, a.atttypid, a.attnotnull
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE ${schemas} AND c.relkind IN ('r', 'v') AND a.attnum > 0`,
      values: [],
    })
    await demandSame({
      text: 'SELECT oid, typname, typlen, typtype, typcategory, typelem, typarray, typbasetype, typrelid, typreceive::oid, format_type(oid, NULL) FROM pg_type',
      values: [],
    })
    await demandSame({
      text: 'SELECT rngtypid, rngsubtype, rngmultitypid, rngcollation, rngsubopc FROM pg_range',
      values: [],
    })
    await demandSame({ text: 'SELECT * FROM information_schema.sequences', values: [] })
    await demandSame({ text: 'SELECT * FROM pg_sequences', values: [] })
    await demandSame({ text: `SELECT * FROM pg_attribute WHERE attrelid = 'order_id'::regclass`, values: [] })
    await demandSame({
      text: `SELECT relname, relkind, relpersistence, relnatts, relreplident, relispopulated, reltype, relam, relhasindex, reltuples, relpages, relacl, reloptions FROM pg_class WHERE relkind = 'S'`,
      values: [],
    })
  })
})
