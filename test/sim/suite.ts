/**
 * Scenarios as tests.
 *
 *     node --test 'test/sim/*.test.ts'                                     some seeds, as part of the suite
 *     FAHAO_SIM_SEEDS=20000 node --test test/sim/{leaders,nodes}.test.ts   the long form
 *     FAHAO_SIM_SEEDS=1 FAHAO_SIM_FIRST=4711 node --test …                 one seed again
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInProcess } from './parallel.ts'

/** A scenario, what it shows, and how many of its seeds are a share: `npm test` runs the first, and the rest the second. */
type Scenario = readonly [scenario: string, what: string, share: number]

/**
 * Runs a share of seeds of each scenario, behind `before` other shares, unless the environment says which seeds; one after the
 * other, because other files take the other cores.
 */
function testScenarios(scenarios: readonly Scenario[], before: number): void {
  for (const [scenario, what, share] of scenarios) {
    const first = Number(process.env.FAHAO_SIM_FIRST ?? before * share)
    const count = Number(process.env.FAHAO_SIM_SEEDS ?? share)
    test(`${what}: ${scenario}, ${count} seeds from ${first}`, async (t) => {
      const { violations, ids, longestGapMs } = await runInProcess({
        scenario,
        first,
        count,
        untilFound: true,
      })
      t.diagnostic(`${ids} ids, longest gap ${longestGapMs.toFixed(0)} ms`)
      for (const { message } of violations) assert.fail(message)
    })
  }
}

const ofLeaders: readonly Scenario[] = [
  ['leaders', 'clusters of the least that leads keep order and come back', 20],
  ['servers', 'clusters of what servers run keep order and come back', 12],
  ['families', 'clusters with a family keep each name in order and come back', 12],
]

const ofNodes: readonly Scenario[] = [
  ['cluster', 'clusters of nodes repeat nothing and keep order while all is altered', 6],
  ['fleet', 'fleets of nodes repeat nothing and keep order while all is altered', 8],
  ['single', 'one node after the other repeats nothing and keeps order', 8],
  ['paused', 'clusters on machines that are paused repeat nothing', 5],
  ['forgetting', 'nodes on a store that forgets repeat nothing and come back', 6],
  ['clients', 'processes with fahao-client repeat nothing above a cluster', 4],
  ['clients-fleet', 'processes with fahao-client repeat nothing where clocks are wrong by far', 5],
  ['periods', 'clusters whose numbers begin again keep order in each period', 5],
  ['periods-fleet', 'fleets whose numbers begin again keep order in each period', 5],
  ['periods-forgetting', 'numbers that begin again are not repeated on a store that forgets', 5],
  ['takeovers', 'clusters on a store that forgets who leads keep order and come back', 6],
]

/** Who may issue. */
export function testLeaders(sharesBefore: number): void {
  testScenarios(ofLeaders, sharesBefore)
}

/** Whole nodes, and all that generators go through. */
export function testNodes(sharesBefore: number): void {
  testScenarios(ofNodes, sharesBefore)
}
