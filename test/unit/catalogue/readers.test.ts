import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { define } from '../../../src/catalogue/definition.ts'
import { type GeneratorInput, parseOptions } from '../../../src/catalogue/generator-options.ts'
import { adviceForReaders } from '../../../src/catalogue/readers.ts'
import { encode } from '../../../src/ids/id-parts.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import type { IssuerStats } from '../../../src/issuing/issuer.ts'

const nowUs = Date.UTC(2026, 5, 1) * 1000

function advice(options: GeneratorInput, leased?: number): string {
  const stats = leased === undefined ? undefined : ({ leased } as IssuerStats)
  return adviceForReaders({ definition: define(parseOptions(options), nowUs), stats })
}

describe('what readers of a generator are told', () => {
  test('of strict kinds is to stay behind a mark', () => {
    for (const kind of ['sequence', 'timestamp'] as const)
      assert.match(
        advice({ kind }),
        /^ids are in the order of draws.*draw an id as a mark, wait for the longest time/,
      )
    assert.match(advice({ kind: 'sequence', family: 'on' }), /^each name by itself is in the order of draws/)
  })

  test('of a segment is that no distance is enough, and whether callers have leased ranges', () => {
    assert.match(
      advice({ kind: 'segment' }),
      /ranges of its own, so a smaller id may come.* no distance is enough/,
    )
    assert.match(advice({ kind: 'segment' }, 0), /ranges of its own, so/)
    assert.match(advice({ kind: 'segment' }, 5), /ranges of its own, and callers have leased some, so/)
  })

  test('of shuffled and scrambled ids is that they have no order', () => {
    assert.match(advice({ kind: 'segment', within: 'shuffled' }), /^its ids have no order/)
    assert.match(advice({ kind: 'segment', scramble: 'on' }), /^its ids have no order/)
  })

  for (const layout of [
    'twitter',
    'js53',
    'leaf',
    'fixed:2=1,time:41,node:10,sequence:10;epoch=2025-01-01T00:00:00Z',
    'time:38,node:10,sequence:12;unit=10ms;epoch=2025-01-01T00:00:00Z',
  ])
    test(`of a snowflake with the layout ${layout} has an expression for the least id of a moment`, () => {
      const [, expression = ''] =
        /which are those below (.*)$/.exec(advice({ kind: 'snowflake', layout })) ?? []
      const [, epoch, unit = '1', step, fixed = '0'] =
        /^floor\(\(now_ms - lag_ms - (\d+)\)(?: \/ ([\d.]+))?\) \* (\d+)(?: \+ (\d+))?$/.exec(expression) ??
        []
      const [nowMs, lagMs] = [nowUs / 1000, 31_000]
      const time = Math.floor((nowMs - lagMs - Number(epoch)) / Number(unit))
      const limit = BigInt(time) * BigInt(step!) + BigInt(fixed)
      assert.equal(limit, encode(parseLayout(layout), { time: BigInt(time), node: 0 }))
    })

  test('of a scattered snowflake is that its ids have no order', () => {
    const layout = 'scatter:5,time:41,node:8,sequence:9;epoch=2025-01-01T00:00:00Z'
    assert.match(advice({ kind: 'snowflake', layout }), /^its ids have no order: no distance is enough/)
  })

  test('of a snowflake whose node stands above its time is that no distance is enough', () => {
    const layout = 'node:10,time:41,sequence:12;epoch=2025-01-01T00:00:00Z'
    assert.match(advice({ kind: 'snowflake', layout }), /not in the order of time.* no distance is enough/)
  })
})
