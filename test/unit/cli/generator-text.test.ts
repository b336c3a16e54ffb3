import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approximateDuration } from '../../../src/cli/generator-text.ts'

test('a duration is rounded to about two digits, and long ones are in years', () => {
  const said = [45, 599, 6000, 40_000, 3 * 86_400, 40.3 * 86_400, 11_236_037_019_145.2]
  assert.deepEqual(said.map(approximateDuration), [
    '45s',
    '599s',
    '100m',
    '11h',
    '3d',
    '40d',
    '356,049 years',
  ])
})
