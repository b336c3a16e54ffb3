/**
 * The cluster, simulated: RELIABILITY of who may issue, over many seeds.
 *
 *     node --test test/sim/cluster.test.ts                   some seeds, as part of the suite
 *     FAHAO_SIM_SEEDS=20000 node --test test/sim/…           the long form
 *     FAHAO_SIM_SEED=4711 node --test test/sim/…             one seed again
 */
import { test } from 'node:test'
import { simulate } from './scenario.ts'

const one = process.env.FAHAO_SIM_SEED
const first = Number(one ?? process.env.FAHAO_SIM_FIRST ?? 0)
const count = one === undefined ? Number(process.env.FAHAO_SIM_SEEDS ?? 80) : 1

for (const real of [false, true]) {
  const seeds = real ? Math.ceil(count / 2) : count
  const how = real ? 'what servers run' : 'the least that leads'
  test(`${seeds} clusters of ${how} keep order and come back, seeds from ${first}`, async (t) => {
    let issued = 0
    let changes = 0
    let longestGapMs = 0
    let bounces = 0
    for (let seed = first; seed < first + seeds; seed++) {
      const outcome = await simulate(seed, 3, real)
      issued += outcome.issued
      changes += outcome.changes
      bounces += outcome.bounces
      longestGapMs = Math.max(longestGapMs, outcome.longestGapMs)
      if (count === 1) t.diagnostic(JSON.stringify(outcome))
    }
    t.diagnostic(
      `${issued} ids, ${changes} changes of leaders, longest gap ${longestGapMs.toFixed(0)} ms, ${bounces} bounces`,
    )
  })
}
