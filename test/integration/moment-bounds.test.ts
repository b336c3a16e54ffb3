/** The SQL of docs/start/ids-of-a-moment.md in PostgreSQL and MariaDB: expressions for the ids of moments, and partitions by them. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { encode, unitsOf } from '../../src/ids/id-parts.ts'
import { bounds, condition } from '../../src/ids/moment-bounds.ts'
import { layouts } from '../../src/ids/presets.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { startPostgres } from '../launch/postgres.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/start/ids-of-a-moment.md'), 'utf8')
const [partitions, ofPostgres, ofMySql] = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql]) => sql!)
const moments = [
  '2010-11-04T01:42:54.657Z',
  '2019-05-04T00:00:00Z',
  '2026-02-28T23:59:59.999Z',
  '2080-01-01T00:00:00.001Z',
]
const idOf = (moment: string) => String(encode(layouts.twitter, { time: unitsOf(layouts.twitter, moment) }))

test('PostgreSQL computes the smallest id of a moment, and reads only the partition of a day', async (t) => {
  const database = await startPostgres(t)
  const value = async (sql: string) => String(Object.values((await database.admin(sql))[0]!)[0])
  for (const moment of moments)
    assert.equal(await value(ofPostgres!.replace('2019-05-04T00:00:00Z', moment)), idOf(moment), moment)
  const within = ofPostgres!.replace('2019-05-04T00:00:00Z', '2019-05-04T00:00:00.0009Z')
  assert.equal(
    await value(within),
    idOf('2019-05-04T00:00:00Z'),
    'a moment counts as the beginning of its unit',
  )
  await database.admin(partitions!)
  const { ranges } = bounds(layouts.twitter, '2019-05-05T00:00:00Z', '2019-05-06T00:00:00Z')
  const plan = await database.admin(`EXPLAIN SELECT * FROM event WHERE ${condition(ranges, 'id')}`)
  const text = JSON.stringify(plan)
  assert.match(text, /event_2019_05_05/)
  assert.doesNotMatch(text, /event_2019_05_04/)
})

test('MariaDB computes the smallest id of a moment', async (t) => {
  const database = await startMariaDb(t)
  for (const moment of moments) {
    const local = moment.replace('T', ' ').replace('Z', '')
    const [row] = await database.admin(ofMySql!.replace('2019-05-04 00:00:00', local))
    assert.equal(String(Object.values(row!)[0]), idOf(moment), moment)
  }
})
