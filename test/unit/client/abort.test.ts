/** Calls whose signal is aborted: they use no id, and reject with its reason. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FahaoClient } from '../../../client/src/client.ts'
import { settingsOf } from '../../../client/src/options.ts'
import { RequestSource } from '../../../client/src/request-source.ts'
import { Run } from '../../../src/ids/run.ts'
import { FakeClock, settled } from '../fake-clock.ts'

test('a call with an aborted signal takes none of the ids that are buffered', async (t) => {
  const clock = new FakeClock()
  const url = new URL('redis://a:1')
  const range = ['1', '1001']
  const definition = '{"kind":"segment"}'
  const grant = {
    kind: 'segment',
    incarnation: '1',
    definition,
    nowUs: clock.wall,
    lease: 'x',
    ttlMs: 120_000,
  }
  const link = { node: 'a:1', send: async () => ({ ...grant, ranges: [range] }), close() {} }
  const client = new FahaoClient([url], settingsOf([url], {}), { clock, random: () => 0, link: () => link })
  t.after(() => client.close())
  const user = await client.generator('user')
  assert.equal(user.tryNext(), 1n)
  const reason = new TypeError('the request of our own client has ended')
  const signal = AbortSignal.abort(reason)
  for (const call of [
    user.next({ signal }),
    user.nextNumber({ signal }),
    user.nextText({ signal }),
    user.nextTexts(3, { signal }),
    user.nextBatch(3, { signal }),
  ])
    await assert.rejects(call, (error) => error === reason)
  assert.equal(user.tryNext(), 2n)
})

test('nothing is asked for a caller that has given up before its request was sent', async () => {
  const counts: number[] = []
  const ask = async (count: number) => {
    counts.push(count)
    const run = new Run()
    run.set(1n, count, 1)
    return [run]
  }
  const source = new RequestSource({ ask, clock: new FakeClock(), timeoutMs: 1000 })
  const stop = new AbortController()
  const gone = source.draw(5, { signal: stop.signal })
  const here = source.draw(2, {})
  stop.abort()
  await assert.rejects(gone, { name: 'AbortError' })
  assert.deepEqual(
    (await here).map(({ first, count }) => [first, count]),
    [[1n, 2]],
  )
  await settled()
  assert.deepEqual(counts, [2])
})
