/** A store forgets a whole generator, and is advanced: what nodes still have open under the name issues nothing of it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hasCode } from '../../../src/base/errors.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { type Kind, kinds } from '../../../src/issuing/issuer.ts'
import { SharedEngine, startNode } from './node.ts'

const gone = (error: unknown) => hasCode(error, 'NOGENERATOR')

/** Few ids in a millisecond, and reserved for no longer than it must be. */
const slow = {
  kind: 'timestamp',
  horizon: '1s',
  layout: 'time:41,sequence:2;epoch=2025-01-01T00:00:00Z',
} as const

/** A node that has a generator open, of which nothing is in hand. */
async function start(kind: Kind, isShared: boolean) {
  const store = new MemoryStore()
  const node = await startNode({
    store,
    reach: (reached) => (isShared ? new SharedEngine(reached) : new MemoryEngine(reached)),
  })
  const generator = await node.catalogue.create('a', kind === 'timestamp' ? slow : { kind })
  await generator.draw(1)
  return {
    node,
    generator,
    /** What an operator does on another node: this one hears of it with its next write. */
    async forgetAndAdvance() {
      store.records.delete('generators/a')
      store.counters.delete('generators/a')
      await new SharedEngine(store).advance(100n)
    },
  }
}

/** More than is in hand. */
const many = 20_000

describe('a generator that was forgotten whole', () => {
  for (const kind of kinds.filter((each) => each !== 'snowflake'))
    for (const isShared of [false, true]) {
      const where = isShared ? 'a shared store' : 'a store of its own'
      if (kind === 'timestamp' && isShared) continue

      it(`begins anew in no reserve after an advance: ${kind} in ${where}`, async () => {
        const { node, generator, forgetAndAdvance } = await start(kind, isShared)
        await forgetAndAdvance()
        const sent = node.engine.count('reserve')
        await assert.rejects(generator.draw(many), gone)
        assert.equal(node.engine.count('reserve'), sent)
        await node.stop()
      })

      it(`issues nothing of a reserve that was under way in an advance: ${kind} in ${where}`, async () => {
        const { node, generator, forgetAndAdvance } = await start(kind, isShared)
        const held = node.engine.hold('reserve')
        const waiting = assert.rejects(generator.draw(many), gone)
        await held.arrived
        await forgetAndAdvance()
        held.letGo(undefined)
        await waiting
        await node.stop()
      })
    }

  it('is created anew, and issues then', async () => {
    const { node, generator, forgetAndAdvance } = await start('segment', true)
    await forgetAndAdvance()
    await assert.rejects(generator.draw(many), gone)
    const again = await node.catalogue.create('a', { kind: 'segment' })
    assert.equal((await again.draw(1))[0]!.at(0), 1n)
    await node.stop()
  })
})

describe('a generator that was not forgotten', () => {
  for (const kind of ['sequence', 'segment'] as const)
    it(`goes on after an advance for callers that wait: ${kind}`, async () => {
      const { node, generator } = await start(kind, false)
      const held = node.engine.hold('reserve')
      const waiting = generator.draw(many)
      await held.arrived
      await new SharedEngine(node.store).advance(100n)
      held.letGo(undefined)
      assert.ok((await waiting)[0]!.at(0) > 100n)
      await node.stop()
    })
})
