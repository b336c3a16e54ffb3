/** Every fault still fits the source, and its test exists. That the test fails then: `npm run mutations`. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { mutations } from './mutations.ts'
import { mutated } from './put-back.ts'

const root = join(import.meta.dirname, '..', '..')

for (const mutation of mutations)
  test(`fits the source: ${mutation.fault}`, () => {
    mutated(mutation)
    assert.ok(existsSync(join(root, mutation.foundBy)), `${mutation.foundBy} does not exist`)
  })
