import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { settled } from '../fake-clock.ts'
import { Nodes } from './nodes.ts'

/** Two nodes, of which `leader` leads the only shard. */
async function two() {
  const nodes = new Nodes(1)
  const each = [await nodes.start('a:1'), await nodes.start('b:1')]
  await nodes.clock.pass(10_000)
  const leader = each.find((node) => node.cluster.here(0) !== undefined)!
  return { clock: nodes.clock, leader, other: each.find((node) => node !== leader)! }
}

describe('a node that cannot reach the leader', () => {
  test('waits until another node leads', async () => {
    const { clock, leader, other } = await two()
    leader.engine.always('any', 'unavailable')
    const { nodeId } = leader.cluster
    let found: string | undefined
    void other.cluster.leadWithin(0, 10_000, true, nodeId).then(({ state }) => {
      found = state
    })
    await clock.pass(1000)
    assert.equal(found, undefined)
    await clock.pass(5000)
    assert.equal(found, 'here')
  })

  test('is told of the same leader when the time is up, and of any other at once', async () => {
    const { clock, leader, other } = await two()
    const late = other.cluster.leadWithin(0, 2000, true, leader.cluster.nodeId)
    await clock.pass(2000)
    assert.equal((await late).state, 'elsewhere')
    const known = other.cluster.leadWithin(0, 2000, true, 'a node of before')
    await settled()
    assert.equal((await known).state, 'elsewhere')
  })

  test('is told when it is declared dead, by whichever node', async () => {
    const { clock, leader, other } = await two()
    const dead: string[] = []
    other.cluster.listen({ onDead: ({ id, resp }) => dead.push(`${id} ${resp}`) })
    const expected = `${leader.cluster.nodeId} ${leader.cluster.status().nodes.find(({ isSelf }) => isSelf)!.resp}`
    leader.engine.always('any', 'unavailable')
    await clock.pass(3000)
    assert.deepEqual(dead, [])
    await clock.pass(2000)
    assert.deepEqual([...new Set(dead)], [expected])
  })
})
