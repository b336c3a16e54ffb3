/** A log that cannot be written must not stop issuing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFahao } from '../launch/fahao.ts'

test('a server whose log disk is full issues on, and stops when it is told to', async (t) => {
  const server = await startFahao(t, {
    args: ['--auto-create', '*=snowflake'],
    // `exec` leaves node in the place of the shell; every write to /dev/full fails for want of room.
    wrapper: ['sh', '-c', 'exec "$@" > /dev/full', 'sh'],
  })
  const client = await server.connect()
  // The first snowflake logs the claim of a worker id.
  assert.match(String(await client.command('ID.NEXT', 'event')), /^\d+$/)
  assert.match(String(await client.command('ID.NEXT', 'event')), /^\d+$/)
  assert.deepEqual(await server.kill('SIGTERM'), { code: 0, signal: null })
})
