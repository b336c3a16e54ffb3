import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type AuditEntry, entryBytesMax, entryOf } from '../../../src/audit/audit-entry.ts'
import { AuditRing, entriesPerRecord, readEntries, recordsOf } from '../../../src/audit/audit-ring.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { listAll } from '../../../src/engine/pages.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'

const max = 4 * entriesPerRecord
let serial = 0

function entry(object: string): AuditEntry {
  const said = { event: 'drop', user: 'alice', address: '10.0.0.1', door: 'resp', object }
  return entryOf(said, { id: `run-${++serial}`, timeUs: serial, node: 'host:1', count: 1 })
}

function entries(count: number): AuditEntry[] {
  return Array.from({ length: count }, (_, index) => entry(`generator${index}`))
}

async function idsIn(engine: Pick<MemoryEngine, 'list'>): Promise<string[]> {
  const stored = await readEntries(engine, ['changes'])
  return stored.sort((a, b) => a.timeUs - b.timeUs).map(({ id }) => id)
}

function idsOf(all: readonly AuditEntry[]): string[] {
  return all.map(({ id }) => id)
}

describe('the ring of the audit trail', () => {
  test('keeps every entry until its bound is reached, and then the newest, in a fixed set of keys', async () => {
    const engine = new MemoryEngine(new MemoryStore())
    const ring = new AuditRing(engine, 'changes', max)
    const all: AuditEntry[] = []
    for (let batch = 0; batch < 60; batch++) {
      const added = entries(1 + (batch % 11))
      all.push(...added)
      await ring.append(added)
      const stored = await idsIn(engine)
      assert.deepEqual(stored, idsOf(all).slice(-stored.length))
      assert.ok(stored.length >= Math.min(all.length, max - entriesPerRecord))
    }
    assert.equal((await listAll(engine, 'audit/')).length, recordsOf(max))
  })

  test('takes a batch that is larger than a record', async () => {
    const engine = new MemoryEngine(new MemoryStore())
    const added = entries(3 * entriesPerRecord)
    await new AuditRing(engine, 'changes', max).append(added)
    assert.deepEqual(await idsIn(engine), idsOf(added))
  })

  test('keeps the entries of several nodes that write at the same time', async () => {
    const store = new MemoryStore()
    const all: AuditEntry[] = []
    const nodes = Array.from({ length: 5 }, () => new AuditRing(new MemoryEngine(store), 'changes', 1000))
    for (let round = 0; round < 12; round++) {
      const batches = nodes.map((_, index) => entries(1 + ((index * 7 + round) % 14)))
      all.push(...batches.flat())
      await Promise.all(nodes.map((node, index) => node.append(batches[index]!)))
    }
    assert.deepEqual(await idsIn(new MemoryEngine(store)), idsOf(all))
  })

  test('is followed by a node that wrote nothing while others filled it more than once', async () => {
    const store = new MemoryStore()
    const [silent, busy] = [0, 1].map(() => new AuditRing(new MemoryEngine(store), 'changes', max))
    await silent!.append(entries(1))
    for (let batch = 0; batch < 20; batch++) await busy!.append(entries(entriesPerRecord))
    const last = entries(2)
    await silent!.append(last)
    assert.deepEqual((await idsIn(new MemoryEngine(store))).slice(-2), idsOf(last))
  })

  test('stores an entry once, whether the reply of its write was lost or the write comes late', {
    timeout: 10_000,
  }, async () => {
    for (const fault of ['lose-reply', 'lose-request', 'late', 'unavailable'] as const) {
      for (const before of [0, 5, entriesPerRecord - 2, entriesPerRecord]) {
        const engine = new FaultyEngine(new MemoryEngine(new MemoryStore()))
        const ring = new AuditRing(engine, 'changes', max)
        const [first, second] = [entries(before), entries(5)]
        await ring.append(first)
        engine.next('write', fault)
        await assert.rejects(ring.append(second))
        const held = engine.hold('write')
        const again = ring.append(second)
        // The late write arrives between the read of the records and the next write.
        if (fault !== 'lose-reply' || before === entriesPerRecord - 2) {
          await held.arrived
          await engine.deliver()
          held.letGo()
        }
        await again
        assert.deepEqual(await idsIn(engine), idsOf([...first, ...second]), `${fault} after ${before}`)
      }
    }
  })

  test('gives up when other nodes are always faster', async () => {
    class Overtaken extends MemoryEngine {
      override write() {
        return Promise.resolve(undefined)
      }
    }
    const ring = new AuditRing(new Overtaken(new MemoryStore()), 'changes', max)
    await assert.rejects(ring.append(entries(1)), { code: 'CONFLICT' })
  })

  test('goes on in a store that went back to an earlier state', async () => {
    const store = new MemoryStore()
    const engine = new MemoryEngine(store)
    const ring = new AuditRing(engine, 'changes', max)
    const kept = entries(3)
    await ring.append(kept)
    const copy = new Map(store.records)
    await ring.append(entries(2 * entriesPerRecord))
    store.records.clear()
    for (const [key, record] of copy) store.records.set(key, record)
    const later = entries(2)
    await ring.append(later)
    assert.deepEqual(await idsIn(engine), idsOf([...kept, ...later]))
    const records = await listAll(engine, 'audit/')
    assert.deepEqual(
      records.map(({ value }) => JSON.parse(value).serial),
      [1],
    )
  })

  test('overwrites a record that cannot be read, in its turn', async () => {
    const engine = new MemoryEngine(new MemoryStore())
    await engine.write('audit/changes/00001', '{', undefined)
    const added = entries(2 * entriesPerRecord)
    await new AuditRing(engine, 'changes', max).append(added)
    assert.deepEqual(await idsIn(engine), idsOf(added))
  })

  test('removes the records of a larger bound, except the newest', async () => {
    const engine = new MemoryEngine(new MemoryStore())
    await new AuditRing(engine, 'changes', max).append(entries(4 * entriesPerRecord))
    await new AuditRing(engine, 'changes', 1).append(entries(1))
    assert.ok((await listAll(engine, 'audit/')).length <= 3)
  })

  test('is written by a command without a bound of its own, which removes nothing but the oldest record', async () => {
    const engine = new MemoryEngine(new MemoryStore())
    const [kept, added] = [entries(max), entries(entriesPerRecord + 1)]
    await new AuditRing(engine, 'changes', max).append(kept)
    await new AuditRing(engine, 'changes', undefined).append(added)
    const left = kept.slice(2 * entriesPerRecord)
    assert.deepEqual(await idsIn(engine), idsOf([...left, ...added]))
  })

  test('has values below the bound of engines, whatever texts the entries have', async () => {
    const texts = ['x', '"', '\\', '\u0000', '\u202e', '\ud800', '发', '😀', '\u2028\n'].map((part) =>
      part.repeat(300),
    )
    for (const text of texts) {
      const said = { event: text, user: text, address: text, door: text, object: text, detail: text }
      const hostile = entryOf(said, { id: text, timeUs: Number.MAX_SAFE_INTEGER, node: text, count: 1e15 })
      assert.ok(Buffer.byteLength(JSON.stringify(hostile)) <= entryBytesMax)
      assert.doesNotMatch(JSON.stringify(hostile), /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
    }
    assert.ok(entriesPerRecord * entryBytesMax < 32_768 - 64)
  })
})
