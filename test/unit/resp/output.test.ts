import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Run } from '../../../src/ids/run.ts'
import { Output } from '../../../src/resp/output.ts'

function taken(output: Output): string {
  return output.take().toString('latin1')
}

function integers(first: bigint, count: number, stride: number): string {
  const lines = Array.from({ length: count }, (_, index) => `:${first + BigInt(index) * BigInt(stride)}\r\n`)
  return lines.join('')
}

function runOf(first: bigint, count: number, stride: number): Run {
  const run = new Run()
  run.set(first, count, stride)
  return run
}

describe('a run of integer replies', () => {
  const powersOfTen = Array.from({ length: 19 }, (_, power) => 10n ** BigInt(power))
  const edges = [0n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 63n - 400_000_000_000_000n, ...powersOfTen]

  for (const edge of edges) {
    test(`counts across ${edge}`, () => {
      for (const stride of [1, 2, 7, 10, 999, 4096]) {
        const below = edge - BigInt(stride) * 3n - 1n
        const first = below < 0n ? 0n : below
        const output = new Output()
        output.run(runOf(first, 12, stride))
        assert.equal(taken(output), integers(first, 12, stride))
      }
    })
  }

  test('is the same as counting with bigints', () => {
    const firsts = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 62n }), fc.bigInt({ min: 0n, max: 2000n }))
    const strides = fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 1, max: 2 ** 53 - 1 }))
    fc.assert(
      fc.property(firsts, fc.integer({ min: 1, max: 60 }), strides, (first, count, stride) => {
        const output = new Output()
        output.ascii('+before\r\n')
        output.run(runOf(first, count, stride))
        assert.equal(taken(output), `+before\r\n${integers(first, count, stride)}`)
      }),
      { numRuns: 2000 },
    )
  })

  test('grows the buffer as far as it needs', () => {
    const output = new Output()
    output.run(runOf(10n ** 18n, 20_000, 1))
    output.run(runOf(5n, 1, 1))
    assert.equal(taken(output), `${integers(10n ** 18n, 20_000, 1)}:5\r\n`)
  })
})

describe('output', () => {
  test('is empty once taken, and what was taken stays as it was', () => {
    const output = new Output()
    output.bytes('$', Buffer.alloc(100_000, 'a'))
    const first = output.take()
    assert.equal(output.length, 0)
    output.bytes('$', Buffer.alloc(100_000, 'b'))
    assert.equal(first.toString('latin1'), `$100000\r\n${'a'.repeat(100_000)}\r\n`)
  })

  test('keeps every byte of binary data, in small and in large', () => {
    const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
    const output = new Output()
    output.bytes('$', every)
    assert.equal(taken(output), `$256\r\n${every.toString('latin1')}\r\n`)
  })

  test('writes the exact digits of a big number', () => {
    const output = new Output()
    output.bigNumber(runOf(2n ** 53n + 1n, 1, 1))
    output.bigNumber(runOf(2n ** 63n - 1n, 1, 1))
    assert.equal(taken(output), '(9007199254740993\r\n(9223372036854775807\r\n')
  })
})

describe('large replies', () => {
  const large = Buffer.alloc(80_000, 'x')

  function taken(output: Output, bytes: Uint8Array): Buffer {
    output.encoded(bytes)
    return output.take() as Buffer
  }

  test('stay as they are until they are given back, and their memory is used again after that', () => {
    const output = new Output()
    const first = taken(output, large)
    const second = taken(output, Buffer.alloc(70_000, 'y'))
    assert.notEqual(second.buffer, first.buffer)
    assert.deepEqual(first, large)
    output.giveBack(first)
    const third = taken(output, Buffer.alloc(90_000, 'z'))
    assert.equal(third.buffer, first.buffer)
    assert.deepEqual(third, Buffer.alloc(90_000, 'z'))
    assert.deepEqual(second, Buffer.alloc(70_000, 'y'))
  })

  test('occupy at most twice their length, and what is larger is not kept', () => {
    const output = new Output()
    for (const length of [49_153, 60_000, 98_304, 98_305, 500_000]) {
      const bytes = taken(output, Buffer.alloc(length, 'x'))
      assert.ok(bytes.buffer.byteLength <= 2 * length, `${bytes.buffer.byteLength} for ${length}`)
    }
    const huge = taken(output, Buffer.alloc(500_000, 'x'))
    output.giveBack(huge)
    assert.notEqual(taken(output, Buffer.alloc(500_000, 'x')).buffer, huge.buffer)
  })
})
