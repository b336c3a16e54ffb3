import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serve } from './serve.ts'

const reason = /"QUOTA a namespace may issue 2 ids a day on this node, and 0 are left/
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
})
