/** The short form of `npm run hostile`: memory and correctness, and a wide bound of what others wait. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endure } from './campaign.ts'

const effort = {
  warmUpS: 0.5,
  aloneS: 0.5,
  attackS: 1.5,
  recoverS: 0,
  compares: false,
  clients: 0.2,
  patience: 30,
}

const names = [
  'unfinished-before-auth',
  'pipeline-incr',
  'http-headers',
  'http-chunks',
  'http-live',
  'http-files',
  'pg-pipeline',
  'mysql-early',
]

for (const name of names) {
  test(`others are served, and memory is bounded, during the attack ${name}`, async (t) => {
    const { broken, memoryMiB, outcome } = await endure(t, name, effort)
    t.diagnostic(`${outcome.opened} connections; ${memoryMiB.peak.toFixed(0)} MiB at most`)
    assert.deepEqual(broken, [])
  })
}
