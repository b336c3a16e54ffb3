import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decode, FahaoError, layouts, parseLayout, snowflake } from '../../../src/ids.ts'

const refused = (code: string) => (error: unknown) => error instanceof FahaoError && error.code === code

describe('snowflakes without an engine', () => {
  test('carry the time, the worker id and a sequence, and increase', () => {
    const ids = snowflake({ layout: layouts.twitter, workerId: 7 })
    const before = BigInt(Date.now())
    let last = 0n
    for (let each = 0; each < 20_000; each++) {
      const id = each % 2 === 0 ? ids.next() : BigInt(ids.nextText())
      assert.ok(id > last)
      last = id
    }
    const { node, unixUs } = decode(layouts.twitter, last)
    assert.equal(node, 7)
    assert.ok(unixUs / 1000n >= before && unixUs / 1000n <= BigInt(Date.now()) + 10_000n)
  })

  test('take a layout as text, and start the sequence at random unless told otherwise, or unable to borrow', () => {
    const text = 'time:41,node:10,sequence:12;epoch=2025-01-01T00:00:00Z'
    const layout = parseLayout(text)
    const starts = new Set<number | undefined>()
    for (let each = 0; each < 20; each++) {
      starts.add(decode(layout, snowflake({ layout: text, workerId: 1 }).next()).sequence)
    }
    assert.ok(starts.size > 10)
    for (const options of [{ sequenceStart: 'zero' }, { borrowMaxMs: 0 }] as const)
      assert.equal(decode(layout, snowflake({ layout: text, workerId: 1, ...options }).next()).sequence, 0)
  })

  test('have scatter bits where the layout does', () => {
    const layout = parseLayout('scatter:5,time:41,node:8,sequence:9;epoch=2025-01-01T00:00:00Z')
    const ids = snowflake({ layout, workerId: 7 })
    const all = Array.from({ length: 1000 }, (_, index) =>
      index % 2 === 0 ? ids.next() : BigInt(ids.nextText()),
    )
    for (const id of all) assert.equal(decode(layout, id).node, 7)
    assert.equal(new Set(all).size, 1000)
    assert.equal(new Set(all.map((id) => id >> 58n)).size, 32)
  })

  test('throw CLOCK when a burst has borrowed its maximum, and EXHAUSTED at the end of the time field', () => {
    const narrow = snowflake({
      layout: 'time:41,node:10;epoch=2025-01-01T00:00:00Z',
      workerId: 1,
      borrowMaxMs: 50,
    })
    assert.throws(() => {
      for (let each = 0; each < 1_000_000; each++) narrow.next()
    }, refused('CLOCK'))
    const left = Math.floor((Date.now() - Date.UTC(2026, 0, 1)) / 3_600_000) + 1
    const bits = left.toString(2).length
    const epoch = new Date(Date.now() - (2 ** bits - 0.5) * 3_600_000).toISOString()
    const ending = snowflake({
      layout: `time:${bits},node:4,sequence:2;unit=1h;epoch=${epoch}`,
      workerId: 1,
      sequenceStart: 'zero',
    })
    for (let each = 0; each < 4; each++) ending.next()
    assert.throws(() => ending.nextText(), refused('EXHAUSTED'))
  })

  test('refuse options that do not fit', () => {
    for (const workerId of [-1, 1024, 1.5, Number.NaN]) {
      assert.throws(() => snowflake({ layout: 'twitter', workerId }), refused('ERR'))
    }
    for (const borrowMaxMs of [-1, Number.NaN]) {
      assert.throws(() => snowflake({ layout: 'twitter', workerId: 1, borrowMaxMs }), refused('ERR'))
    }
    assert.throws(
      () => snowflake({ layout: 'sequence:12,time:41;epoch=2025-01-01T00:00:00Z', workerId: 0 }),
      refused('ERR'),
    )
    const withGene = 'time:41,node:6,sequence:6,gene:10;epoch=2025-01-01T00:00:00Z'
    assert.throws(() => snowflake({ layout: withGene, workerId: 0 }), {
      code: 'ERR',
      message: /has a gene, which callers give with each draw: draw from a generator/,
    })
  })
})
