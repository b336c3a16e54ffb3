import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAuditPage } from '../../../src/audit/audit-reading.ts'
import { recordInStore } from '../../../src/cli/store-audit.ts'
import { startNode } from '../catalogue/node.ts'

test('an import of a hundred thousand rows leaves 31 names in the audit trail, and the number of the others', async () => {
  const { engine } = await startNode()
  await recordInStore(
    engine,
    'import',
    Array.from({ length: 100_000 }, (_, at) => `row-${at}`),
  )
  const { entries } = await readAuditPage(engine, { event: 'import', limit: 1000 })
  const shown = entries.map(({ object, detail }) => detail ?? object).sort()
  assert.equal(shown.length, 32)
  assert.deepEqual([shown[0], shown[1]], ['and 99969 others', 'row-0'])
})
