/** The audit trail of a real server, over a crash, and of commands that change its store without it. */
import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../launch/fahao.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { asking, type Ended, fahao, logged } from './cli-program.ts'

type Entry = { readonly event: string; readonly object: string; readonly user: string; readonly door: string }

/** The entries, oldest first, once there are `count`. */
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

async function answerTo(client: RawClient, password: string): Promise<string> {
  const reply = await client.command('AUTH', 'admin', password)
  return reply instanceof ReplyError ? reply.text : String(reply)
}

test('an administrator whose password is lost is let in again by the store, while the server runs', async (t) => {
  const server = await startFahao(t, { env: { FAHAO_ADMIN_PASSWORD: 'lost' } })
  const recover = ['user', 'recover', '--engine', server.engine]
  const refused = await fahao(t, recover)
  assert.match(refused.stderr, /no password: give it with --password-stdin/)
  const recovered = await fahao(t, [...recover, '--password-stdin'], {}, 'found\n')
  assert.equal(recovered.code, 0, recovered.stderr)
  const client = await server.connect()
  while ((await answerTo(client, 'found')) !== 'OK') await pause(200)
  assert.match(await answerTo(client, 'lost'), /^WRONGPASS/)
  const env = { FAHAO_URL: server.http, FAHAO_USER: 'admin', FAHAO_PASSWORD: 'found' }
  const { stdout } = await fahao(t, ['audit', '--event', 'user-set'], env)
  assert.match(stdout, new RegExp(`user-set +admin +${userInfo().username} +cli .*recovered`))
})

test('a change is in the audit trail after a clean stop at once', async (t) => {
  const server = await startFahao(t)
  const run = asking(t, server)
  const client = await server.connect()
  await client.command('SETNX', 'order', '1')
  await server.restart()
  assert.equal((await entriesOf(run, 1))[0]?.object, 'order')
})
