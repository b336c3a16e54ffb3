import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { figuresOf, type Look, metricNames, Scrape } from '../../../src/cli/node-figures.ts'
import { topLines } from '../../../src/cli/verbs/top.ts'

/** What one node says: its generators with their counts, how long they last, and when they end. */
function scrapeOf(
  generators: Readonly<Record<string, { issued: number; lasts?: number | '+Inf'; ends?: number }>>,
  more = '',
): Scrape {
  const lines = Object.entries(generators).flatMap(([name, { issued, lasts = '+Inf', ends }]) => [
    `fahao_generator_info{generator="${name}",kind="segment",mode="node"} 1`,
    `fahao_issued_ids_total{generator="${name}"} ${issued}`,
    `fahao_issued_ids_per_second{generator="${name}"} 7`,
    `fahao_callers_ids_per_second{generator="${name}"} 1`,
    `fahao_in_hand_ids{generator="${name}"} 1000`,
    `fahao_in_hand_seconds{generator="${name}"} ${lasts}`,
    `fahao_waiting{generator="${name}"} 2`,
    ...(ends === undefined ? [] : [`fahao_exhaustion_seconds{generator="${name}"} ${ends}`]),
  ])
  return new Scrape(`# HELP fahao_issued_ids_total Ids issued.\n\n${lines.join('\n')}\n${more}\n`)
}

function lookOf(atUs: number, ...scrapes: readonly (Scrape | undefined)[]): Look {
  const nodes = scrapes.map((scrape, index) =>
    scrape === undefined
      ? { node: `http://n${index}`, state: 'away', reason: 'no server answers', scrape }
      : { node: `http://n${index}`, state: 'ok', reason: null, scrape },
  )
  return { atUs, nodes }
}

describe('the figures of nodes', () => {
  test('have rates from two looks, added up over nodes, busiest generators first', () => {
    const before = lookOf(
      0,
      scrapeOf({ order: { issued: 100 }, user: { issued: 0 } }),
      scrapeOf({ order: { issued: 50 } }),
    )
    const now = lookOf(
      2_000_000,
      scrapeOf({ order: { issued: 120, lasts: 60 }, user: { issued: 200, ends: 500 } }),
      scrapeOf({ order: { issued: 56, lasts: 30, ends: 900 } }),
    )
    const { perSecond, generators, endsFirst } = figuresOf(now, before)
    assert.equal(perSecond, 113)
    assert.deepEqual(
      generators.map(({ name, perSecond, buffered, bufferedSeconds, waiting, endsSeconds }) => ({
        name,
        perSecond,
        buffered,
        bufferedSeconds,
        waiting,
        endsSeconds,
      })),
      [
        {
          name: 'user',
          perSecond: 100,
          buffered: 1000,
          bufferedSeconds: null,
          waiting: 2,
          endsSeconds: 500,
        },
        { name: 'order', perSecond: 13, buffered: 2000, bufferedSeconds: 30, waiting: 4, endsSeconds: 900 },
      ],
    )
    assert.equal(endsFirst, 'user')
  })

  test('of a generator without a series before, or of a node that was restarted, have the smoothed rate', () => {
    const before = lookOf(0, scrapeOf({ order: { issued: 100 } }))
    const now = lookOf(1_000_000, scrapeOf({ order: { issued: 3 }, fresh: { issued: 90 } }))
    const { generators, perSecond } = figuresOf(now, before)
    assert.deepEqual(
      generators.map(({ name, perSecond }) => [name, perSecond]),
      [
        ['order', 7],
        ['fresh', 7],
      ],
    )
    assert.ok(perSecond >= 0)
    assert.equal(figuresOf(now).perSecond, 14)
  })

  test('have errors by code, and none from before the first look', () => {
    const errors = (dry: number) =>
      `fahao_errors_total{protocol="resp",code="DRY"} ${dry}\nfahao_errors_total{protocol="http",code="DRY"} 2`
    const [before, now] = [lookOf(0, scrapeOf({}, errors(5))), lookOf(1_000_000, scrapeOf({}, errors(9)))]
    assert.deepEqual(figuresOf(now, before).errors, { DRY: 4 })
    assert.deepEqual(figuresOf(now).errors, {})
  })

  test('name a node that does not answer, with the reason', () => {
    const figures = figuresOf(lookOf(0, scrapeOf({}), undefined))
    assert.deepEqual(
      figures.nodes.map(({ state }) => state),
      ['ok', 'away'],
    )
    assert.match(topLines(figures).join('\n'), /http:\/\/n1 +away .*no server answers/)
  })

  test('read labels with quotes, backslashes and braces, as names may have them', () => {
    const scrape = new Scrape('fahao_issued_ids_total{generator="a\\"b\\\\c}{d"} 5')
    assert.deepEqual([...scrape.by('issued', 'generator')], [['a"b\\c}{d', 5]])
  })

  test('come from metrics that exist', () => {
    const page = readFileSync(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8')
    for (const name of Object.values(metricNames)) assert.ok(page.includes(`\`${name}\``), name)
  })
})

test('the table says what ends first, how long ids last, and which errors there are', () => {
  const text = (before: number, now: number) =>
    topLines(
      figuresOf(
        lookOf(
          1_000_000,
          scrapeOf(
            { order: { issued: 12_345, ends: 40 * 86_400 } },
            `fahao_in_hand_seconds_min 540\nfahao_errors_total{code="DRY"} ${now}`,
          ),
        ),
        lookOf(0, scrapeOf({ order: { issued: 0 } }, `fahao_errors_total{code="DRY"} ${before}`)),
      ),
    ).join('\n')
  assert.match(text(0, 3), /12,345 ids per second on one node/)
  assert.match(text(0, 3), /would have no ids in 9m/)
  assert.match(text(0, 3), /order ends first, in 40d/)
  assert.match(text(0, 3), /errors per second: DRY 3\.0/)
  assert.match(text(3, 3), /errors per second: none/)
  assert.match(text(3, 3), /order +segment +12,345 +1\.0 +1,000 +2 +40d/)
})
