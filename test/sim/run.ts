/**
 * npm run sim: simulations for people, on all cores.
 *
 *     npm run sim -- --seeds 1000                        each scenario, seeds 0 to 999
 *     npm run sim -- --scenario leaders --first 4711 --seeds 1
 *     npm run sim -- --mutations                         how many seeds find each fault that is put back
 *     npm run sim -- --mutations --fault advance         of those whose description contains the word
 */
import { parseArgs } from 'node:util'
import { Progress } from '../../src/cli/progress.ts'
import { mutations } from '../mutations/mutations.ts'
import { violatingSeed } from '../mutations/put-back.ts'
import { runInParallel } from './parallel.ts'
import { scenarios } from './scenario.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    first: { type: 'string', default: '0' },
    scenario: { type: 'string' },
    mutations: { type: 'boolean', default: false },
    fault: { type: 'string', default: '' },
  },
})
const { scenario } = values
process.exitCode = (values.mutations ? await tryMutations() : await runScenarios()) ? 0 : 1

/** Whether all went well. */
async function runScenarios(): Promise<boolean> {
  const [count, first] = [Number(values.seeds ?? 200), Number(values.first)]
  let wrong = 0
  console.log('scenario        seeds  violations  seeds/CPU s         ids  longest gap')
  for (const name of scenario === undefined ? Object.keys(scenarios) : [scenario]) {
    const progress = new Progress(`seeds of ${name}`)
    const tally = await runInParallel({ scenario: name, first, count }, undefined, () =>
      progress.add(1, count),
    )
    progress.end()
    const { seeds, violations, cpuSeconds, ids, longestGapMs } = tally
    wrong += violations.length
    console.log(
      [
        name.padEnd(12),
        String(seeds).padStart(8),
        String(violations.length).padStart(11),
        (seeds / cpuSeconds).toFixed(1).padStart(12),
        String(ids).padStart(11),
        `${longestGapMs.toFixed(0)} ms`.padStart(12),
      ].join(' '),
    )
    for (const { message } of violations.slice(0, 3)) console.log(`\n${message}\n`)
    if (violations.length > 3)
      console.log(
        `also seeds ${violations
          .slice(3)
          .map(({ seed }) => seed)
          .join(', ')}`,
      )
  }
  return wrong === 0
}

/** Whether every fault was found. */
async function tryMutations(): Promise<boolean> {
  const most = Number(values.seeds ?? 2000)
  let isAllFound = true
  console.log('| fault put back | scenario | seeds |\n|---|---|---|')
  for (const mutation of mutations.filter(({ fault }) => fault.includes(values.fault))) {
    const finder = mutation.scenario
    if (finder === undefined || (scenario !== undefined && finder !== scenario)) continue
    const { seeds, message } = await violatingSeed({ ...mutation, scenario: finder }, most)
    isAllFound &&= seeds !== undefined
    console.log(`| ${mutation.fault} | ${finder} | ${seeds ?? `none of ${most}`} |`)
    if (message !== '') console.error(`  ${message}`)
  }
  return isAllFound
}
