import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { firstIdSteps } from '../../../src/cli/first-id.ts'
import { fakeNode } from '../http/fake-node.ts'

const resp = { host: '127.0.0.1', port: 7379 }

function start() {
  const { catalogue } = fakeNode()
  const lines = async (strict: boolean, clustered = false) =>
    (await firstIdSteps(catalogue as never, { resp, http: undefined }, { strict, clustered })).map(
      ({ line }) => line,
    )
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
})
