/** How many generators clients may create, and how often they are counted. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { GeneratorLimits } from '../../../src/catalogue/generator-limits.ts'
import type { GeneratorRecords } from '../../../src/catalogue/generator-records.ts'
import { FakeClock } from '../fake-clock.ts'
import { startNode } from './node.ts'

const auto = [{ pattern: 'user:*', kind: 'sequence' as const }]
const counted = { name: 'users', match: 'user:*', generators: 3 }

/** Limits over names that take `tookMs` to count. */
function limitsOver(names: Set<string>, tookMs: number) {
  const clock = new FakeClock()
  const reads = { count: 0 }
  const page = async ({ wanted = () => true }: { wanted?: (name: string) => boolean }) => {
    reads.count++
    await clock.pass(tookMs)
    return { found: [...names].filter(wanted).map((name) => ({ name })), next: undefined }
  }
  const records = { page } as unknown as GeneratorRecords
  const limits = new GeneratorLimits({ all: [counted] }, records, { clock })
  const create = (name: string) =>
    limits.admit(name, () => {
      names.add(name)
      return Promise.resolve()
    })
  const drop = (name: string) => {
    names.delete(name)
    limits.dropped(name)
  }
  return { clock, reads, create, drop }
}

describe('generators-max', () => {
  test('refuses a client to create one more, by name and at its first use, and issues ids of those that are there', async () => {
    const node = await startNode({ autoCreate: auto, generatorsMax: 2 })
    await node.catalogue.create('other', { kind: 'segment' })
    const first = await node.catalogue.open('user:1')
    const refusal = { code: 'LIMIT', message: /2 generators already.*generators-max/ }
    await assert.rejects(node.catalogue.open('user:2'), refusal)
    await assert.rejects(node.catalogue.create('another', { kind: 'segment' }), refusal)
    await assert.rejects(node.catalogue.createUnopened('another', { kind: 'segment' }), refusal)
    assert.equal((await first.draw(1)).length, 1)
    await node.catalogue.create('other', { kind: 'segment' })
    await node.catalogue.drop('other')
    await node.catalogue.open('user:2')
    await node.stop()
  })
})

describe('a namespace with GENERATORS', () => {
  test('is counted once for many creations at the same time, and again after 10 s', async () => {
    const { clock, reads, create } = limitsOver(new Set(), 0)
    const outcomes = await Promise.allSettled(['user:1', 'user:2', 'user:3', 'user:4', 'user:5'].map(create))
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
    )
    assert.equal(reads.count, 1)
    await clock.pass(10_000)
    await assert.rejects(create('user:6'), { code: 'LIMIT' })
    assert.equal(reads.count, 2)
  })

  test('keeps a count that took long for longer, through drops as well', async () => {
    const { clock, reads, create, drop } = limitsOver(new Set(['user:1']), 2000)
    await create('user:2')
    await clock.pass(30_000)
    await create('user:3')
    await assert.rejects(create('user:4'), { code: 'LIMIT' })
    drop('user:1')
    await create('user:4')
    await assert.rejects(create('user:5'), { code: 'LIMIT' })
    assert.equal(reads.count, 1)
    await clock.pass(10_000)
    await assert.rejects(create('user:5'), { code: 'LIMIT' })
    assert.equal(reads.count, 2)
  })

  test('that is over its limit is counted again after a drop', async () => {
    const names = new Set(['user:1', 'user:2', 'user:3', 'user:4'])
    const { reads, create, drop } = limitsOver(names, 2000)
    await assert.rejects(create('user:5'), { code: 'LIMIT' })
    drop('user:1')
    await assert.rejects(create('user:5'), { code: 'LIMIT' })
    assert.equal(reads.count, 2)
  })
})
