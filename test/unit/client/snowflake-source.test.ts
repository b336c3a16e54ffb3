/** Snowflakes of a client, with clocks of the service that go wrong. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { ClientOptions } from '../../../client/src/index.ts'
import { FakeClock } from '../fake-clock.ts'
import { clientOf, LeaseService } from './lease-service.ts'

/** The time of the fake clock is 2026-06-01T00:00:00Z: 2^31 ms, after which ids are above 2^53, are 24.8 days. */
const layoutSince = (epoch: string) => `time:41,node:10,sequence:12;epoch=${epoch}`
const old = layoutSince('2025-01-01T00:00:00Z')
const young = layoutSince('2026-05-20T00:00:00Z')

async function opened(t: TestContext, layout: string, options: ClientOptions = {}) {
  const clock = new FakeClock()
  const service = new LeaseService(clock, layout)
  const client = clientOf(service, options)
  t.after(() => client.close())
  return { clock, service, client, generator: await client.generator('event') }
}

describe('numbers of a snowflake', () => {
  test('are UNSAFE above 2^53−1, and no id is used to find out', async (t) => {
    const { generator } = await opened(t, old)
    await assert.rejects(generator.nextNumber(), { code: 'UNSAFE' })
    assert.equal(generator.tryNextNumber(), undefined)
    assert.equal(generator.stats().issued, 0)
    assert.equal((await generator.next()) & 0xfffn, 0n)
  })

  test('come as long as the time permits them, and end at 2^53 without the use of an id', async (t) => {
    const { clock, generator } = await opened(t, young)
    assert.ok(generator.tryNextNumber()! < 2 ** 53)
    assert.ok((await generator.nextNumber()) < 2 ** 53)
    const aboveUs = Date.UTC(2026, 4, 20) * 1000 + 2 ** 31 * 1000
    clock.mono += aboveUs - clock.wall
    clock.wall = aboveUs
    await generator.next()
    const { issued } = generator.stats()
    assert.equal(generator.tryNextNumber(), undefined)
    await assert.rejects(generator.nextNumber(), { code: 'UNSAFE' })
    assert.equal(generator.stats().issued, issued)
  })
})
