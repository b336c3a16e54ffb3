/** What a survey of all generators finds, whether they are at rest, in families, or have left memory. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Survey } from '../../../src/catalogue/catalogue.ts'
import { Dice } from '../dice.ts'
import { draw, type Node, startNode } from './node.ts'

const restAfterMs = 1000

/** Does all parts of a survey; `between` runs after the first. */
async function survey({ catalogue }: Node, most = 10, between = async () => {}): Promise<Survey> {
  const parts = catalogue.survey(most)
  let part = parts.next()
  if (!part.done) await between()
  while (!part.done) part = parts.next()
  return part.value
}

describe('a survey', () => {
  test('counts what was issued by generators awake, at rest and in families, and by those that have left', async () => {
    const node = await startNode({ restAfterMs, idleAfterMs: 600_000 })
    const { catalogue, clock } = node
    await catalogue.create('rests', { kind: 'segment' })
    await catalogue.create('clock', { kind: 'snowflake' })
    await catalogue.create('room:*', { kind: 'sequence', family: true })
    const asked = { rests: 5, clock: 7, 'room:1': 3, 'room:2': 4 }
    for (const [name, count] of Object.entries(asked)) await draw(await catalogue.open(name), count)
    await clock.pass(3 * restAfterMs)
    const { awakeCount } = node.catalogue.names
    assert.ok(catalogue.names.isAtRest(catalogue.names.entryNamed('rests')))
    assert.equal((await survey(node)).issued, 19)
    assert.ok(catalogue.names.isAtRest(catalogue.names.entryNamed('rests')), 'it is not woken')
    assert.equal(catalogue.names.awakeCount, awakeCount)
    await catalogue.drop('clock')
    assert.equal((await survey(node)).issued, 19)
    await draw(await catalogue.open('rests'), 2)
    assert.equal((await survey(node)).issued, 21)
  })

  test('names the busiest, the first first, families for their names', async () => {
    const node = await startNode({ restAfterMs })
    const { catalogue, clock } = node
    await catalogue.create('room:*', { kind: 'sequence', family: true })
    await catalogue.create('event', { kind: 'snowflake' })
    for (const name of ['a', 'b', 'c', 'idle']) await catalogue.create(name, { kind: 'segment' })
    for (let round = 0; round < 5; round++) {
      for (const [name, count] of [
        ['a', 1],
        ['b', 30],
        ['room:7', 20],
        ['event', 10],
        ['c', 5],
      ] as const)
        await draw(await catalogue.open(name), count)
      await clock.pass(restAfterMs)
    }
    assert.deepEqual((await survey(node)).busiest, ['b', 'room:*', 'event', 'c', 'a'])
    assert.deepEqual((await survey(node, 2)).busiest, ['b', 'room:*'])
    assert.equal(catalogue.shown('room:7')?.stats().issued, 100)
    assert.equal(catalogue.shown('room:8'), undefined)
  })

  test('never counts more than was issued, whatever leaves or comes back between its parts', async () => {
    for (let seed = 1; seed <= 5; seed++) {
      const dice = new Dice(seed)
      const node = await startNode({ restAfterMs })
      const { catalogue, clock } = node
      let issued = 0
      const ask = async (name: string) => {
        const count = 1 + dice.below(9)
        await draw(await catalogue.open(name), count)
        issued += count
      }
      const names = Array.from({ length: 1100 }, (_, index) => `g${index}`)
      for (const name of names) await catalogue.createUnopened(name, { kind: 'segment', step: 100 })
      for (const name of names) await ask(name)
      if (dice.below(2) === 0) await clock.pass(3 * restAfterMs)
      const before = issued
      const found = await survey(node, 10, async () => {
        for (let change = 0; change < 30; change++) {
          const name = names[dice.below(names.length)]!
          if (dice.below(2) === 0) await catalogue.alter(name, { step: 100 + change })
          await ask(name)
        }
      })
      assert.ok(found.issued <= issued, `seed ${seed}`)
      assert.ok(found.issued > before - 1100, `seed ${seed}`)
      assert.equal((await survey(node)).issued, issued, `seed ${seed}`)
    }
  })
})
