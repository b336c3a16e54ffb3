import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyMaxMs, horizonMs, skippedByCrash } from './skipped-ids.ts'

for (const seconds of [20, 900]) {
  test(`a crash after ${seconds} s skips of each sequence at most what the horizon needs, and 10 ids of one used once a minute`, async () => {
    const options = { kind: 'sequence', step: 'adaptive' } as const
    for (const { everyMs, issued, skipped } of await skippedByCrash({ sequences: 200, seconds, options })) {
      // What falls due within a second is drawn together.
      const perHorizon = Math.ceil((horizonMs + 1000) / everyMs)
      assert.ok(
        skipped <= Math.max(8, Math.min(perHorizon, 16 * issued)),
        `${skipped}, one every ${everyMs} ms`,
      )
      if (everyMs === everyMaxMs) assert.ok(skipped <= 10)
    }
  })
}
