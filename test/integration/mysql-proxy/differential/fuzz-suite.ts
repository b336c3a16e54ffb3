/** Some hundred statements of the fuzzer; `npm run fuzz:sql` tries others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzzSql } from './fuzz.ts'
import type { Stage } from './stage.ts'

/** The same statements in each run. */
const seed = 20_260_101

/** Registers the test. */
export function fuzzSuite(stage: () => Stage): void {
  test('statements at random do the same edited as with AUTO_INCREMENT, and nothing but an INSERT is edited', async (t) => {
    const { direct, proxied } = stage()
    const databases = [direct.database, proxied.database] as const
    const { counts, failures } = await fuzzSql(t, databases, { seed, statements: 1000 })
    assert.ok(failures.length === 0, `\n${failures.join('\n')}`)
    const shown = JSON.stringify([...counts])
    assert.ok((counts.get('fill accepted') ?? 0) > 200, shown)
    assert.ok((counts.get('relay accepted') ?? 0) > 75, shown)
  })
}
