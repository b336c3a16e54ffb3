import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkDurability } from '../../../../src/engine/sql/durability.ts'
import { EngineHealth } from '../../../../src/engine/sql/health.ts'
import { FakeClock, settled } from '../../fake-clock.ts'

describe('the settings that durability depends on', () => {
  test('are checked every minute: a change shows in the status, is logged once, and passes', async () => {
    const clock = new FakeClock()
    const logged: string[] = []
    let probes = 0
    const health = new EngineHealth({
      clock,
      location: 'postgres://db/ids',
      onEvent: ({ message }) => logged.push(message),
    })
    health.begin(async () => probes++)
    let unsafe: string[] = []
    const durability = checkDurability(
      clock,
      async () => unsafe,
      (loss) => health.durable(loss),
    )
    await clock.pass(61_000)
    assert.deepEqual([health.status, logged], [{ state: 'up' }, []])
    unsafe = ['fsync is off: set it to on']
    await clock.pass(180_000)
    assert.match(health.status.reason ?? '', /fsync is off/)
    health.worked('write')
    assert.equal(health.status.state, 'down', 'a write that works shows nothing about settings')
    unsafe = []
    await clock.pass(60_000)
    await settled()
    assert.equal(health.status.state, 'up')
    assert.deepEqual(
      logged.map((message) => /fsync is off|works again/.exec(message)?.[0]),
      ['fsync is off', 'works again'],
    )
    assert.equal(probes, 0)
    durability.cancel()
    await clock.pass(600_000)
    assert.equal(clock.timers, 0)
  })

  test('are checked again after the server has failed to answer', async () => {
    const clock = new FakeClock()
    const reported: (string | undefined)[] = []
    let answers = false
    const durability = checkDurability(
      clock,
      async () => {
        if (!answers) throw new Error('away')
        return ['sync_binlog is 0: set it to 1']
      },
      (loss) => reported.push(loss),
    )
    await clock.pass(120_000)
    assert.deepEqual(reported, [])
    answers = true
    await clock.pass(60_000)
    assert.match(reported[0] ?? '', /may lose acknowledged writes.*sync_binlog is 0/)
    durability.cancel()
  })
})
