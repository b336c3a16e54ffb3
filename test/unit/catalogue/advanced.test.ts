/** A store forgets a whole generator, and is advanced: what nodes still have open under the name issues nothing of it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Reservation, StoredRecord } from '../../../src/engine/engine.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { type Kind, kinds } from '../../../src/issuing/issuer.ts'
import { type Node, SharedEngine, startNode } from './node.ts'

const gone = { code: 'NOGENERATOR' }

/** Notices an advance at its own next reserve or write, as engines of databases do. */
class IdleEngine extends SharedEngine {
  #accepted = 0

  override get advances(): number {
    return this.#accepted
  }

  override async reserve(...args: Parameters<SharedEngine['reserve']>): Promise<Reservation> {
    return this.#heard(await super.reserve(...args))
  }

  override async write(...args: Parameters<SharedEngine['write']>): Promise<StoredRecord | undefined> {
    return this.#heard(await super.write(...args))
  }

  #heard<Value>(value: Value): Value {
    this.#accepted = super.advances
    return value
  }
}

/** Gives the answers to reads late. */
class LateReads extends SharedEngine {
  gate: Promise<void> = Promise.resolve()

  override async read(key: string): Promise<StoredRecord | undefined> {
    const found = await super.read(key)
    await this.gate
    return found
  }
}

/** Few ids in a millisecond, and reserved for no longer than it must be. */
const slow = {
  kind: 'timestamp',
  horizon: '1s',
  layout: 'time:41,sequence:2;epoch=2025-01-01T00:00:00Z',
} as const

/** A node with an open generator whose buffer is empty. */
async function start(kind: Kind, Reach: typeof MemoryEngine) {
  const store = new MemoryStore()
  const node = await startNode({ store, reach: (reached) => new Reach(reached) })
  const generator = await node.catalogue.create('a', kind === 'timestamp' ? slow : { kind })
  await generator.draw(1)
  return {
    node,
    generator,
    /** An operator's advance on another node: this one notices it at its next write. */
    async forgetAndAdvance() {
      store.records.delete('generators/a')
      store.counters.delete('generators/a')
      await new SharedEngine(store).advance(100n)
    },
  }
}

/** More than is buffered. */
const many = 20_000

describe('a generator that the store has lost', () => {
  const reaches = {
    'a store of its own': MemoryEngine,
    'a shared store': SharedEngine,
    'an idle node': IdleEngine,
  }
  for (const [where, Reach] of Object.entries(reaches))
    for (const kind of kinds) {
      if (kind === 'snowflake' || (kind === 'timestamp' && Reach !== MemoryEngine)) continue

      test(`begins anew in no reserve after an advance: ${kind} in ${where}`, async () => {
        const { node, generator, forgetAndAdvance } = await start(kind, Reach)
        await forgetAndAdvance()
        const sent = node.engine.count('reserve')
        await assert.rejects(generator.draw(many), gone)
        // An idle node notices the advance at this reserve, whose range is a gap.
        assert.equal(node.engine.count('reserve'), Reach === IdleEngine ? sent + 1 : sent)
        await node.stop()
      })

      test(`issues no id of a reserve that was under way in an advance: ${kind} in ${where}`, async () => {
        const { node, generator, forgetAndAdvance } = await start(kind, Reach)
        const held = node.engine.hold('reserve')
        const waiting = assert.rejects(generator.draw(many), gone)
        await held.arrived
        await forgetAndAdvance()
        held.letGo(undefined)
        await waiting
        await node.stop()
      })
    }

  test('issues no id to a caller that opens it while its record is being read', async () => {
    const { node, forgetAndAdvance } = await start('segment', SharedEngine)
    const gate = Promise.withResolvers<void>()
    let reads: LateReads | undefined
    const other = await startNode({ store: node.store, reach: (store) => (reads = new LateReads(store)) })
    reads!.gate = gate.promise
    const waiting = assert.rejects(
      other.catalogue.open('a').then((generator) => generator.draw(1)),
      gone,
    )
    await forgetAndAdvance()
    gate.resolve()
    await waiting
    await Promise.all([node.stop(), other.stop()])
  })

  test('is created anew, and issues then', async () => {
    const { node, generator, forgetAndAdvance } = await start('segment', SharedEngine)
    await forgetAndAdvance()
    await assert.rejects(generator.draw(many), gone)
    const again = await node.catalogue.create('a', { kind: 'segment' })
    assert.equal((await again.draw(1))[0]!.at(0), 1n)
    await node.stop()
  })

  test('is created anew above the incarnation that its counter has from a reserve after the advance', async () => {
    const { node, forgetAndAdvance } = await start('segment', IdleEngine)
    const altered = await node.catalogue.alter('a', { increment: 2 })
    await altered.draw(1)
    await forgetAndAdvance()
    await assert.rejects(altered.draw(many), gone)
    const again = await node.catalogue.create('a', { kind: 'segment' })
    assert.ok((await again.draw(1))[0]!.at(0) > 0n)
    await node.stop()
  })
})

describe('a generator that the store has kept', () => {
  for (const kind of ['sequence', 'segment'] as const) {
    test(`goes on after an advance for callers that wait: ${kind}`, async () => {
      const { node, generator } = await start(kind, MemoryEngine)
      const held = node.engine.hold('reserve')
      const waiting = generator.draw(many)
      await held.arrived
      await new SharedEngine(node.store).advance(100n)
      held.letGo(undefined)
      assert.ok((await waiting)[0]!.at(0) > 100n)
      await node.stop()
    })

    const orders: Record<string, (node: Node) => Promise<unknown>> = {
      'a drop': ({ catalogue }) => catalogue.drop('a'),
      'a drop and a creation': async ({ catalogue }) => {
        await catalogue.drop('a')
        await catalogue.create('a', { kind })
      },
      'a new incarnation': ({ catalogue }) => catalogue.alter('a', { increment: 3 }),
      'a floor': ({ catalogue }) => catalogue.alter('a', { floor: 5000n }),
      ...(kind === 'sequence' && {
        'a move': async ({ catalogue }: Node) => (await catalogue.open('a')).moveTo(5000n),
      }),
    }
    for (const [order, carryOut] of Object.entries(orders))
      test(`is ready for ${order} as the first call of an idle node after an advance: ${kind}`, async () => {
        const { node } = await start(kind, IdleEngine)
        await new SharedEngine(node.store).advance(100n)
        await carryOut(node)
        if (order !== 'a drop') {
          const [run] = await (await node.catalogue.open('a')).draw(1)
          assert.ok(run!.at(0) >= (/floor|move/.test(order) ? 5000n : 100n))
        }
        await node.stop()
      })
  }
})
