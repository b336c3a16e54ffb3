import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { AuditEntry } from '../../../src/audit/audit-entry.ts'
import { type AuditQuery, readAuditPage } from '../../../src/audit/audit-reading.ts'
import { AuditRing } from '../../../src/audit/audit-ring.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import { openEngine } from '../../../src/engine/open.ts'

function entry(timeUs: number, event: string, object: string, user = 'alice'): AuditEntry {
  const id = `run-${String(timeUs).padStart(3, '0')}`
  return { id, timeUs, node: 'host:1', user, address: '10.0.0.1', door: 'resp', event, object, count: 1 }
}

async function open(t: TestContext, url: string): Promise<Engine> {
  const engine = await openEngine(url, { clock: systemClock, callTimeoutMs: 5000, onEvent: () => {} })
  t.after(() => engine.close())
  return engine
}

function sqliteFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'fahao-audit-'))
  t.after(() => rm(folder, { recursive: true }))
  return `sqlite:${join(folder, 'ids.db')}`
}

const engines = { memory: () => 'memory:', sqlite: sqliteFile }

for (const [name, urlOf] of Object.entries(engines)) {
  describe(`the audit trail on ${name}`, () => {
    test('is read newest first over all its parts, and by user, event, object and time', async (t) => {
      const engine = await open(t, urlOf(t))
      const changes = [
        entry(1, 'create', 'order'),
        entry(3, 'drop', 'order:1'),
        entry(6, 'drop', 'user', 'bob'),
      ]
      await new AuditRing(engine, 'changes', 100).append(changes)
      await new AuditRing(engine, 'logins', 100).append([entry(2, 'login', '')])
      await new AuditRing(engine, 'refusals', 100).append([entry(4, 'denied', 'get'), entry(5, 'lost', '')])
      const read = async (query: Partial<AuditQuery>) => {
        const { entries } = await readAuditPage(engine, { limit: 100, ...query })
        return entries.map(({ timeUs }) => timeUs)
      }
      assert.deepEqual(await read({}), [6, 5, 4, 3, 2, 1])
      assert.deepEqual(await read({ user: 'bob' }), [6])
      assert.deepEqual(await read({ event: 'drop' }), [6, 3])
      assert.deepEqual(await read({ event: 'lost' }), [5])
      assert.deepEqual(await read({ object: 'order*' }), [3, 1])
      assert.deepEqual(await read({ sinceUs: 4, event: 'denied' }), [4])
    })

    test('is read page by page, each entry once, while more come', async (t) => {
      const engine = await open(t, urlOf(t))
      const ring = new AuditRing(engine, 'changes', 1000)
      const expected = Array.from({ length: 150 }, (_, index) =>
        entry(1 + Math.floor(index / 3), 'drop', `${index}`),
      ).map((each, index) => ({ ...each, id: `run-${String(index).padStart(3, '0')}` }))
      await ring.append(expected)
      const objects: string[] = []
      let after: string | undefined
      for (let page = 0; page === 0 || after !== undefined; page++) {
        const { entries, next } = await readAuditPage(engine, { limit: 7, after })
        objects.push(...entries.map(({ object }) => object))
        await ring.append([entry(900 + page, 'drop', 'later')])
        after = next
      }
      assert.deepEqual(objects, expected.map(({ object }) => object).reverse())
    })
  })
}

test('the audit trail of two processes on one SQLite store has the entries of both', async (t) => {
  const url = sqliteFile(t)
  const [one, two] = [await open(t, url), await open(t, url)]
  const rings = [one, two].map((engine) => new AuditRing(engine, 'changes', 1000))
  for (let round = 0; round < 10; round++) {
    await Promise.all(rings.map((ring, at) => ring.append([entry(2 * round + at, 'drop', `${round}`)])))
  }
  const { entries } = await readAuditPage(two, { limit: 1000 })
  assert.equal(entries.length, 20)
})
