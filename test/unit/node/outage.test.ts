/** What an outage of the engine means to those who take ids: nothing for a while, then errors that say to retry. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import { healthOf } from '../../../src/node/health.ts'
import { draw, type Node, startNode, tryNext } from '../catalogue/node.ts'

/** Lets `seconds` pass while a caller takes an id every 100 ms, and returns the outcomes. */
async function take(node: Node, generator: Generator, seconds: number) {
  const met = { issued: 0, codes: new Set<string>() }
  for (let tenths = 0; tenths < seconds * 10; tenths++) {
    if (tryNext(generator) !== undefined) met.issued++
    else {
      const drawing = draw(generator).then(
        () => void met.issued++,
        (error) => {
          assert.ok(error instanceof FahaoError && error.retryable, String(error))
          met.codes.add(error.code)
        },
      )
      // No caller waits for longer than issueTimeout.
      await Promise.race([drawing, node.clock.pass(2100)])
      await drawing
    }
    await node.clock.pass(100)
  }
  return met
}

const kinds = [
  { kind: 'segment', options: { horizon: '90s', step: 10 }, goesOn: 85 },
  { kind: 'snowflake', options: {}, goesOn: 89 },
] as const

for (const { kind, options, goesOn } of kinds) {
  describe(`a ${kind} with ${kind === 'segment' ? 'a horizon' : 'a lead'} of 90 s`, () => {
    test(`issues for ${goesOn} s without the engine, then returns retryable errors, and recovers by itself`, async () => {
      const node = await startNode({ leadUs: 90_000_000 })
      const generator = await node.catalogue.create('g', { kind, ...options })
      await take(node, generator, 300)
      node.engine.always('any', 'unavailable')
      const away = await take(node, generator, goesOn)
      assert.deepEqual([away.issued, [...away.codes]], [goesOn * 10, []])
      const later = await take(node, generator, 200)
      assert.deepEqual([...later.codes], ['DRY'])
      const down = { ...node.engine, status: () => ({ state: 'down' as const, reason: 'away' }) }
      assert.equal(
        healthOf({ engine: down as never, catalogue: node.catalogue, stopping: false, trouble: undefined })
          .state,
        'down',
      )
      node.engine.heal()
      await take(node, generator, 3)
      const back = await take(node, generator, 60)
      assert.deepEqual([back.issued, [...back.codes]], [600, []])
      await node.stop()
    })
  })
}

for (const [name, fixedId, leadUs] of [
  ['a pooled', undefined, 600_000_000],
  ['a fixed', 7, 120_000_000],
] as const)
  describe(`an idle snowflake of ${name} worker id`, () => {
    test('meets an outage with its whole lead, and its node stays ready meanwhile', async () => {
      const node = await startNode({ leadUs, fixedId })
      const generator = await node.catalogue.create('g', { kind: 'snowflake' })
      await draw(generator)
      await node.clock.pass(3600_000)
      node.engine.always('any', 'unavailable')
      const status = () => ({ state: 'down' as const, reason: 'away' })
      const engine = { ...node.engine, status } as never
      const { catalogue } = node
      for (let tenths = 0; tenths < leadUs / 100_000; tenths += 100) {
        await node.clock.pass(9900)
        assert.notEqual(tryNext(generator), undefined)
        assert.equal(healthOf({ engine, catalogue, stopping: false, trouble: undefined }).state, 'degraded')
        await node.clock.pass(100)
      }
      node.engine.heal()
      await node.clock.pass(10_000)
      await node.stop()
    })
  })
