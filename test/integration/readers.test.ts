/** The recipes of docs/concepts/readers.md, with rows that commit in another order than that of their ids. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client } from 'pg'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { atEnd, Scope } from '../launch/lifetime.ts'
import { startPostgres } from '../launch/postgres.ts'
import { asking } from './cli-program.ts'

const scope = new Scope()
let server: FahaoServer
let url: string

before(async () => {
  server = await startFahao(scope, { args: ['--auto-create', '*=sequence'] })
  url = await (await startPostgres(scope)).newDatabase()
})
after(() => scope.end())

async function draw(): Promise<bigint> {
  const answer = await fetch(`${server.http}/v1/generators/order/next`, { method: 'POST' })
  return BigInt(((await answer.json()) as { ids: [string] }).ids[0])
}

/** Two writers, of which the first draws first and commits last, and a reader. */
async function scene(table: string) {
  const [slow, quick, reader] = [new Client(url), new Client(url), new Client(url)]
  for (const client of [slow, quick, reader]) {
    await client.connect()
    atEnd(scope, () => client.end())
  }
  await reader.query(
    `CREATE TABLE ${table} (id bigint PRIMARY KEY, tx xid8 NOT NULL DEFAULT pg_current_xact_id())`,
  )
  const insert = async (client: Client) => {
    await client.query(`BEGIN; INSERT INTO ${table} (id) VALUES (${await draw()})`)
  }
  return { slow, quick, reader, insert }
}

describe('a reader that polls', () => {
  test('misses a row by id > last, and none by a mark', async () => {
    const { slow, quick, reader, insert } = await scene('marked')
    const poll = async (last: bigint, mark?: bigint) => {
      const limit = mark === undefined ? '' : `AND id <= ${mark}`
      const { rows } = await reader.query(`SELECT id FROM marked WHERE id > ${last} ${limit} ORDER BY id`)
      return rows.map(({ id }) => BigInt(id))
    }
    await insert(slow)
    await insert(quick)
    await quick.query('COMMIT')
    const naive = await poll(0n)
    const mark = await draw()
    await slow.query('COMMIT')
    assert.equal(naive.length, 1)
    assert.deepEqual(await poll(naive[0]!), [], 'it never sees the row of the slow writer')
    assert.equal((await poll(0n, mark)).length, 2)
  })

  test('misses none by the numbers of transactions', async () => {
    const { slow, quick, reader, insert } = await scene('numbered')
    const seen: bigint[] = []
    let last = { tx: '0', id: '0' }
    const poll = async () => {
      const { rows } = await reader.query(
        `SELECT id, tx::text FROM numbered WHERE (tx, id) > ($1::text::xid8, $2::bigint)
         AND tx < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY tx, id`,
        [last.tx, last.id],
      )
      seen.push(...rows.map(({ id }) => BigInt(id)))
      last = rows.at(-1) ?? last
    }
    await insert(slow)
    await insert(quick)
    await quick.query('COMMIT')
    await poll()
    assert.deepEqual(seen, [])
    await slow.query('COMMIT')
    await poll()
    await insert(quick)
    await quick.query('COMMIT')
    await poll()
    assert.equal(seen.length, 3)
  })

  test('is told by fahao info, ID.INFO and HTTP alike what it has to do', async (t) => {
    await draw()
    const client = await server.connect()
    const reply = (await client.command('ID.INFO', 'order')) as string[]
    const said = reply[reply.indexOf('readers') + 1]!
    assert.match(said, /draw an id as a mark/)
    const answer = (await (await fetch(`${server.http}/v1/generators/order`)).json()) as { readers: string }
    assert.equal(answer.readers, said)
    assert.ok((await asking(t, server)('info', 'order')).stdout.includes(said))
  })
})
