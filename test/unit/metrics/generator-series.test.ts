/** The series of generators: what was counted of those that have left memory stays in the sum. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Access } from '../../../src/auth/access.ts'
import type { Turns } from '../../../src/base/turns.ts'
import { EndedGenerators } from '../../../src/catalogue/ended-figures.ts'
import { idleStats } from '../../../src/issuing/issuer.ts'
import {
  generatorMetrics,
  otherGenerators,
  sampleGenerators,
  seriesOf,
} from '../../../src/metrics/generator-series.ts'

const access = { work: 0, reaches: () => true } as unknown as Access
const turns = { take: () => Promise.resolve() } as unknown as Turns

test('what was counted of generators that have left memory is in the series of all others', async () => {
  const ended = new EndedGenerators()
  let stats = { ...idleStats, issued: 7, reserved: 10 }
  await ended.add({ stats: () => stats }, async () => {
    stats = { ...stats, released: 3 }
  })
  const selection = await sampleGenerators([], access, 10, { nowUs: 0, turns, ended: ended.figures })
  const shown = generatorMetrics.flatMap((metric) =>
    seriesOf(metric, selection).map((each) => [metric.name, each.generator, each.value]),
  )
  assert.deepEqual(shown, [
    ['fahao_issued_ids_total', otherGenerators, 7],
    ['fahao_reserved_values_total', otherGenerators, 10],
    ['fahao_released_values_total', otherGenerators, 3],
  ])
})
