import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { formatDuration, formatSize, parseDurationMs, parseSizeBytes } from '../../../src/base/units.ts'

describe('durations and sizes', () => {
  const durations: [text: string, ms: number][] = [
    ['250ms', 250],
    ['3s', 3000],
    ['10m', 600_000],
    ['1h', 3_600_000],
    ['2d', 172_800_000],
    ['1.5s', 1500],
    ['0', 0],
    ['42', 42],
    [' 5 s ', 5000],
  ]
  for (const [text, ms] of durations) {
    test(`reads '${text}' as ${ms} ms`, () => assert.equal(parseDurationMs(text), ms))
  }

  const sizes: [text: string, bytes: number][] = [
    ['64KiB', 65_536],
    ['1MiB', 1_048_576],
    ['2GiB', 2 ** 31],
    ['512B', 512],
    ['7', 7],
  ]
  for (const [text, bytes] of sizes) {
    test(`reads '${text}' as ${bytes} bytes`, () => assert.equal(parseSizeBytes(text), bytes))
  }

  for (const text of ['', '-1s', '1e3', '3 parsecs', 's', '1.s', '1S', '0x10', '1s2', '1'.repeat(16)]) {
    test(`refuses '${text}'`, () => {
      assert.throws(() => parseDurationMs(text), { code: 'ERR' })
    })
  }

  test('reads no size as a duration, and no duration as a size', () => {
    assert.throws(() => parseDurationMs('1KiB'), /is not a duration/)
    assert.throws(() => parseSizeBytes('1s'), /is not a size/)
  })

  test('writes the largest unit without a fraction', () => {
    assert.equal(formatDuration(600_000), '10m')
    assert.equal(formatDuration(90_000), '90s')
    assert.equal(formatDuration(1500), '1500ms')
    assert.equal(formatDuration(0), '0ms')
    assert.equal(formatSize(65_536), '64KiB')
    assert.equal(formatSize(1000), '1000B')
  })

  test('reads back what it writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 14 }), (value) => {
        assert.equal(parseDurationMs(formatDuration(value)), value)
        assert.equal(parseSizeBytes(formatSize(value)), value)
      }),
    )
  })
})
