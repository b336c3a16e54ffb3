/** Every fault still fits the source, and `npm test` runs its test. That the test fails then: `npm run mutations`. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { filesOf } from '../../scripts/test-lists.ts'
import { mutations } from './mutations.ts'
import { mutated } from './put-back.ts'

const root = join(import.meta.dirname, '..', '..')
const existing = globSync('test/**/*.test.ts', { cwd: root })
const short = filesOf('short', existing)

for (const mutation of mutations)
  test(`fits the source: ${mutation.fault}`, () => {
    mutated(mutation)
    assert.ok(short.includes(mutation.foundBy), `npm test does not run ${mutation.foundBy}`)
  })

test('the page on faults lists these faults, each with its test', () => {
  const page = readFileSync(join(root, 'docs/internals/faults.md'), 'utf8')
  const rows = [...page.matchAll(/^\| (.+?) \| \[[^\]]+\]\(\.\.\/\.\.\/(test\/.+\.test\.ts)\) \|$/gm)]
  assert.deepEqual(
    rows.map(([, fault, foundBy]) => [fault, foundBy]),
    mutations.map(({ fault, foundBy }) => [fault, foundBy]),
  )
})
