/** What a survey of all generators finds, whether they are at rest, in families, or have left memory. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Sample } from '../../../src/catalogue/catalogue.ts'
import { Dice } from '../dice.ts'
import { draw, type Node, startNode } from './node.ts'

const restAfterMs = 1000

/** Does all parts of a survey; `between` runs after the first. Returns what was issued, and what was seen. */
async function survey({ catalogue }: Node, between = async () => {}) {
  const samples: Sample[] = []
  const parts = catalogue.survey((sample) => void samples.push(sample))
  let part = parts.next()
  if (!part.done) await between()
  while (!part.done) part = parts.next()
  return { issued: samples.reduce((sum, { stats }) => sum + stats.issued, part.value.issued), samples }
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

  test('shows the figures of each, families for their names, at rest as awake', async () => {
    const node = await startNode({ restAfterMs, idleAfterMs: 600_000 })
    const { catalogue, clock } = node
    await catalogue.create('room:*', { kind: 'sequence', family: true })
    for (const name of ['rests', 'fresh'])
      await catalogue.create(name, { kind: 'segment', step: 20, increment: 10, max: 1000 })
    await draw(await catalogue.open('rests'), 4)
    await draw(await catalogue.open('room:7'), 3)
    const seen = async () => {
      const { samples } = await survey(node)
      const shown = samples.map(({ name, mode, stats, leftIds }) => [name, mode, stats.issued, leftIds])
      return new Map(shown.map((each) => [each[0], each]))
    }
    const awake = await seen()
    assert.deepEqual([...awake.keys()].sort(), ['fresh', 'rests', 'room:*'])
    assert.deepEqual(awake.get('rests'), ['rests', 'node', 4, 96])
    assert.deepEqual(awake.get('fresh'), ['fresh', 'node', 0, 100])
    await clock.pass(3 * restAfterMs)
    assert.ok(catalogue.names.isAtRest(catalogue.names.entryNamed('rests')))
    assert.deepEqual((await seen()).get('rests'), awake.get('rests'))
    assert.equal(catalogue.shown('room:7')?.stats().issued, 3)
    assert.equal(catalogue.shown('room:8'), undefined)
  })

  test('tells that no ids are left when the newest possible one was issued', async () => {
    const node = await startNode()
    const { catalogue } = node
    await catalogue.create('small', { kind: 'segment', start: 5, increment: 10, max: 30 })
    await draw(await catalogue.open('small'), 2)
    const left = async () => (await survey(node)).samples[0]!.leftIds!
    assert.ok((await left()) > 0 && (await left()) <= 1)
    await draw(await catalogue.open('small'), 1)
    assert.equal(await left(), 0)
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
      const found = await survey(node, async () => {
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
