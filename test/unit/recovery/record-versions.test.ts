import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import {
  clusterPrefix,
  nodeKey,
  pinKey,
  readLeadership,
  readNode,
  readPin,
  shardKey,
} from '../../../src/cluster/records.ts'
import type { Engine, StoredRecord } from '../../../src/engine/engine.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { convertRecords, recordsVersion, versionKey } from '../../../src/recovery/record-versions.ts'

const range = { name: 'order', record: '1', start: '10', end: '20', version: '3' }
const node = { id: 'n1', joinedMs: 1, draining: false, version: '1' }
/** As the version before wrote them. */
const earlier: readonly (readonly [key: string, value: object])[] = [
  [nodeKey('n1'), { ...node, beat: 77 }],
  [shardKey(3), { holder: 'n1', epoch: 5, from: 'n2', tails: [range] }],
  [shardKey(4), { holder: 'n1', epoch: 1, from: '' }],
  ['cluster/wishes/00003', { to: 'n1' }],
]

async function storeOf(records: readonly (readonly [key: string, value: object])[]) {
  const store = new MemoryStore()
  const engine = new MemoryEngine(store)
  for (const [key, value] of records) await engine.write(key, JSON.stringify(value), undefined)
  return { engine, other: new MemoryEngine(store) }
}

/** The record, as the cluster reads it. */
async function inStore<Value>(engine: Engine, key: string, read: (stored: StoredRecord) => { value: Value }) {
  return read((await engine.read(key))!).value
}

async function convert(engine: Engine): Promise<string[]> {
  const said: string[] = []
  await convertRecords(engine, ({ message }) => said.push(message))
  return said
}

describe('records of the version before', () => {
  test('are converted once, also by two nodes at the same moment', async () => {
    const { engine, other } = await storeOf(earlier)
    await Promise.all([convert(engine), convert(other)])
    const texts = (await engine.list(clusterPrefix)).map(({ key, value }) => `${key} ${value}`).join('\n')
    assert.doesNotMatch(texts, /"beat"|tails|wishes/)
    assert.deepEqual(await inStore(engine, nodeKey('n1'), readNode), { ...node, heartbeat: 77 })
    const { leftovers, epoch } = await inStore(engine, shardKey(3), readLeadership)
    assert.deepEqual([leftovers, epoch], [[range], 5])
    assert.deepEqual(await inStore(engine, pinKey(3), readPin), { to: 'n1' })
    assert.equal((await engine.read(versionKey))!.value, String(recordsVersion))
    const before = await engine.list('')
    assert.deepEqual(await convert(engine), [])
    assert.deepEqual(await engine.list(''), before)
  })

  test('are as they were written after the conversion was begun', async () => {
    const { engine } = await storeOf(earlier)
    const list = engine.list.bind(engine)
    engine.list = async (...args) => {
      const found = await list(...args)
      const { version } = (await engine.read(shardKey(3)))!
      await engine.write(shardKey(3), JSON.stringify({ holder: 'n9', epoch: 6, from: 'n1' }), version)
      return found
    }
    assert.match((await convert(engine)).join(), /converted 2 records/)
    assert.equal((await inStore(engine, shardKey(3), readLeadership)).holder, 'n9')
  })

  test('are read as they are in a store that has lost writes', async () => {
    const { engine } = await storeOf(earlier)
    const regressed = () => Promise.reject(new FahaoError('REGRESSED', 'lost'))
    Object.assign(engine, { write: regressed, remove: regressed })
    await convert(engine)
    assert.equal((await inStore(engine, nodeKey('n1'), readNode)).heartbeat, 77)
    assert.deepEqual((await inStore(engine, shardKey(3), readLeadership)).leftovers, [range])
  })
})

describe('the version of the records', () => {
  test('is written in a new store', async () => {
    const { engine } = await storeOf([])
    assert.deepEqual(await convert(engine), [])
    assert.equal((await engine.read(versionKey))!.value, String(recordsVersion))
  })

  test('is refused if it is a later one', async () => {
    const { engine } = await storeOf([])
    await engine.write(versionKey, String(recordsVersion + 1), undefined)
    await assert.rejects(convert(engine), { code: 'ENGINE', message: /newer Fahao.*upgrade this one/ })
  })
})
