import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decode } from '../../../src/ids/id-parts.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { draw, type Node, startNode } from './node.ts'

const text = 'scatter:5,time:41,node:8,sequence:9;unit=ms;epoch=2025-01-01T00:00:00Z'
const layout = parseLayout(text)
const scattered = { kind: 'snowflake', layout: text } as const

async function use({ catalogue }: Node, count = 200): Promise<bigint[]> {
  const generator = await catalogue.open('g')
  const ids: bigint[] = []
  for (let each = 0; each < count; each++) ids.push(...(await draw(generator)))
  return ids
}

describe('a scattered snowflake', () => {
  test('issues ids that decode, into all of its ranges, also as a batch', async () => {
    const node = await startNode({ generators: { g: scattered } })
    const generator = await node.catalogue.open('g')
    const ids = [...(await use(node)), ...(await draw(generator, 1000))]
    assert.equal(new Set(ids).size, 1200)
    for (const id of ids) decode(layout, id)
    assert.equal(new Set(ids.map((id) => id >> 58n)).size, 32)
    assert.equal(generator.lastIssued(), ids.at(-1))
    assert.equal(generator.contiguous, false)
    assert.equal(generator.nextIsSafe(), false)
  })

  test('is described without a bound, and as without order', async () => {
    const node = await startNode({ generators: { g: scattered } })
    await use(node, 1)
    const { bound, notes } = await node.catalogue.info('g')
    assert.equal(bound, undefined)
    assert.ok(notes.includes('ids are scattered by their highest bits: no order'))
    assert.ok(notes.some((note) => note.startsWith('time is reserved until')))
  })

  test('repeats no id of a node before it, nor of one beside it', async () => {
    const first = await startNode({ generators: { g: scattered } })
    const beside = await startNode({ store: first.store, clock: first.clock })
    const ids = [...(await use(first)), ...(await use(beside))]
    const again = await startNode({ store: first.store, clock: first.clock })
    ids.push(...(await use(again)))
    assert.equal(new Set(ids).size, ids.length)
  })

  test('is no timestamp, which keeps strict order', async () => {
    const node = await startNode({ generators: { g: scattered } })
    const why = {
      code: 'ERR',
      message: /a timestamp keeps strict order, which scatter gives up; use kind snowflake/,
    }
    await assert.rejects(node.catalogue.create('t', { kind: 'timestamp', layout: text }), why)
    await assert.rejects(node.catalogue.alter('g', { kind: 'timestamp' }), why)
  })

  test('follows a counter above all of its ids', async () => {
    const node = await startNode({ generators: { g: { kind: 'segment', start: 5_000_000_000 } } })
    const before = await use(node, 50)
    await node.catalogue.alter('g', scattered)
    const after = await use(node)
    const highest = before.at(-1)!
    for (const id of after) assert.ok(BigInt.asUintN(58, id) > highest)
  })

  test('follows none of its own name but one of the same layout, and nothing else follows it', async () => {
    const node = await startNode({ generators: { g: scattered } })
    const ids = await use(node)
    await node.catalogue.drop('g')
    const others = [
      { kind: 'segment' },
      { kind: 'snowflake' },
      { kind: 'timestamp' },
      { ...scattered, layout: text.replace('node:8,sequence:9', 'node:9,sequence:8') },
    ] as const
    for (const other of others)
      await assert.rejects(node.catalogue.create('g', other), { code: 'ERR', message: /use another name/ })
    await node.catalogue.create('g', scattered)
    ids.push(...(await use(node)))
    assert.equal(new Set(ids).size, ids.length)
    const twitter = await startNode({ generators: { g: { kind: 'snowflake' } } })
    await use(twitter, 1)
    await assert.rejects(twitter.catalogue.alter('g', scattered), {
      code: 'ERR',
      message: /use another name/,
    })
  })

  test('takes no write of another kind', async () => {
    const node = await startNode({ generators: { g: scattered } })
    await assert.rejects((await node.catalogue.open('g')).draw(2, { contiguous: true }), {
      code: 'WRONGTYPE',
    })
  })
})
