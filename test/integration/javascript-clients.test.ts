/** Every JavaScript client of Redis, old versions too: ids past 2^53−1 arrive exactly or not at all. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, describe, test } from 'node:test'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'

/** As far as the versions are alike. */
type Client = {
  connect?(): Promise<unknown>
  on(event: 'error', listener: () => void): void
  incr(name: string, callback?: (error: Error | null, id: unknown) => void): unknown
  destroy?(): void
  disconnect?(): void
  end?(flush: boolean): void
}

const load = createRequire(import.meta.url)

const clients: readonly (readonly [title: string, make: (port: number) => Client])[] = [
  ['redis 3', (port) => load('redis-3').createClient({ port })],
  ['redis 6 over RESP2', (port) => load('redis').createClient({ socket: { port }, RESP: 2 })],
  ['redis 6 over RESP3', (port) => load('redis').createClient({ socket: { port }, RESP: 3 })],
  ['ioredis 4', (port) => new (load('ioredis-4'))(port)],
  ['ioredis 5', (port) => new (load('ioredis-5').Redis)(port)],
  ['ioredis 6 over RESP2', (port) => new (load('ioredis').Redis)({ port, protocol: 2 })],
  ['ioredis 6 over RESP3', (port) => new (load('ioredis').Redis)({ port, protocol: 3 })],
  ['iovalkey', (port) => new (load('iovalkey').Redis)(port)],
]

const draws = 1000

describe('a JavaScript client', () => {
  let server: FahaoServer
  const scope = new Scope()
  before(async () => {
    server = await startFahao(scope, {
      args: ['--auto-create', 'flake=snowflake', '--rounding-guard', 'strict'],
    })
  })
  after(() => scope.end())

  for (const [title, make] of clients) {
    test(`${title} holds ${draws} distinct snowflakes of as many INCR, or gets an error for each`, async (t) => {
      const client = make(server.resp)
      client.on('error', () => {})
      t.after(() => (client.destroy ?? client.disconnect ?? client.end)!.call(client, false))
      // redis 3 has callbacks, the older clients connect by themselves.
      const isOld = title === 'redis 3'
      if (title.startsWith('redis') && !isOld) await client.connect!()
      const incr = () =>
        isOld
          ? new Promise((resolve, reject) => {
              client.incr('flake', (error, id) => (error === null ? resolve(id) : reject(error)))
            })
          : client.incr('flake')
      const replies = await Promise.allSettled(Array.from({ length: draws }, incr))
      const ids = replies
        .filter(({ status }) => status === 'fulfilled')
        .map((reply) => reply as { value: unknown })
      if (title.endsWith('RESP3')) {
        assert.equal(new Set(ids.map(({ value }) => String(value))).size, draws)
        return assert.ok(ids.every(({ value }) => typeof value !== 'number'))
      }
      assert.deepEqual(ids, [])
      for (const reply of replies) {
        assert.match(String((reply as PromiseRejectedResult).reason), /UNSAFE .*ID\.NEXT flake/)
      }
    })
  }
})
