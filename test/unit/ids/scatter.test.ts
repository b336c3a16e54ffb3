import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encode } from '../../../src/ids/id-parts.ts'
import { formatLayout, parseLayout } from '../../../src/ids/layout-text.ts'
import { Run } from '../../../src/ids/run.ts'
import { isScattered, scatter, scatterOf } from '../../../src/ids/scatter.ts'

const layout = parseLayout('scatter:5,time:41,node:8,sequence:9;epoch=2025-01-01T00:00:00Z')

/** The formula of the reference, in bigint. */
function stated(rest: bigint, bits: number): bigint {
  const product = (a: bigint, b: bigint) => BigInt.asUintN(32, a * b)
  let x = (rest & 0xffff_ffffn) ^ product(rest >> 32n, 0x9e37_79b1n)
  x = product(x ^ (x >> 16n), 0x85eb_ca6bn)
  x = product(x ^ (x >> 13n), 0xc2b2_ae35n)
  return (x ^ (x >> 16n)) >> BigInt(32 - bits)
}

/** How many of the ids have each scatter. */
function counted(ids: readonly bigint[]): number[] {
  const counts = new Array<number>(32).fill(0)
  for (const id of ids) counts[Number(id >> 58n)]!++
  return counts
}

test('the scatter of an id is what the reference states, for ever', () => {
  const id = encode(layout, { time: 60_000_000_000, node: 7, sequence: 1 })
  assert.equal(id, 6348932595337661953n)
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 58n - 1n }), fc.integer({ min: 1, max: 8 }), (rest, bits) => {
      const each = parseLayout(`scatter:${bits},time:${63 - bits};unit=us;epoch=0`)
      const whole = rest & ((1n << BigInt(each.scatterShift)) - 1n)
      const place = stated(whole, bits) << BigInt(each.scatterShift)
      assert.equal(scatterOf(each, whole), place)
      const run = new Run()
      run.setOne(whole)
      scatter(run, each)
      assert.equal(run.first, whole | place)
    }),
  )
})

test('the scatter of a narrow layout stands where the layout has it', () => {
  for (const text of [
    'scatter:8,time:10;unit=24h;epoch=0',
    'scatter:4,time:20,node:10;unit=s;epoch=2026-01-01T00:00:00Z',
  ]) {
    const narrow = parseLayout(text)
    const run = new Run()
    run.setOne(777n)
    scatter(run, narrow)
    assert.equal(run.first, 777n | (stated(777n, narrow.scatterBits) << BigInt(narrow.scatterShift)))
    assert.equal(run.first | scatterOf(narrow, run.first), run.first)
  }
})

test('ids are spread evenly: one every few ms, a burst, and one node beside the other', () => {
  const start = 60_000_000_000
  const patterns = [
    ...[1, 2, 4, 8, 10, 16, 64, 100, 256, 1000, 1024, 60_000].map((ms) =>
      Array.from({ length: 3200 }, (_, i) => encode(layout, { time: start + i * ms, node: 3 })),
    ),
    Array.from({ length: 3200 }, (_, i) =>
      encode(layout, { time: start + Math.floor(i / 512), node: 3, sequence: i % 512 }),
    ),
    Array.from({ length: 3200 }, (_, i) =>
      encode(layout, { time: start + Math.floor(i / 256), node: i % 256 }),
    ),
  ]
  for (const ids of patterns) {
    const counts = counted(ids)
    // 100 of each are expected: 6 standard deviations of a fair dice.
    assert.ok(Math.min(...counts) > 40 && Math.max(...counts) < 160, String(counts))
  }
})

test('a gene does not change the scatter, so that it can be given last', () => {
  const routed = parseLayout('scatter:5,time:41,node:4,sequence:3,gene:10;epoch=2020-01-01T00:00:00Z')
  const [first, ...others] = [0, 1, 37, 1023].map(
    (gene) => encode(routed, { time: 5_000_000, node: 1, gene }) >> 10n,
  )
  for (const other of others) assert.equal(other, first)
})

test('the canonical text of a layout tells whether it scatters', () => {
  assert.equal(isScattered(formatLayout(layout)), true)
  assert.equal(isScattered(formatLayout(parseLayout('twitter'))), false)
  assert.equal(isScattered(undefined), false)
})
