/** A disk whose syncs are slow, or fail. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../launch/fahao.ts'
import { create, judge } from './campaign.ts'
import { asks, diskFault, kinds, startWithSmallBuffers, strict } from './disk-fault.ts'
import { Load, nowUs } from './load.ts'
import { breakSyncs } from './trace.ts'

describe('a server on a bad disk', () => {
  test('delays no client while syncs take a second and ids are buffered', async (t) => {
    const server = await startFahao(t, { args: ['--log-level', 'warn'] })
    const client = await server.connect()
    for (const kind of kinds) await create(client, kind, kind)
    const load = new Load()
    load.start([server.resp], asks)
    await pause(1500)
    const fault = await breakSyncs(t, server.pid, 'delay_enter=1000000')
    const fromUs = nowUs()
    // Those who need the store do wait, beside all the others.
    for (let fresh = 0; fresh < 2; fresh++) {
      const sinceUs = nowUs()
      await create(client, `fresh:${fresh}`, 'sequence')
      assert.ok(nowUs() - sinceUs > 900_000, 'the syncs are not slow')
    }
    const toUs = nowUs()
    await fault.end()
    await load.stop()
    assert.deepEqual([...load.errorTexts.values()], [])
    for (const kind of kinds) {
      const latenciesMs = load.journal(kind).latenciesMs(fromUs, toUs)
      const [p50, p999, longest] = [0.5, 0.999, 1].map(
        (share) => latenciesMs[Math.floor(share * (latenciesMs.length - 1))]!,
      )
      t.diagnostic(
        `${kind}: ${latenciesMs.length} requests, p50 ${p50!.toFixed(2)} ms, p99.9 ${p999!.toFixed(2)} ms, longest ${longest!.toFixed(0)} ms`,
      )
      assert.ok(longest! < 800, `a request for ${kind} took ${longest} ms: it waited for a sync`)
    }
    judge(t, load, strict, { name: 'syncs of a second', rounds: 1 })
  })

  test('goes on, then says why not, then comes back, when syncs fail', { timeout: 1_200_000 }, async (t) => {
    const server = await startWithSmallBuffers(t)
    const begin = () => breakSyncs(t, server.pid, 'error=EIO')
    await diskFault(t, 'syncs fail (EIO)', server, begin, /met an I\/O error: look at the disk/)
  })
})
