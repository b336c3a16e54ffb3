/** Rows that an import takes out of service together: each has its own outcome, and an unknown one is that of all. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { type Ask, DriverError, type Failure, type Row } from '../../../src/engine/sql/driver.ts'
import { TakingOut } from '../../../src/legacy/import/taking-out.ts'
import { mysqlLegacyDialect } from '../../../src/legacy/legacy-dialect.ts'
import { legacySchemas } from '../../../src/legacy/schemas.ts'
import { LegacyTable } from '../../../src/legacy/table.ts'
import { FakeClock } from '../fake-clock.ts'

const bound = 1000n

describe('rows that are taken out of service together', () => {
  let inService: Set<string>
  let asked: string[]
  /** What befalls a statement. */
  let failureOf: (text: string) => Failure['kind'] | undefined
  let records: Row[]
  let takingOut: TakingOut

  beforeEach(() => {
    inService = new Set(['a', 'b', 'c', 'd'])
    asked = []
    failureOf = () => undefined
    records = []
    const ask: Ask = async ({ text, writes }) => {
      asked.push(text)
      const kind = failureOf(text)
      if (kind !== undefined) {
        const code = kind === 'lost' && writes ? 'UNKNOWN' : 'UNAVAILABLE'
        throw new DriverError(code, { kind, message: 'made to fail' })
      }
      if (text.includes('SELECT revision')) return [{ revision: 10 }]
      if (text.includes('FROM fahao_records')) return records
      if (!text.startsWith('SELECT')) return []
      return [...inService]
        .filter((name) => names(text, name))
        .map((name) => ({ name, stored: 1000, step: 1 }))
    }
    const pool = {
      sizeMax: 2,
      run: <Value>(work: (ask: Ask) => Promise<Value>) => work(ask),
      drain: async () => {},
      end: async () => {},
    }
    const table = new LegacyTable(legacySchemas.leaf!, mysqlLegacyDialect, {
      pool,
      clock: new FakeClock(),
      timeoutMs: 1000,
    })
    takingOut = new TakingOut(table)
  })

  const names = (text: string, name: string) => text.includes(`x'${Buffer.from(name).toString('hex')}'`)
  const renamed = () => asked.filter((text) => text.startsWith('UPDATE leaf_alloc'))
  const record = (name: string) => async (at: bigint) => {
    assert.equal(at, bound)
    return { key: `generators/${name}`, value: `value of ${name}`, expected: undefined }
  }
  const move = async (...wanted: string[]) => {
    const outcomes = await Promise.allSettled(wanted.map((name) => takingOut.moveOut(name, record(name))))
    return outcomes.map((each) => (each.status === 'fulfilled' ? 'moved' : each.reason.code))
  }

  test('share one transaction', async () => {
    assert.deepEqual(await move('a', 'b', 'c'), ['moved', 'moved', 'moved'])
    assert.equal(asked.filter((text) => text === 'COMMIT').length, 1)
    assert.equal(renamed().length, 1)
    const [written] = asked.filter((text) => text.startsWith('INSERT'))
    assert.match(written!, /, 8\), \(.*, 9\), \(.*, 10\)$/)
  })

  test('stay as they are where there is no record to write, one by one', async () => {
    inService.delete('b')
    records = [{ name: 'generators/c', value: 'of another process', version: 5 }]
    const outcomes = await Promise.allSettled([
      takingOut.moveOut('a', record('a')),
      takingOut.moveOut('b', record('b')),
      takingOut.moveOut('c', record('c')),
      takingOut.moveOut('d', async () => {
        throw new FahaoError('EXISTS', 'there is one')
      }),
    ])
    assert.deepEqual(
      outcomes.map((each) => (each.status === 'fulfilled' ? 'moved' : each.reason.code)),
      ['moved', 'NOGENERATOR', 'CONFLICT', 'EXISTS'],
    )
    assert.equal(renamed().length, 1)
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].filter((name) => names(renamed()[0]!, name)),
      ['a'],
    )
  })

  test('go alone where the database refuses one of them', async () => {
    failureOf = (text) => (text.startsWith('UPDATE leaf_alloc') && names(text, 'b') ? 'refused' : undefined)
    assert.deepEqual(await move('a', 'b', 'c'), ['moved', 'UNAVAILABLE', 'moved'])
    assert.equal(asked.filter((text) => text === 'COMMIT').length, 2)
  })

  test('are all unknown where the commit has no answer, and are not sent again', async () => {
    failureOf = (text) => (text === 'COMMIT' ? 'lost' : undefined)
    assert.deepEqual(await move('a', 'b', 'c'), ['UNKNOWN', 'UNKNOWN', 'UNKNOWN'])
    assert.equal(renamed().length, 1)
  })

  test('are renamed only where they stand as planned', async () => {
    await Promise.all([takingOut.takeOut('a', 7n), takingOut.takeOut('b', 8n)])
    assert.equal(asked.length, 1)
    assert.match(asked[0]!, /AND \(.*, max_id\) IN \(\(x'61', 7\), \(x'62', 8\)\)$/)
  })
})
