/**
 * Scenarios as tests.
 *
 *     node --test 'test/sim/*.test.ts'                                 some seeds, as part of the suite
 *     FAHAO_SIM_SEEDS=20000 node --test test/sim/{leaders,nodes}.test.ts   the long form
 *     FAHAO_SIM_SEEDS=1 FAHAO_SIM_FIRST=4711 node --test …             one seed again
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInProcess } from './parallel.ts'

/**
 * Runs `short` seeds of a scenario from `from` on, unless the environment says which, one after the other: other files take the
 * other cores.
 */
export function testScenario(scenario: string, what: string, short: number, from = 0): void {
  const first = Number(process.env.FAHAO_SIM_FIRST ?? from)
  const count = Number(process.env.FAHAO_SIM_SEEDS ?? short)
  test(`${what}: ${scenario}, ${count} seeds from ${first}`, async (t) => {
    const { violations, ids, longestGapMs } = await runInProcess({ scenario, first, count, untilFound: true })
    t.diagnostic(`${ids} ids, longest gap ${longestGapMs.toFixed(0)} ms`)
    for (const { message } of violations) assert.fail(message)
  })
}

/** Whole nodes: the scenarios of `npm test`, and how many seeds of each are a share. */
const ofNodes: readonly [scenario: string, what: string, share: number][] = [
  ['cluster', 'clusters of nodes repeat nothing and keep order while all is altered', 6],
  ['fleet', 'fleets of nodes repeat nothing and keep order while all is altered', 8],
  ['single', 'one node after the other repeats nothing and keeps order', 8],
  ['paused', 'clusters on machines that are paused repeat nothing', 5],
  ['forgetting', 'nodes on a store that forgets repeat nothing and come back', 6],
  ['clients', 'processes with fahao-client repeat nothing above a cluster', 4],
  ['clients-fleet', 'processes with fahao-client repeat nothing where clocks are wrong by far', 5],
  ['takeovers', 'clusters on a store that forgets who leads keep order and come back', 6],
]

/** Runs a share of seeds of each scenario of whole nodes, behind `sharesBefore` other shares. */
export function testNodes(sharesBefore: number): void {
  for (const [scenario, what, share] of ofNodes) testScenario(scenario, what, share, sharesBefore * share)
}
