/** What logins leave in the audit trail. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Trail } from '../audit/trail.ts'
import { openAccess, setUser } from './open-access.ts'

async function start() {
  const trail = new Trail()
  const access = await openAccess(undefined, { audit: trail.audit, clock: trail.clock })
  const set = setUser.bind(null, access)
  await set('admin', 'on', '>secret', '~*', '+@all')
  return { trail, access, set }
}

test('a client certificate that names a user is a login, and one that names none is not', async () => {
  const { trail, access, set } = await start()
  await set('alice', 'on', '>pw', '~*', '+@issue')
  const from = { address: '10.0.0.1', door: 'resp' }
  assert.equal(access.initialOf('alice', from).user, 'alice')
  access.initialOf('alice')
  access.initialOf('mallory', from)
  access.initialOf(undefined, from)
  const entries = await trail.stored()
  assert.deepEqual(
    entries.map(({ event, user, address, detail, count }) => [event, user, address, detail, count]),
    [['login', 'alice', '10.0.0.1', 'certificate', 1]],
  )
})

test('attempts that are limited are recorded as such', async () => {
  const { trail, access } = await start()
  const attempts = Array.from({ length: 12 }, (_, each) =>
    access.login('admin', `guess${each}`, '10.0.0.1', 'http'),
  )
  for (const attempt of await Promise.allSettled(attempts)) assert.equal(attempt.status, 'rejected')
  await trail.clock.pass(61_000)
  const entries = await trail.stored()
  const counts = new Map<string | undefined, number>()
  for (const { detail, count } of entries) counts.set(detail, (counts.get(detail) ?? 0) + count)
  assert.equal((counts.get(undefined) ?? 0) + (counts.get('limited') ?? 0), 12)
  assert.ok(counts.get('limited')! >= 1)
  assert.doesNotMatch(JSON.stringify(entries), /guess/)
})
