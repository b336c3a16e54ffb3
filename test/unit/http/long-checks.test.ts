/** Permissions whose check takes long: the requests of their users are checked in turns. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildHttpApp } from '../../../src/http/app.ts'
import { turns } from '../../../src/listening/turns.ts'
import { basic, openAccess, setUser } from '../auth/open-access.ts'
import { fakeNode } from './fake-node.ts'

const url = '/v1/generators/order/next'
const requests = 20

async function appWith(...patterns: string[]) {
  const node = fakeNode()
  node.catalogue.add('order', { kind: 'sequence' })
  const access = await openAccess(undefined, { audit: node.trail.audit })
  await setUser(access, 'alice', 'on', '>pw', '+@all', ...patterns)
  Object.assign(node, { access })
  const app = buildHttpApp({ node, host: '127.0.0.1' })
  await app.ready()
  const headers = { host: 'localhost', authorization: basic('alice', 'pw') }
  // The password is checked once.
  await app.inject({ method: 'POST', url, headers })
  const before = turns.ended
  const answers = await Promise.all(
    Array.from({ length: requests }, () => app.inject({ method: 'POST', url, headers })),
  )
  return { statuses: new Set(answers.map(({ statusCode }) => statusCode)), ended: turns.ended - before }
}

/** Each range is compared with each character. */
const slow = Array.from({ length: 15 }, (_, index) => `~[${'b-c'.repeat(165)}]*${index}`)

test('requests whose names are compared with long patterns take a turn each, and are permitted then', async () => {
  const { statuses, ended } = await appWith(...slow, '~order')
  assert.deepEqual(statuses, new Set([200]))
  assert.ok(ended >= requests / 2, `${ended} turns`)
})

test('requests whose names no pattern matches take a turn each, and are refused then', async () => {
  const { statuses, ended } = await appWith(...slow)
  assert.deepEqual(statuses, new Set([403]))
  assert.ok(ended >= requests / 2, `${ended} turns`)
})
