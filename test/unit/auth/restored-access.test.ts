/** What a restore brings back of users and tokens, and that its operator is told. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { restoredAccess } from '../../../src/auth/restored-access.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { revivedLines } from '../../../src/cli/verbs/backup.ts'
import { backupSqlite, recordsOfStore, restoreSqlite } from '../../../src/engine/sqlite/backup.ts'
import { openSqlite } from '../../../src/engine/sqlite/engine.ts'
import { engineOptions } from '../../conformance/store-under-test.ts'
import { temporaryFolder } from '../../launch/places.ts'
import { openAccess, setUser } from './open-access.ts'

/** A store with users and tokens, its copy, and what was undone since. */
async function start(t: TestContext) {
  const folder = temporaryFolder(t)
  const [file, copy] = [join(folder, 'fahao.db'), join(folder, 'copy.db')]
  const opened = async () => {
    const engine = await openSqlite(file, engineOptions())
    const access = await openAccess(engine)
    const close = async () => {
      access.close()
      await engine.close()
    }
    const set = setUser.bind(null, access)
    const token = async (user: string, label: string, lifetimeMs?: number) =>
      (await access.tokens.create({ user, label, lifetimeMs, by: user })).token.id
    return { access, close, set, token }
  }
  const { access, close, set, token } = await opened()
  await set('admin', 'on', '>root', '~*', '+@all')
  await set('leaver', 'on', '>pw', '~*', '+@issue')
  await set('stays', 'on', '>old', '~*', '+@issue')
  await set('demoted', 'on', '>pw', '~*', '+@manage')
  await set('same', 'on', '>pw')
  const ids = {
    kept: await token('same', 'kept'),
    revoked: await token('stays', 'lost laptop'),
    leavers: await token('leaver', ''),
    expired: await token('stays', 'short', 0),
  }
  backupSqlite(file, copy)
  await access.users.remove('leaver')
  await set('stays', 'resetpass', '>new')
  await set('demoted', '-@manage')
  await access.tokens.revoke(ids.revoked)
  await close()
  const restore = (revokesTokens: boolean, replaced = recordsOfStore(file)) => {
    const restored = restoredAccess(replaced, Date.now(), revokesTokens)
    restoreSqlite(copy, file, { skip: 0n, clock: systemClock, repair: restored.repair })
    return restored.revived()
  }
  return { file, ids, opened, restore }
}

test('a restore names the users, passwords, permissions and tokens that it brings back', async (t) => {
  const { ids, opened, restore } = await start(t)
  const revived = restore(false)
  assert.deepEqual(
    { ...revived, tokens: [...revived.tokens].sort() },
    {
      isCompared: true,
      removedUsers: ['leaver'],
      passwords: ['stays'],
      permissions: ['demoted'],
      tokens: [`${ids.revoked} of stays (lost laptop)`, `${ids.leavers} of leaver`].sort(),
    },
  )
  const said = revivedLines(revived, false).join('\n')
  for (const name of ['leaver', 'stays', 'demoted', ids.revoked, '--revoke-tokens', 'fahao user remove'])
    assert.ok(said.includes(name), name)
  assert.equal(said.includes(ids.kept), false)
  const { access, close } = await opened()
  assert.equal((await access.login('leaver', 'pw', '10.0.0.1')).user, 'leaver')
  await close()
})

test('a restore can revoke every token of the copy', async (t) => {
  const { ids, opened, restore } = await start(t)
  const revived = restore(true)
  assert.deepEqual(revived.tokens, [])
  assert.match(revivedLines(revived, true).join('\n'), /every token of the copy was revoked/)
  const { access, close } = await opened()
  assert.deepEqual(
    Object.values(ids).map((id) => access.tokens.access(id)),
    [undefined, undefined, undefined, undefined],
  )
  await close()
})

test('a restore without the store before names everything that the copy has', async (t) => {
  const { file, restore } = await start(t)
  assert.equal(recordsOfStore(`${file}.none`), undefined)
  assert.equal(recordsOfStore(join(import.meta.dirname, 'revived.test.ts')), undefined)
  const restored = restore(false, [])
  const revived = { ...restored, isCompared: false }
  assert.deepEqual([...revived.removedUsers].sort(), ['admin', 'demoted', 'leaver', 'same', 'stays'])
  assert.equal(revived.tokens.length, 3)
  assert.match(revivedLines(revived, false).join('\n'), /cannot be read.*leaver[\s\S]*may have been revoked/)
})
