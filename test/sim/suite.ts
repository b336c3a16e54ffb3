/**
 * Scenarios as tests.
 *
 *     node --test 'test/sim/*.test.ts'                         some seeds, as part of the suite
 *     FAHAO_SIM_SEEDS=20000 node --test 'test/sim/*.test.ts'   the long form
 *     FAHAO_SIM_SEEDS=1 FAHAO_SIM_FIRST=4711 node --test …     one seed again
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInProcess } from './parallel.ts'

const first = Number(process.env.FAHAO_SIM_FIRST ?? 0)

/** Runs `short` seeds of a scenario, unless the environment says how many, one after the other: other files take the other cores. */
export function testScenario(scenario: string, what: string, short: number): void {
  const count = Number(process.env.FAHAO_SIM_SEEDS ?? short)
  test(`${what}: ${scenario}, ${count} seeds from ${first}`, async (t) => {
    const { violations, ids, longestGapMs } = await runInProcess({ scenario, first, count, untilFound: true })
    t.diagnostic(`${ids} ids, longest gap ${longestGapMs.toFixed(0)} ms`)
    for (const { message } of violations) assert.fail(message)
  })
}
