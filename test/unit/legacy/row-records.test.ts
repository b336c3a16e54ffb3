/** The rows of an old service's table as records: how often the table is read, and which changes are reported. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import type { RecordChange } from '../../../src/engine/engine.ts'
import type { Ask } from '../../../src/engine/sql/driver.ts'
import { mysqlLegacyDialect } from '../../../src/legacy/legacy-dialect.ts'
import { RowRecords } from '../../../src/legacy/row-records.ts'
import { type LegacySchema, legacySchemas } from '../../../src/legacy/schemas.ts'
import { LegacyTable, type TableConnections } from '../../../src/legacy/table.ts'
import { FakeClock } from '../fake-clock.ts'

const fingerprint = 'fingerprint'
const page = 'page of rows'

describe('the table of an old service', () => {
  let clock: FakeClock
  let asked: string[]
  let step: number
  let tookMs: number
  let records: RowRecords
  let changes: RecordChange[]

  beforeEach(async () => {
    clock = new FakeClock()
    asked = []
    step = 50
    tookMs = 0
    changes = []
    const ask: Ask = async ({ text }) => {
      clock.mono += tookMs * 1000
      const isSum = text.startsWith('SELECT COUNT(*)')
      asked.push(isSum ? fingerprint : page)
      return [isSum ? { rows_there: 1, hashes: step } : { name: 'order', stored: 1000, step }]
    }
    const table = new LegacyTable(legacySchemas.leaf!, mysqlLegacyDialect, {
      pool: poolOf(ask),
      clock,
      timeoutMs: 1000,
    })
    records = new RowRecords(table, clock)
    await records.watch('legacy/', (change) => changes.push(change))
  })

  test('is read once, and not again as long as its fingerprint stays the same', async () => {
    assert.deepEqual(asked.splice(0), [fingerprint, page])
    await clock.pass(9000)
    assert.deepEqual(asked.splice(0), [fingerprint, fingerprint, fingerprint])
    assert.equal((await records.list('legacy/', undefined)).length, 1)
    assert.deepEqual(asked.splice(0), [fingerprint])
    assert.deepEqual(changes, [])
  })

  test('is read once more when its fingerprint has changed', async () => {
    asked = []
    step = 60
    await clock.pass(6000)
    assert.deepEqual(asked, [fingerprint, page, fingerprint])
    assert.deepEqual(
      changes.map(({ record }) => JSON.parse(record!.value).step),
      [60],
    )
  })

  test('is polled at most a hundredth of the time', async () => {
    tookMs = 100
    await clock.pass(3200)
    asked = []
    await clock.pass(9800)
    assert.deepEqual(asked, [])
    await clock.pass(200)
    assert.deepEqual(asked, [fingerprint])
  })
})

function poolOf(ask: Ask): TableConnections['pool'] {
  return { sizeMax: 2, run: (work) => work(ask), drain: async () => {}, end: async () => {} }
}

/** The records of a table with these rows: the step of each name. */
async function recordsOf(schema: LegacySchema, rows: ReadonlyMap<string, number>) {
  const clock = new FakeClock()
  const changes: RecordChange[] = []
  const rowOf = (name: string) => ({ name, stored: 1000, step: rows.get(name) })
  const ask: Ask = async ({ text }) => {
    if (text.includes('tiny_id_token')) return text.includes('COUNT(*)') ? [{ rows_there: 0, hashes: 0 }] : []
    const names = [...rows.keys()].sort()
    if (text.includes('COUNT(*)')) {
      const hashes = names.reduce((sum, name) => sum + Number(name) * 1000 + rows.get(name)!, 0)
      return [{ rows_there: rows.size, hashes }]
    }
    if (text.includes('LIMIT')) return names.map(rowOf)
    const isNamed = (name: string) =>
      text.includes(` IN (${name}) `) || text.includes(` x'${Buffer.from(name).toString('hex')}'`)
    return names.filter(isNamed).map(rowOf)
  }
  const table = new LegacyTable(schema, mysqlLegacyDialect, { pool: poolOf(ask), clock, timeoutMs: 1000 })
  const records = new RowRecords(table, clock)
  await records.watch('legacy/', (change) => changes.push(change))
  const told = () =>
    changes.splice(0).map(({ key, record }) => [key, record && JSON.parse(record.value).step])
  return { clock, records, told }
}

for (const schema of Object.values(legacySchemas))
  describe(`a row of ${schema.table} that was read by its name`, () => {
    test('is reported as removed at the next look, if it went before that', async () => {
      const rows = new Map([['1', 10]])
      const { clock, records, told } = await recordsOf(schema, rows)
      rows.set('2', 20)
      assert.ok(await records.read('legacy/2'))
      rows.delete('2')
      await clock.pass(3000)
      assert.deepEqual(told(), [['legacy/2', undefined]])
      await clock.pass(9000)
      assert.deepEqual(told(), [])
    })

    test('is reported as removed also where another row has changed meanwhile', async () => {
      const rows = new Map([['1', 10]])
      const { clock, records, told } = await recordsOf(schema, rows)
      rows.set('2', 20)
      assert.ok(await records.read('legacy/2'))
      rows.delete('2')
      rows.set('1', 30)
      await clock.pass(3000)
      assert.deepEqual(told(), [
        ['legacy/1', 30],
        ['legacy/2', undefined],
      ])
    })

    test('is reported as it is, if it was changed back before the next look', async () => {
      const rows = new Map([['1', 10]])
      const { clock, records, told } = await recordsOf(schema, rows)
      rows.set('1', 40)
      const read = (await records.read('legacy/1'))!
      rows.set('1', 10)
      await clock.pass(3000)
      assert.deepEqual(told(), [['legacy/1', 10]])
      assert.ok((await records.read('legacy/1'))!.version > read.version)
    })

    test('while the table is being read is looked for again at the next look', async () => {
      const rows = new Map([['1', 10]])
      const { clock, records, told } = await recordsOf(schema, rows)
      const listed = records.list('legacy/', undefined)
      rows.set('2', 20)
      assert.ok(await records.read('legacy/2'))
      await listed
      rows.delete('2')
      told()
      await clock.pass(3000)
      assert.deepEqual(told(), [['legacy/2', undefined]])
    })
  })
