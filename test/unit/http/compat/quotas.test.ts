import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setUser } from '../../auth/open-access.ts'
import { serve } from './serve.ts'

const reason = /"QUOTA namespace 'shop' may issue 2 ids a day on this node, and 0 are left/
const apis = [
  ['/api/segment/get/order', 500, /Result\{id=-3, status=EXCEPTION\}/],
  ['/id-builder/increase-seq-id?code=order', 500, reason],
  ['/tinyid/id/nextId?bizType=order&token=t-0123456789abcdef', 200, reason],
  ['/tinyid/id/nextId?bizType=order&token=t-0123456789abcdef&batchSize=2', 200, reason],
] as const

describe('a quota', () => {
  for (const [url, status, message] of apis) {
    test(`refuses ${url} in the form of the API, after a rest, and uses up no id`, async (t) => {
      const flags = { 'tinyid-tokens': 't-0123456789abcdef=order' }
      const { ask, node, faults } = await serve(t, { order: { kind: 'sequence' } }, { flags })
      await node.server.meters.namespaces.set('shop', { match: 'order', idsPerDay: 2 })
      for (let each = 0; each < 2; each++) assert.match((await ask(url.replace(/&batch.*/, '')))[2], /[12]/)
      const startedMs = performance.now()
      const [refused, type, body] = await ask(url)
      const tookMs = performance.now() - startedMs
      assert.deepEqual([refused, type], [status, 'application/json;charset=UTF-8'])
      assert.match(body, message)
      assert.ok(tookMs >= 19, `it took ${tookMs} ms`)
      assert.equal(await node.server.meters.namespaces.drop('shop'), true)
      assert.match((await ask(url.replace(/&batch.*/, '')))[2], /3/)
      assert.deepEqual(faults, [])
    })
  }

  test('names no namespace in a body to a caller that may not name its whole pattern', async (t) => {
    const { ask, node } = await serve(t, { order: { kind: 'sequence' } })
    const { tokens } = node.access
    await setUser(node.access, 'admin', 'on', 'nopass', '~*', '+@all')
    await setUser(node.access, 'one', 'on', '~order', '+@all')
    await setUser(node.access, 'all', 'on', '~ord*', '+@all')
    await node.server.meters.namespaces.set('shop', { match: 'ord*', idsPerDay: 1, leases: 1 })
    const refusal = async (url: string, user: string) => {
      const { text } = await tokens.create({ user, label: '', lifetimeMs: 60_000, by: 'admin' })
      const method = url.startsWith('/machines') ? 'POST' : 'GET'
      return (await ask(`${url}&token=${text}`, { method, headers: { authorization: `Bearer ${text}` } }))[2]
    }
    const machine = '/machines/order?machineBit=4&stable=false&safeGuardDuration=PT1M&instanceId=h'
    await refusal('/id-builder/increase-seq-id?code=order', 'one')
    await refusal(`${machine}:1`, 'one')
    for (const [url, what] of [
      ['/id-builder/increase-seq-id?code=order', 'may issue 1 id a day'],
      ['/tinyid/id/nextId?bizType=order', 'may issue 1 id a day'],
      [`${machine}:2`, 'has its 1 leased worker id'],
    ] as const) {
      assert.match(await refusal(url, 'one'), new RegExp(`"QUOTA a namespace ${what}`))
      assert.match(await refusal(url, 'all'), new RegExp(`"QUOTA namespace 'shop' ${what}`))
    }
  })
})
