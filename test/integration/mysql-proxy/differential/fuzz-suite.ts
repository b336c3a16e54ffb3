/** The hostile statements and some at random; `npm run fuzz:sql` tries others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzzSql } from './fuzz.ts'

/** The same statements in each run. */
const seed = 20_260_101

/** Registers the test. */
export function fuzzSuite(): void {
  test('no statement inserts a row without an id, with another’s, or with other values than directly, whatever passes unread', async (t) => {
    const { counts, failures } = await fuzzSql(t, { seed, statements: 600 })
    assert.ok(failures.length === 0, `\n${failures.join('\n')}`)
    const shown = JSON.stringify([...counts])
    assert.ok((counts.get('rows drawn') ?? 0) > 120, shown)
    assert.ok((counts.get('statements compared') ?? 0) > 60, shown)
    assert.ok((counts.get('error 1364') ?? 0) > 10, shown)
  })
}
