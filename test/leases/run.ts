/**
 * `npm run leases -- [--ids 1e9] [--processes 6] [--crowd]`: the long forms of the campaigns of leases. `--crowd`: only
 * the crowd of a thousand clients. Exits with 1 on a repeat.
 */
import { parseArgs } from 'node:util'
import { Progress } from '../../src/cli/progress.ts'
import { inScope, type Scope } from '../launch/lifetime.ts'
import { leaseCampaign } from './campaign.ts'
import { crowdCampaign } from './crowd.ts'
import type { Checked } from './run-log.ts'

const { values } = parseArgs({
  options: {
    ids: { type: 'string', default: '1e9' },
    processes: { type: 'string', default: '6' },
    crowd: { type: 'boolean', default: false },
  },
})
if (!values.crowd) await inScope(holders)
await inScope(crowd)

async function holders(scope: Scope): Promise<void> {
  const size = { ids: Number(values.ids), processes: Number(values.processes) }
  const progress = new Progress('ids')
  const { checked, faults } = await leaseCampaign(
    scope,
    {
      ...size,
      ttlMs: 20_000,
      stoppedMs: 60_000,
      pauseMs: 700,
      batch: 20_000,
      restMs: 0,
      faultsMin: 10,
    },
    (ids) => progress.to(ids, size.ids),
  )
  progress.end()
  console.log(`faults: ${JSON.stringify(faults)}`)
  for (const [name, each] of checked) report(name, each)
}

/** A thousand clients in forty processes: a process for each would take more memory than most machines have. */
async function crowd(scope: Scope): Promise<void> {
  const { checked, waitsMs, exhausted } = await crowdCampaign(scope, {
    layout: 'twitter',
    room: 1008,
    processes: 40,
    clientsEach: 25,
    rounds: 10,
    ttlMs: 10_000,
  })
  report('a crowd of 1,000 clients, of which 200 are killed in each of 10 rounds', checked)
  const sorted = waitsMs.toSorted((a, b) => a - b)
  console.log(
    `all clients of a process had ids after ${sorted[sorted.length >> 1]} ms (median), ${sorted.at(-1)} ms (longest)`,
  )
  console.log(`then: ${exhausted.text}`)
}

function report(name: string, { ids, runs, overlaps }: Checked): void {
  console.log(`${name}: ${ids.toLocaleString('en')} ids in ${runs} runs, ${overlaps.length} repeats`)
  for (const overlap of overlaps.slice(0, 5)) console.log(overlap)
  if (overlaps.length > 0) process.exitCode = 1
}
