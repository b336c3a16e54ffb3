/** Where the sequence of a snowflake begins, by default and in stores of earlier versions. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { define } from '../../../src/catalogue/definition.ts'
import { parseOptions } from '../../../src/catalogue/generator-options.ts'
import { generatorKey } from '../../../src/catalogue/stored-generator.ts'
import { decode } from '../../../src/ids/id-parts.ts'
import { layouts } from '../../../src/ids/presets.ts'
import { draw, startNode } from './node.ts'

const nowUs = Date.UTC(2026, 10, 28) * 1000

/** A store in which the version before, whose default was `zero`, has created a snowflake. */
async function withOldRecord() {
  const node = await startNode({ generators: { other: { kind: 'sequence' } } })
  const layout = 'time:41,node:10,sequence:12;unit=ms;epoch=2010-11-04T01:42:54.657Z'
  const definition = `{"kind":"snowflake","issueTimeout":2000,"layout":"${layout}","sequenceStart":"zero","borrowMax":10000}`
  const value = `{"state":"live","incarnation":"1","floor":"0","definition":${definition},"offsetGiven":false}`
  assert.ok(await node.engine.write(generatorKey('event'), value, undefined))
  await node.stop()
  return node
}

describe('the start of the sequence', () => {
  test('is random of a new snowflake that may borrow, and zero of everything else', () => {
    const starts = (options: object) => define(parseOptions(options), nowUs).sequenceStart
    assert.equal(starts({ kind: 'snowflake' }), 'random')
    assert.equal(starts({ kind: 'snowflake', layout: 'js53' }), 'random')
    assert.equal(starts({ kind: 'snowflake', borrowMax: 0 }), 'zero')
    assert.equal(starts({ kind: 'timestamp' }), 'zero')
    assert.equal(starts({ kind: 'snowflake', sequenceStart: 'zero' }), 'zero')
    assert.equal(starts({ kind: 'timestamp', sequenceStart: 'random' }), 'random')
    assert.equal(starts({ kind: 'sequence' }), undefined)
  })

  test('stays what is stored: a configuration that does not name it is no other definition', async () => {
    const before = await withOldRecord()
    const node = await startNode({
      store: before.store,
      clock: before.clock,
      generators: { event: { kind: 'snowflake' } },
    })
    const generator = await node.catalogue.create('event', {
      kind: 'snowflake',
      layout: 'twitter',
      borrowMax: '10s',
    })
    assert.deepEqual([generator.definition.sequenceStart, generator.incarnation], ['zero', 1n])
    assert.equal(decode(layouts.twitter, (await draw(generator))[0]!).sequence, 0)
    await assert.rejects(node.catalogue.create('event', { kind: 'snowflake', sequenceStart: 'random' }), {
      code: 'EXISTS',
      message: /sequenceStart is zero, not random; alter it/,
    })
  })

  test('stays when another option changes, and changes in place when it is named', async () => {
    const before = await withOldRecord()
    const node = await startNode({ store: before.store, clock: before.clock })
    const longer = await node.catalogue.alter('event', { borrowMax: '20s' })
    assert.equal(longer.definition.sequenceStart, 'zero')
    const spread = await node.catalogue.alter('event', { sequenceStart: 'random' })
    assert.deepEqual([spread.definition.sequenceStart, spread.incarnation], ['random', 1n])
  })

  test('stays under another kind of the clock, and is new where a counter becomes a snowflake', async () => {
    const node = await startNode({
      generators: { stamp: { kind: 'timestamp' }, user: { kind: 'segment' }, event: { kind: 'snowflake' } },
    })
    const { catalogue } = node
    assert.equal((await catalogue.alter('stamp', { kind: 'snowflake' })).definition.sequenceStart, 'zero')
    assert.equal((await catalogue.alter('event', { kind: 'timestamp' })).definition.sequenceStart, 'random')
    assert.equal((await catalogue.alter('user', { kind: 'snowflake' })).definition.sequenceStart, 'random')
  })

  test('spreads 400 ids, 4 ms apart, over 16 and over 1,024 shards', async () => {
    let seed = 12_345
    const random = () => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
      return seed / 2 ** 32
    }
    const node = await startNode({ generators: { event: { kind: 'snowflake' } }, random })
    const generator = await node.catalogue.open('event')
    const counts = new Array<number>(16).fill(0)
    const wide = new Set<bigint>()
    for (let each = 0; each < 400; each++) {
      const [id] = await draw(generator)
      counts[Number(id! % 16n)]!++
      wide.add(id! % 1024n)
      await node.clock.pass(4)
    }
    // 25 of each are expected, and 331 different ones.
    assert.ok(Math.min(...counts) >= 8 && Math.max(...counts) <= 45, String(counts))
    assert.ok(wide.size > 290, String(wide.size))
  })
})
