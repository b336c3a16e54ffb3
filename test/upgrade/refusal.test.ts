/** A node whose format does not fit one that runs: its process ends with a sentence. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { nodeKey } from '../../src/cluster/records.ts'
import { agreeOnSettings } from '../../src/cluster/settings.ts'
import { openEngine } from '../../src/engine/open.ts'
import { startEtcd } from '../launch/etcd.ts'
import { startFahao } from '../launch/fahao.ts'
import { atEnd } from '../launch/lifetime.ts'

test('a server ends with a sentence beside a node that does not read what it writes', async (t) => {
  const url = (await startEtcd(t)).url('ids')
  const engine = await openEngine(url, { clock: systemClock, callTimeoutMs: 5000, onEvent() {} })
  atEnd(t, () => engine.close())
  await agreeOnSettings(engine, { cluster: 'ids', shards: 4 })
  const record = { id: 'later', version: '9.0.0', joinedMs: 1, draining: false }
  const format = { writes: 9, reads: [9, 9] }
  let isOver = false
  const renewing = (async () => {
    let version: bigint | undefined
    for (let heartbeat = 1; !isOver; heartbeat++) {
      const value = JSON.stringify({ ...record, format, heartbeat })
      version = (await engine.write(nodeKey(record.id), value, version))!.version
      await pause(20)
    }
  })()
  await assert.rejects(
    startFahao(t, { engine: url, args: ['--cluster', 'ids'], readyWithinMs: 60_000 }),
    /ENGINE node later runs version 9\.0\.0, which writes format 9 and reads 9, where this one writes format/,
  )
  isOver = true
  await renewing
})
