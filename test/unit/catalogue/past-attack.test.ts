/** Nodes that draw ids of past moments and of now while replies are lost, nodes crash, operators change the generator, and the store forgets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ErrorCode, hasCode } from '../../../src/base/errors.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { repairsOf } from '../../../src/recovery/repairs.ts'
import { Dice } from '../dice.ts'
import { FakeClock } from '../fake-clock.ts'
import { type Node, SharedEngine, startNode } from './node.ts'

const startMs = Date.UTC(2026, 5, 1)
const layouts = [
  'time:41,node:4,sequence:2;epoch=2026-01-01T00:00:00Z',
  'time:41,past:1=0,node:2,sequence:3;epoch=2026-01-01T00:00:00Z',
  'time:41,sequence:3,node:3;epoch=2025-12-31T00:00:00Z',
]
/** What draws and changes may say without harm. */
const harmless: readonly ErrorCode[] = [
  'UNKNOWN',
  'UNAVAILABLE',
  'EXHAUSTED',
  'ERR',
  'CLOCK',
  'STALE',
  'CONFLICT',
  'NOGENERATOR',
  'EXISTS',
  'DRY',
  'WORKERID',
  'LIMIT',
]

for (let seed = 1; seed <= 60; seed++)
  test(`no id is given twice, seed ${seed}`, async () => {
    const random = new Dice(seed * 7919)
    const dice = (limit: number) => random.below(limit)
    const store = new MemoryStore()
    const clock = new FakeClock(startMs * 1000)
    const reach = (reached: MemoryStore) => new SharedEngine(reached)
    const starting = () => startNode({ store, clock, reach, leadUs: 2_000_000 })
    const nodes: Node[] = [await starting(), await starting(), await starting()]
    const moments = Array.from({ length: 4 }, () => startMs - dice(5000))
    const given: bigint[] = []
    const tried = async (work: () => Promise<unknown>) => {
      try {
        await work()
      } catch (error) {
        if (!harmless.some((code) => hasCode(error, code))) throw error
      }
    }
    const draw = (node: Node) =>
      tried(async () => {
        const generator = await node.catalogue.open('e')
        const nowMs = Math.floor(clock.wallUs() / 1000)
        const at = dice(4) === 0 ? undefined : dice(3) === 0 ? nowMs - dice(3) : moments[dice(4)]
        const runs = await generator.draw(1 + dice(3), at === undefined ? {} : { at })
        given.push(...runs.flatMap((run) => Array.from({ length: run.count }, (_, index) => run.at(index))))
      })
    await nodes[0]!.catalogue.create('e', { kind: 'snowflake', layout: layouts[0]!, past: 2 })
    for (let step = 0; step < 60; step++) {
      const node = nodes[dice(3)]!
      const faults = ['lose-reply', 'lose-request', 'late', 'unavailable'] as const
      if (dice(4) === 0) node.engine.next(dice(2) === 0 ? 'any' : 'reserve', faults[dice(4)]!)
      const chance = dice(24)
      if (chance === 0)
        await tried(() => node.catalogue.alter('e', { layout: layouts[dice(3)]!, past: 1 + dice(4) }))
      else if (chance === 1) await tried(() => node.catalogue.alter('e', { past: dice(5) }))
      else if (chance === 2) {
        await tried(() => node.catalogue.drop('e'))
        await tried(() =>
          node.catalogue.create('e', { kind: 'snowflake', layout: layouts[dice(3)]!, past: 2 }),
        )
      } else if (chance === 3) {
        await node.crash()
        nodes[nodes.indexOf(node)] = await starting()
      } else if (chance === 4) {
        for (const counter of [...store.counters.keys()])
          if (counter.startsWith('moments/') && dice(2) === 0) store.counters.delete(counter)
        await new SharedEngine(store).advance(100n, repairsOf(clock.wallUs(), 100n, 2_000_000))
      } else if (chance < 8) await clock.pass(1 + dice(50))
      // Several at once, on several nodes.
      const drawing = [draw(nodes[dice(3)]!), draw(nodes[dice(3)]!), draw(node)]
      await clock.pass(dice(3))
      for (const each of nodes) await each.engine.deliver()
      await clock.pass(3000)
      await Promise.all(drawing)
    }
    assert.equal(new Set(given).size, given.length)
    assert.ok(given.length > 5, `${given.length} ids`)
  })
