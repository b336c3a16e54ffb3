/** The audit trail of a real server, over a crash, and of commands that change its store without it. */
import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../launch/fahao.ts'
import { asking, type Ended, logged } from './cli-program.ts'

type Entry = { readonly event: string; readonly object: string; readonly user: string; readonly door: string }

/** The entries, oldest first, once there are so many. */
async function entriesOf(run: (...args: string[]) => Promise<Ended>, count: number): Promise<Entry[]> {
  for (let reads = 0; ; reads++) {
    const { entries }: { entries: Entry[] } = JSON.parse((await run('audit', '--json')).stdout)
    if (entries.length >= count || reads === 100) return entries.reverse()
    await pause(50)
  }
}

test('the audit trail has the changes over both transports, and those of commands without a server, after a crash too', async (t) => {
  const server = await startFahao(t)
  const run = asking(t, server)
  assert.equal((await run('create', 'order', '--kind', 'sequence')).code, 0)
  const client = await server.connect()
  await client.command('SET', 'order', '5000')
  await entriesOf(run, 2)
  const line = logged(server, /audit: set 'order'/)
  assert.deepEqual([line?.event, line?.object, line?.door], ['set', 'order', 'resp'])
  await server.kill()
  const lowered = await run('lower', 'order', '--to', '50', '--force', '--engine', server.engine)
  assert.equal(lowered.code, 0, lowered.stderr)
  await server.restart()
  assert.deepEqual(
    (await entriesOf(run, 3)).map(({ event, object, user, door }) => [event, object, user, door]),
    [
      ['create', 'order', 'default', 'http'],
      ['set', 'order', 'default', 'resp'],
      ['lower', 'order', userInfo().username, 'cli'],
    ],
  )
  const { stdout } = await run('audit', '--event', 'set', '--since', '1h')
  assert.match(stdout, /^TIME .*\n\S+Z +set +order +default +resp 127\.0\.0\.1 +1 /)
})

test('a change is in the audit trail after a clean stop at once', async (t) => {
  const server = await startFahao(t)
  const run = asking(t, server)
  const client = await server.connect()
  await client.command('SETNX', 'order', '1')
  await server.restart()
  assert.equal((await entriesOf(run, 1))[0]?.object, 'order')
})
