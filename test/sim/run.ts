/**
 * npm run sim: simulations for people, on all cores.
 *
 *     npm run sim -- --seeds 1000                        each scenario, seeds 0 to 999
 *     npm run sim -- --scenario leaders --first 4711 --seeds 1
 */
import { parseArgs } from 'node:util'
import { runInParallel } from './parallel.ts'
import { scenarios } from './scenario.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    first: { type: 'string', default: '0' },
    scenario: { type: 'string' },
  },
})
const [count, first] = [Number(values.seeds), Number(values.first)]
const names = values.scenario === undefined ? Object.keys(scenarios) : [values.scenario]
let wrong = 0
console.log('scenario        seeds  violations  seeds/CPU s         ids  longest gap')
for (const scenario of names) {
  const { seeds, violations, cpuSeconds, ids, longestGapMs } = await runInParallel({ scenario, first, count })
  wrong += violations.length
  console.log(
    [
      scenario.padEnd(12),
      String(seeds).padStart(8),
      String(violations.length).padStart(11),
      (seeds / cpuSeconds).toFixed(1).padStart(12),
      String(ids).padStart(11),
      `${longestGapMs.toFixed(0)} ms`.padStart(12),
    ].join(' '),
  )
  for (const { message } of violations.slice(0, 3)) console.log(`\n${message}\n`)
}
process.exitCode = wrong === 0 ? 0 : 1
