import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  clockFinding,
  machineFindings,
  nodeFindings,
  offsetFinding,
  storeFindings,
} from '../../../src/cli/doctor.ts'
import type { Figures } from '../../../src/cli/node-figures.ts'
import { loadConfig } from '../../../src/config/load-config.ts'

type Node = Figures['nodes'][number]
type Row = Figures['generators'][number]

const node = (own: Partial<Node>) =>
  ({ node: 'http://a', state: 'ok', reason: null, version: '1.0.0', ...own }) as Node
const generator = (own: Partial<Row>) => ({ name: 'order', leftIds: null, endsSeconds: null, ...own }) as Row
const found = (nodes: readonly Node[], generators: readonly Row[]) =>
  nodeFindings({ nodes, generators } as unknown as Figures)
    .filter(({ level }) => level === 'problem')
    .map(({ what }) => what)
const configOf = (flags: Record<string, string>) => loadConfig({ flags }).config

describe('the doctor', () => {
  test('finds nodes that are away, degraded or of different versions', () => {
    assert.deepEqual(found([node({}), node({ node: 'http://b' })], []), [])
    assert.deepEqual(
      found(
        [
          node({}),
          node({ node: 'http://b', version: '1.1.0' }),
          node({ node: 'http://c', state: 'away', reason: 'no answer', version: null }),
        ],
        [],
      ),
      ['http://c is away: no answer', 'the nodes run different versions: 1.0.0, 1.1.0'],
    )
  })

  test('finds generators that end within a year, or have few ids left', () => {
    const day = 86_400
    const rows = [
      generator({ name: 'late', endsSeconds: 366 * day }),
      generator({ name: 'soon', endsSeconds: 300 * day }),
      generator({ name: 'few', leftIds: 12 }),
      generator({ name: 'many', leftIds: 12_000 }),
    ]
    assert.deepEqual(found([node({})], rows), ["'soon' ends in 300d", "'few' has only 12 ids left"])
  })

  test('finds a clock that is not synchronized, and says where that cannot be seen', async () => {
    const levels = await Promise.all(
      [async () => 'yes\n', async () => 'no\n', async () => Promise.reject(new Error('ENOENT'))].map(
        clockFinding,
      ),
    )
    assert.deepEqual(
      levels.map(({ level }) => level),
      ['ok', 'problem', 'note'],
    )
  })

  test('finds a clock that differs from that of the store, and does not take the time of the question for it', () => {
    const second = 1_000_000
    const level = (store: number) => offsetFinding('db', store * second, 100 * second, 103 * second)
    assert.equal(level(99.5).level, 'ok')
    assert.equal(level(103.9).level, 'ok')
    assert.match(level(90).what, /10s ahead of that of db/)
    assert.match(level(110).what, /7s behind that of db/)
  })

  test('finds a store in memory, and a fixed worker id', async () => {
    assert.match((await storeFindings(configOf({ engine: 'memory:' })))[0]!.what, /keeps nothing/)
    const [clean] = await storeFindings(configOf({ engine: 'sqlite:/nowhere/fahao.db' }))
    assert.equal(clean!.level, 'note')
    const fixed = (await machineFindings(configOf({ 'worker-id': 'static:7' }))).at(-1)
    assert.deepEqual([fixed!.level, fixed!.what], ['note', 'the worker id is fixed: static:7'])
    assert.equal((await machineFindings(configOf({}))).at(-1)!.level, 'ok')
  })
})
