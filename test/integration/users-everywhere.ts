/** What holds of users on servers that share an engine: a change on one is in force on all, on open connections too. */
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { type Lifetime, Scope } from '../launch/lifetime.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { type RawReply, ReplyError } from '../launch/raw-reply.ts'

const password = 'the-password-of-the-administrator'
/** A change is in force within a second; a busy machine that runs other tests gets more time. */
const withinMs = 15_000

/** The shared store. */
export type SharedEngine = {
  readonly url: string
  /** Makes the store answer nothing, until the result is called. Absent: the store is in the processes. */
  readonly interrupt?: () => Promise<() => void | Promise<void>>
}

/** A connection of a user; rejects if the login fails. */
export async function loginTo(server: FahaoServer, user: string, secret: string): Promise<RawClient> {
  const client = await server.connect()
  assert.equal(textOf(await client.command('AUTH', user, secret)), 'OK')
  return client
}

function textOf(reply: RawReply): string {
  return reply instanceof ReplyError ? reply.text : String(reply)
}

/** Resolves to the milliseconds that it took until `isSo`. */
async function until(what: string, isSo: () => Promise<boolean>): Promise<number> {
  const started = performance.now()
  while (!(await isSo())) {
    assert.ok(performance.now() - started < withinMs, `not within ${withinMs} ms: ${what}`)
    await pause(5)
  }
  return performance.now() - started
}

/** The tests, with `count` servers on the engine that `open` returns. */
export function describeUsers(
  title: string,
  count: number,
  open: (lifetime: Lifetime) => Promise<SharedEngine>,
): void {
  describe(`users of ${count} servers on ${title}`, () => {
    const scope = new Scope()
    const servers: FahaoServer[] = []
    const admins: RawClient[] = []
    let engine: SharedEngine

    before(async () => {
      engine = await open(scope)
      for (let index = 0; index < count; index++) {
        const env = { FAHAO_ADMIN_PASSWORD: password }
        const args = ['--call-timeout', '1s']
        const server = await startFahao(scope, { engine: engine.url, env, args, readyWithinMs: 60_000 })
        servers.push(server)
        admins.push(await loginTo(server, 'admin', password))
      }
      assert.equal(textOf(await admins[0]!.command('ID.CREATE', 'order', 'KIND', 'segment')), 'OK')
    })
    after(() => scope.end())

    const setUser = async (index: number, ...words: string[]) =>
      assert.equal(textOf(await admins[index]!.command('ACL', 'SETUSER', ...words)), 'OK')

    /** The keys that ACL GETUSER has for a user; undefined: there is none. */
    async function keysOf(index: number, user: string): Promise<string | undefined> {
      const reply = await admins[index]!.command('ACL', 'GETUSER', user)
      if (reply === null) return undefined
      const fields = reply as RawReply[]
      return String(fields[fields.indexOf('keys') + 1])
    }

    /** Waits until all other servers have it, and prints how long the slowest took. */
    async function everywhere(t: TestContext, what: string, isSo: (index: number) => Promise<boolean>) {
      const times = await Promise.all(admins.map((_, index) => until(what, () => isSo(index))))
      t.diagnostic(`${what}: ${Math.max(...times).toFixed(0)} ms after the acknowledgement`)
    }

    test('log in on every server once one has created them', async (t) => {
      await setUser(0, 'alice', 'on', '>pw', '~order*', '+@all', '-@admin')
      await everywhere(t, 'a new user', async (index) => (await keysOf(index, 'alice')) === '~order*')
      for (const server of servers) {
        const client = await loginTo(server, 'alice', 'pw')
        assert.match(textOf(await client.command('ID.NEXT', 'order')), /^\d+$/)
        assert.match(textOf(await client.command('GET', 'foreign')), /^NOPERM/)
      }
    })

    test('get a changed pattern on an open connection, in the middle of its pipeline', async (t) => {
      const last = count - 1
      const client = await loginTo(servers[last]!, 'alice', 'pw')
      const answers: string[] = []
      let isOver = false
      const pipelining = (async () => {
        while (!isOver) {
          for (let index = 0; index < 20; index++) client.sendCommand('ID.NEXT', 'order')
          answers.push(...(await client.readMany(20)).map(textOf))
        }
      })()
      await until('a full pipeline', async () => answers.length > 200)
      await setUser(0, 'alice', 'resetkeys', '~other*')
      const ms = await until('a refused pipeline', async () => /NOPERM/.test(answers.at(-1)!))
      t.diagnostic(`a changed pattern: ${ms.toFixed(0)} ms after the acknowledgement`)
      isOver = true
      await pipelining
      const firstRefused = answers.findIndex((answer) => answer.startsWith('NOPERM'))
      assert.ok(answers.slice(0, firstRefused).every((answer) => /^\d+$/.test(answer)))
      assert.ok(answers.slice(firstRefused).every((answer) => answer.startsWith('NOPERM')))
      assert.equal(new Set(answers.slice(0, firstRefused)).size, firstRefused, 'no id twice')
    })

    test('lose a transaction that was queued under earlier permissions', async () => {
      await setUser(0, 'alice', 'resetkeys', '~order*')
      await until('the pattern', async () => (await keysOf(count - 1, 'alice')) === '~order*')
      const client = await loginTo(servers[count - 1]!, 'alice', 'pw')
      assert.deepEqual(await Promise.all([client.command('MULTI')]), ['OK'])
      assert.equal(await client.command('ID.NEXT', 'order'), 'QUEUED')
      await setUser(0, 'alice', 'resetkeys', '~other*')
      await until('the pattern', async () => (await keysOf(count - 1, 'alice')) === '~other*')
      const reply = (await client.command('EXEC')) as RawReply
      const refused = Array.isArray(reply) ? reply.map(textOf) : [textOf(reply)]
      assert.match(refused.join(), /^(NOPERM|EXECABORT)/)
    })

    test('lose their open connections on every server when they are dropped', async (t) => {
      const clients = await Promise.all(servers.map((server) => loginTo(server, 'alice', 'pw')))
      assert.equal(await admins[0]!.command('ACL', 'DELUSER', 'alice'), 1n)
      const started = performance.now()
      await Promise.race([
        Promise.all(clients.map(({ closed }) => closed)),
        pause(withinMs, undefined, { ref: false }).then(() => assert.fail('a connection stays open')),
      ])
      t.diagnostic(`dropped: ${(performance.now() - started).toFixed(0)} ms after the acknowledgement`)
      for (const server of servers) {
        const client = await server.connect()
        assert.match(textOf(await client.command('AUTH', 'alice', 'pw')), /^WRONGPASS/)
      }
    })

    test('that two servers change at once have both changes', async (t) => {
      await setUser(0, 'dave', 'on', '>pw', '+@all')
      await everywhere(t, 'the user', async (index) => (await keysOf(index, 'dave')) !== undefined)
      const changes = Array.from({ length: 6 }, (_, index) => index)
      const change = async (index: number) => {
        const client = await loginTo(servers[index % count]!, 'admin', password)
        const set = async (...words: string[]) =>
          assert.equal(textOf(await client.command('ACL', 'SETUSER', ...words)), 'OK')
        await set('dave', `~p${index}*`)
        await set(`user${index}`, 'on', '~x*')
      }
      await Promise.all(changes.map(change))
      await everywhere(t, 'six changes at once', async (index) => {
        const keys = (await keysOf(index, 'dave')) ?? ''
        for (const each of changes) {
          if (!keys.includes(`~p${each}*`) || (await keysOf(index, `user${each}`)) !== '~x*') return false
        }
        return true
      })
    })

    test('log in while the engine is away, and no change of them is accepted', async (t) => {
      if (engine.interrupt === undefined) return t.diagnostic('the engine is in the processes')
      await setUser(0, 'erin', 'on', '>pw', '~order*', '+@all')
      await everywhere(t, 'a user', async (index) => (await keysOf(index, 'erin')) !== undefined)
      const restore = await engine.interrupt()
      for (const [index, server] of servers.entries()) {
        const client = await loginTo(server, 'erin', 'pw')
        assert.match(textOf(await client.command('PING')), /PONG/)
        const refused = textOf(await admins[index]!.command('ACL', 'SETUSER', 'erin', 'resetkeys', '~late*'))
        assert.match(refused, /^(UNAVAILABLE|UNKNOWN) /)
        assert.match(
          textOf(await admins[index]!.command('ACL', 'DELUSER', 'erin')),
          /^(UNAVAILABLE|UNKNOWN) /,
        )
        assert.equal(await keysOf(index, 'erin'), '~order*')
      }
      await restore()
      let name = 0
      await until('a change after the return', async () => {
        return textOf(await admins[0]!.command('ACL', 'SETUSER', `back${name++}`, 'on', '~x*')) === 'OK'
      })
    })

    test('outlive the server that was asked to create them', async (t) => {
      const survivor = count - 1
      await setUser(0, 'frank', 'on', '>pw', '~order*', '+@all')
      await servers[0]!.kill('SIGKILL')
      const ms = await until('the user', async () => (await keysOf(survivor, 'frank')) === '~order*')
      t.diagnostic(`after kill -9: ${ms.toFixed(0)} ms`)
      await loginTo(servers[survivor]!, 'frank', 'pw')
    })
  })
}
