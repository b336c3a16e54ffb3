/** Generators with periods under leaders. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatorKey } from '../../../src/catalogue/stored-generator.ts'
import { slotOf } from '../../../src/cluster/slots.ts'
import type { FakeClock } from '../fake-clock.ts'
import { type Member, twoMembers } from './cluster-nodes.ts'
import { draw, tryNext } from './node.ts'

const hourly = { kind: 'sequence', period: 'hour', width: 4, step: 10 } as const

async function handOver(leader: Member, other: Member, clock: FakeClock): Promise<void> {
  await leader.cluster.move(0, other.cluster.nodeId)
  while (other.cluster.here(0) === undefined) await clock.pass(10)
}

/** The numbers of ids. */
const numbersOf = (ids: readonly bigint[]) => ids.map((id) => id % 10_000n)

test('the next leader goes on in the period with the next number, and its fence is on the mark', async () => {
  const { leader, other, clock, store } = await twoMembers('g')
  const g = await leader.catalogue.create('g', hourly)
  assert.deepEqual(numbersOf(await draw(g, 3)), [1n, 2n, 3n])
  const there = await other.catalogue.open('g')
  await assert.rejects(draw(there), { code: 'MOVED' })
  await handOver(leader, other, clock)
  assert.deepEqual(numbersOf(await draw(there)), [4n])
  assert.equal(tryNext(g), undefined)
  assert.equal(store.counters.get(generatorKey('g'))!.fence, other.cluster.here(slotOf('g'))!.fence)
})

test('a leader that is cut off at the end of a period issues none of the next one', async () => {
  const { leader, other, clock } = await twoMembers('g')
  const g = await leader.catalogue.create('g', { ...hourly, issueTimeout: '1s' })
  // The clock of the tests begins at a full hour.
  await clock.pass(3_600_000 - (clock.wall % 3_600_000_000) / 1000 - 100)
  const before = (await draw(g, 2))[0]!
  tryNext(g)
  leader.clusterEngine.always('any', 'unavailable')
  leader.engine.always('any', 'unavailable')
  await clock.pass(200)
  assert.equal(tryNext(g), undefined)
  const refused = assert.rejects(draw(g))
  await clock.pass(10_000)
  await refused
  const [first] = await draw(await other.catalogue.open('g'))
  assert.ok(first! / 10_000n > before / 10_000n)
})
