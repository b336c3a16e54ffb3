import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AccessControl } from '../../../src/auth/access-control.ts'
import { firstIdSteps, type Listeners } from '../../../src/cli/first-id.ts'
import type { Config } from '../../../src/config/config-schema.ts'
import { accessOf } from '../auth/open-access.ts'
import { fakeNode } from '../http/fake-node.ts'

const resp = { host: '127.0.0.1', port: 7379 }

function start(
  settings: Partial<Config> = {},
  listeners: Partial<Listeners> = { resp },
  access: AccessControl | undefined = undefined,
) {
  const node = Object.assign(fakeNode(settings), access && { access })
  const { catalogue, config } = node
  const lines = async (strict: boolean, clustered = false) =>
    (
      await firstIdSteps(node as never, { resp: undefined, http: undefined, ...listeners }, config, {
        strict,
        clustered,
      })
    ).map(({ line }) => line)
  return { catalogue, lines }
}

describe('the first id', () => {
  test('comes from a sequence, if one exists', async () => {
    const { catalogue, lines } = start()
    assert.deepEqual((await lines(true, true)).at(-1), 'redis-cli -c -p 7379 INCR order')
    catalogue.add('event', { kind: 'snowflake' })
    catalogue.add('order', { kind: 'sequence' })
    assert.deepEqual(await lines(true), ['redis-cli -p 7379 INCR order'])
  })

  test('comes from a kind that this process serves, if another process owns the store', async () => {
    const { catalogue, lines } = start()
    catalogue.add('order', { kind: 'sequence' })
    assert.deepEqual(await lines(false), [
      'redis-cli -p 7379 ID.CREATE user KIND segment',
      'redis-cli -p 7379 INCR user',
    ])
    catalogue.add('event', { kind: 'snowflake' })
    assert.deepEqual(await lines(false), ['redis-cli -p 7379 ID.NEXT event'])
  })

  test('comes by TLS from the listeners that speak it', async () => {
    const http = { host: '0.0.0.0', port: 7380 }
    const files = { tlsCert: 'cert.pem', tlsKey: 'key.pem', tlsCa: 'our ca.pem' }
    const one = start(files, { resp, http })
    one.catalogue.add('order', { kind: 'sequence' })
    assert.deepEqual(await one.lines(true), [
      "redis-cli --tls --cacert 'our ca.pem' -p 7379 INCR order",
      "curl --cacert 'our ca.pem' -X POST https://127.0.0.1:7380/v1/generators/order/next",
      'https://127.0.0.1:7380/',
    ])
    const other = start(
      { ...files, tlsCa: 'ca.pem', tlsOn: ['http'], tlsClientAuth: 'required' },
      { resp, http },
    )
    other.catalogue.add('order', { kind: 'sequence' })
    assert.deepEqual((await other.lines(true)).slice(0, 2), [
      'redis-cli -p 7379 INCR order',
      'curl --cacert ca.pem --cert cert.pem --key key.pem -X POST https://127.0.0.1:7380/v1/generators/order/next',
    ])
  })

  test('comes with the login of a user that may draw it', async () => {
    const access = await accessOf({
      zoe: ['on', '>secret', '~*', '+@all'],
      alice: ['on', '>secret', '~user*', '+@issue'],
      bob: ['on', '>secret', '~order', '+@issue'],
      dave: ['off', '>secret', '~*', '+@all'],
    })
    const { catalogue, lines } = start({}, { resp, http: { host: '127.0.0.1', port: 7380 } }, access)
    assert.deepEqual((await lines(true)).slice(0, 2), [
      'redis-cli --user zoe --askpass -p 7379 ID.CREATE order KIND sequence',
      'redis-cli --user zoe --askpass -p 7379 INCR order',
    ])
    catalogue.add('order', { kind: 'sequence' })
    assert.deepEqual((await lines(true)).slice(0, 2), [
      'redis-cli --user bob --askpass -p 7379 INCR order',
      'curl -u bob -X POST http://127.0.0.1:7380/v1/generators/order/next',
    ])
  })

  test('comes without a login where the user default may draw it', async () => {
    const access = await accessOf({
      admin: ['on', '>secret', '~*', '+@all'],
      default: ['on', 'nopass', '~order', '+@issue'],
    })
    const { catalogue, lines } = start({}, { resp }, access)
    catalogue.add('order', { kind: 'sequence' })
    assert.deepEqual(await lines(true), ['redis-cli -p 7379 INCR order'])
  })
})
