/** How often the table of an old service is read to show its rows as records. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { RecordChange } from '../../../src/engine/engine.ts'
import type { Ask } from '../../../src/engine/sql/driver.ts'
import { mysqlFlavour } from '../../../src/legacy/flavour.ts'
import { RowRecords } from '../../../src/legacy/row-records.ts'
import { legacySchemas } from '../../../src/legacy/schemas.ts'
import { LegacyTable } from '../../../src/legacy/table.ts'
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
    const table = new LegacyTable(legacySchemas.leaf!, mysqlFlavour, {
      run: (work) => work(ask),
      drain: async () => {},
      end: async () => {},
    })
    records = new RowRecords(table, clock)
    await records.watch('legacy/', (change) => changes.push(change))
  })

  it('is read once, and not again as long as its fingerprint stays the same', async () => {
    assert.deepEqual(asked.splice(0), [fingerprint, page])
    await clock.pass(9000)
    assert.deepEqual(asked.splice(0), [fingerprint, fingerprint, fingerprint])
    assert.equal((await records.list('legacy/', undefined)).length, 1)
    assert.deepEqual(asked.splice(0), [fingerprint])
    assert.deepEqual(changes, [])
  })

  it('is read once more when its fingerprint has changed', async () => {
    asked = []
    step = 60
    await clock.pass(6000)
    assert.deepEqual(asked, [fingerprint, page, fingerprint])
    assert.deepEqual(
      changes.map(({ record }) => JSON.parse(record!.value).step),
      [60],
    )
  })

  it('is polled at most a hundredth of the time', async () => {
    tookMs = 100
    await clock.pass(3200)
    asked = []
    await clock.pass(9800)
    assert.deepEqual(asked, [])
    await clock.pass(200)
    assert.deepEqual(asked, [fingerprint])
  })
})
