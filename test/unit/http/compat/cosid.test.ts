import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { isoDurationMs } from '../../../../src/http/compat/cosid-machines.ts'
import { basic, setUser } from '../../auth/open-access.ts'
import { serve } from './serve.ts'

const forever = 'PT2562047788015H12M55.807S'

async function start(t: TestContext, flags: Record<string, string> = {}) {
  const served = await serve(
    t,
    { order: { kind: 'segment', format: 'o-{id}' } },
    { flags, compat: ['cosid'] },
  )
  const { access } = served.node
  const set = (name: string, ...rules: string[]) => setUser(access, name, 'on', 'nopass', ...rules)
  const send = async (method: InjectOptions['method'], url: string, user?: string) => {
    const headers = user === undefined ? {} : { authorization: basic(user, 'any') }
    const { statusCode, body } = await served.app.inject({ method, url, headers } as InjectOptions)
    return [statusCode, body] as const
  }
  /** The code of a refusal, whose body must have a sentence too. */
  const refusal = async (method: InjectOptions['method'], url: string, user?: string) => {
    const [status, body] = await send(method, url, user)
    const { code, msg, errors } = JSON.parse(body)
    assert.ok(typeof msg === 'string' && msg.length > 10 && Array.isArray(errors), body)
    return [status, code]
  }
  const machine = (
    instance: string,
    { bits = 1, guard = forever, stable = false, namespace = 'a%2Fb' } = {},
  ) =>
    `/machines/${namespace}?machineBit=${bits}&instanceId=${instance}&stable=${stable}&safeGuardDuration=${guard}`
  return { ...served, set, send, refusal, machine }
}

describe('machine ids of CosId', () => {
  test('are distributed densely, to each instance its own, until none is left', async (t) => {
    const { send, refusal, machine } = await start(t)
    for (const [instance, id] of [
      ['h:1', 0],
      ['h:2', 1],
    ] as const) {
      assert.deepEqual(await send('POST', machine(instance)), [200, `{"machineId":${id},"lastTimeStamp":-1}`])
      const [status, body] = await send('POST', machine(instance))
      const { machineId, lastTimeStamp } = JSON.parse(body)
      assert.deepEqual([status, machineId], [200, id])
      assert.ok(lastTimeStamp > 1_700_000_000_000)
    }
    assert.deepEqual(await refusal('POST', machine('h:3')), [400, 'M-01'])
    assert.equal(JSON.parse((await send('POST', machine('h:3', { bits: 2 })))[1]).machineId, 2)
    assert.equal(JSON.parse((await send('POST', machine('h:3', { namespace: 'other' })))[1]).machineId, 0)
  })

  test('are guarded, reverted, lost where the instance had one, and unknown where it had none', async (t) => {
    const { send, refusal, machine, node } = await start(t)
    await send('POST', machine('h:1', { guard: 'PT2S' }))
    assert.deepEqual(await send('PATCH', machine('h:1', { guard: 'PT5M' })), [200, ''])
    const [listed] = await node.server.pools.list('a/b')
    assert.ok(listed!.untilUs - listed!.sinceUs >= 300_000_000)
    assert.deepEqual(await refusal('PATCH', machine('h:2')), [400, 'M-02'])
    assert.deepEqual(await refusal('PATCH', machine('h:1', { namespace: 'other' })), [400, 'M-02'])
    assert.deepEqual(await send('DELETE', machine('h:1')), [200, ''])
    assert.deepEqual(await send('DELETE', machine('h:1')), [200, ''])
    assert.deepEqual(await refusal('PATCH', machine('h:1')), [400, 'M-03'])
    const { machineId, lastTimeStamp } = JSON.parse((await send('POST', machine('h:2')))[1])
    assert.equal(machineId, 0)
    assert.ok(lastTimeStamp > 1_700_000_000_000)
    // Its id has another owner now.
    assert.deepEqual(await refusal('PATCH', machine('h:1')), [400, 'M-03'])
  })

  test('stay with a stable instance', async (t) => {
    const { send, refusal, machine } = await start(t)
    for (const instance of ['h:1', 'h:2']) await send('POST', machine(instance, { stable: true }))
    await send('DELETE', machine('h:1', { stable: true }))
    assert.deepEqual(await refusal('POST', machine('h:3')), [400, 'M-01'])
    assert.equal(JSON.parse((await send('POST', machine('h:1', { stable: true })))[1]).machineId, 0)
  })

  test('are refused with a code and a sentence where a parameter is wrong', async (t) => {
    const { refusal, machine } = await start(t)
    for (const url of [
      machine('h:1', { bits: 0 }),
      machine('h:1', { bits: 32 }),
      machine('h:1', { guard: '5m' }),
      machine(''),
      machine('h:1', { namespace: 'a%20b' }),
      '/machines/a?machineBit=5&instanceId=x',
    ])
      assert.deepEqual(await refusal('POST', url), [400, '400'], url)
    assert.equal((await refusal('PATCH', '/machines/a?instanceId=x'))[1], '400')
  })

  test('have durations as Java writes them', () => {
    const known = {
      PT5M: 300_000,
      'PT2.5S': 2500,
      P1DT1H: 90_000_000,
      PT0S: 0,
      'PT0.0000001S': 1,
      pt1s: 1000,
    }
    for (const [text, ms] of Object.entries(known)) assert.equal(isoDurationMs(text), ms, text)
    assert.ok(isoDurationMs(forever)! > 9e18)
    for (const text of ['', 'P', 'PT', 'P1DT', 'PT-5M', '5m', 'PT5', 'PT1S2M'])
      assert.equal(isoDurationMs(text), undefined, text)
  })
})

describe('segments of CosId', () => {
  test('begin after the offset of the first creation, and follow each other', async (t) => {
    const { send } = await start(t)
    for (const offset of [500, 0])
      assert.deepEqual(await send('POST', `/segments/distributor/n%2F1/x?offset=${offset}&step=100`), [
        200,
        '',
      ])
    assert.deepEqual(await send('PATCH', '/segments/n%2F1/x?step=100'), [200, '600'])
    assert.deepEqual(await send('PATCH', '/segments/n%2F1/x?step=7'), [200, '607'])
    assert.deepEqual(await send('PATCH', '/segments/n%2F1/unknown?step=50'), [200, '50'])
    assert.deepEqual(await send('PATCH', '/segments/n/many?step=200000000000'), [200, '200000000000'])
  })

  test('are refused where a parameter is wrong, or where ids are not one apart', async (t) => {
    const { refusal, node } = await start(t)
    await node.catalogue.create('n.odd', { kind: 'segment', increment: 2, offset: 1n })
    assert.deepEqual(await refusal('PATCH', '/segments/n/odd?step=5'), [409, '409'])
    for (const query of ['', 'step=0', 'step=x', 'step=-5', 'step=99999999999999999999'])
      assert.deepEqual(await refusal('PATCH', `/segments/n/x?${query}`), [400, '400'], query)
    assert.deepEqual(await refusal('POST', '/segments/distributor/n/x?offset=-1&step=5'), [400, '400'])
    assert.equal(await node.catalogue.exists('n.x'), false)
  })

  test('of an unknown name need the permission to create one, or an auto-create rule', async (t) => {
    const { send, refusal, set, node } = await start(t, { 'auto-create': 'auto.*=sequence' })
    await set('admin', '~*', '+@all')
    await set('app', '~n.*', '~auto.*', '+id.next')
    assert.deepEqual(await refusal('PATCH', '/segments/n/x?step=5'), [401, '401'])
    assert.deepEqual(await refusal('PATCH', '/segments/n/x?step=5', 'app'), [403, '403'])
    assert.deepEqual(await refusal('POST', '/segments/distributor/other/x?offset=0&step=5', 'app'), [
      403,
      '403',
    ])
    assert.deepEqual(await send('PATCH', '/segments/auto/x?step=5', 'app'), [200, '5'])
    assert.equal(node.catalogue.find('auto.x')?.kind, 'sequence')
    await send('POST', '/segments/distributor/n/x?offset=10&step=5', 'admin')
    assert.deepEqual(await send('PATCH', '/segments/n/x?step=5', 'app'), [200, '15'])
  })
})

test('single ids of CosId come as numbers or with their format', async (t) => {
  const { send, refusal } = await start(t)
  assert.deepEqual(await send('GET', '/ids/order'), [200, '1'])
  assert.deepEqual(await send('GET', '/ids/as-string/order'), [200, 'o-2'])
  assert.deepEqual(await refusal('GET', '/ids/none'), [404, '404'])
})
