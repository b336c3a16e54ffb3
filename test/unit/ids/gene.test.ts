import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { firstBlock, geneOf, readGenes } from '../../../src/ids/gene.ts'

describe('the gene of a key', () => {
  test('is the lowest bits of the CRC-32 of zlib, of its UTF-8', () => {
    assert.equal(geneOf('123456789', 32), 0xcbf43926)
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 32 }), (key, bits) => {
        assert.equal(geneOf(key, bits), crc32(key) % 2 ** bits)
      }),
    )
  })

  test('spreads keys that count up evenly', () => {
    for (const shards of [4, 10, 1024]) {
      const counts = new Array<number>(shards).fill(0)
      for (let number = 1; number <= 1000 * shards; number++) counts[geneOf(`user:${number}`, 10) % shards]!++
      const even = shards === 10 ? 0.1 : 0.2
      const most = Math.max(...counts.map((count) => Math.abs(count / 1000 - 1)))
      assert.ok(most < even, `${shards} shards differ from the mean by ${most}`)
    }
  })
})

describe('the genes of a draw', () => {
  const read = (bits: number, count: number, input: Parameters<typeof readGenes>[3]) =>
    readGenes('order', bits, count, input)

  test('are one for all ids, or one for each', () => {
    assert.deepEqual(read(10, 5, { gene: 37 }), [37n])
    assert.deepEqual(read(10, 2, { gene: [0, 1023n] }), [0n, 1023n])
    assert.deepEqual(read(10, 1, { by: 'user:8812' }), [BigInt(crc32('user:8812') % 1024)])
    assert.deepEqual(read(4, 2, { by: ['a', 'b'] }), [BigInt(crc32('a') % 16), BigInt(crc32('b') % 16)])
    assert.deepEqual(read(32, 1, { gene: 2 ** 32 - 1 }), [2n ** 32n - 1n])
    assert.deepEqual(read(0, 3, {}), [])
  })

  test('are refused where they do not fit, with what to give', () => {
    const refused: [number, number, Parameters<typeof readGenes>[3], RegExp][] = [
      [10, 1, {}, /^'order' needs a gene with each draw: GENE 0 to 1023, or BY key/],
      [0, 1, { gene: 1 }, /^'order' has no bits for a gene; leave it out/],
      [0, 1, { by: 'a' }, /^'order' has no bits for a gene/],
      [10, 1, { gene: 1024 }, /^gene 1024 is not one of 'order'; give a whole number from 0 to 1023/],
      [10, 1, { gene: -1n }, /^gene -1 /],
      [10, 1, { gene: 1.5 }, /^gene 1.5 /],
      [10, 1, { gene: Number.NaN }, /^gene NaN /],
      [10, 3, { gene: [1, 2] }, /^2 genes do not fit 3 ids of 'order'; give one for all, or one for each/],
      [10, 3, { by: [] }, /^0 genes do not fit/],
      [10, 1, { gene: 1, by: 'a' }, /give one of GENE and BY/],
    ]
    for (const [bits, count, input, message] of refused)
      assert.throws(() => read(bits, count, input), { code: 'ERR', message })
  })
})

test('a block begins at a multiple of its size', () => {
  assert.deepEqual(
    [0n, 1n, 1024n, 1025n].map((value) => firstBlock(value, 10)),
    [0n, 1024n, 1024n, 2048n],
  )
})

test('a key that is missing or empty is refused: all such ids would lie on one shard', () => {
  for (const by of ['', null, ['user:1', ''], ['user:1', undefined], { id: 1 }])
    assert.throws(() => readGenes('order', 10, 2, { by: by as string }), /a text that is not empty/)
})
