import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { errorRegistry } from '../../../src/base/error-texts.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/errors.md'), 'utf8')

test('the reference page lists every published error, word for word, and no other', () => {
  const documented = [...page.matchAll(/^\| `[A-Z]+` \|.*$/gm)].map(([row]) => row)
  const published = Object.entries(errorRegistry).map(
    ([code, { status, retryable, meaning, remedy }]) =>
      `| \`${code}\` | ${status} | ${retryable ? 'yes' : 'no'} | ${meaning} | ${remedy} |`,
  )
  assert.deepEqual(documented, published)
})
