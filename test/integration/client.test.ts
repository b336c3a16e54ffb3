/** fahao-client on a real server, over RESP and over HTTP. */
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type ClientOptions, connect } from '../../client/src/index.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { startTcpProxy } from '../launch/tcp-proxy.ts'

const scope = new Scope()
let server: FahaoServer

before(async () => {
  server = await startFahao(scope)
  const client = await server.connect()
  for (const definition of [
    ['order', 'KIND', 'sequence'],
    ['few:RESP', 'KIND', 'sequence', 'MAX', '10'],
    ['few:HTTP', 'KIND', 'sequence', 'MAX', '10'],
    ['big', 'KIND', 'sequence', 'START', String(2n ** 53n)],
    ['three:RESP', 'KIND', 'segment', 'MAX', '3'],
    ['three:HTTP', 'KIND', 'segment', 'MAX', '3'],
    ['five:RESP', 'KIND', 'segment', 'MAX', '5'],
    ['five:HTTP', 'KIND', 'segment', 'MAX', '5'],
    ['time', 'KIND', 'timestamp'],
    ['user', 'KIND', 'segment', 'FORMAT', 'u{id:8}'],
    ['event', 'KIND', 'snowflake'],
    ['coupon', 'KIND', 'segment', 'SCRAMBLE', 'on', 'MAX', '999999'],
  ])
    assert.equal(await client.command('ID.CREATE', ...definition), 'OK')
})
after(() => scope.end())

/** A client that is closed with its test. */
async function connected(t: TestContext, url: string, options: ClientOptions = {}) {
  const client = await connect(url, options)
  t.after(() => client.close())
  return client
}

for (const protocol of ['RESP', 'HTTP'] as const) {
  describe(`over ${protocol}`, () => {
    const url = () => (protocol === 'RESP' ? `redis://127.0.0.1:${server.resp}` : server.http)

    test('ids of every kind are distinct, and increase where the kind is ordered', async (t) => {
      const client = await connected(t, url())
      for (const name of ['order', 'time', 'user', 'event', 'coupon']) {
        const generator = await client.generator(name)
        const one = await generator.next()
        const ids = [one, ...(await generator.nextBatch(500)), await generator.next()]
        assert.equal(new Set(ids).size, 502, name)
        if (name === 'coupon') continue
        assert.deepEqual(
          ids,
          ids.toSorted((a, b) => (a < b ? -1 : 1)),
          name,
        )
      }
    })

    test('calls of one turn share a request of a strict kind, and each gets its own id', async (t) => {
      const client = await connected(t, url())
      const order = await client.generator('order')
      const ids = await Promise.all(Array.from({ length: 100 }, () => order.next()))
      assert.equal(ids.at(-1)! - ids[0]!, 99n)
      const { requests, issued, waits } = order.stats()
      assert.deepEqual({ requests, issued, waits }, { requests: 1, issued: 100, waits: 100 })
      assert.equal(order.tryNext(), undefined)
    })

    test('ids of a segment are buffered: the next ones need no request', async (t) => {
      const client = await connected(t, url())
      const user = await client.generator('user')
      const first = user.tryNextNumber()!
      assert.equal(user.tryNext(), BigInt(first + 1))
      assert.equal(user.tryNextText(), `u${String(first + 2).padStart(8, '0')}`)
      assert.equal(user.stats().issued, 3)
    })

    test('a loop that takes ids as fast as it can never gets one twice', async (t) => {
      const client = await connected(t, url())
      const user = await client.generator('user')
      let last = 0
      for (let taken = 0; taken < 200_000; taken++) {
        const id = user.tryNextNumber() ?? (await user.nextNumber())
        assert.ok(id > last)
        last = id
      }
      assert.ok(user.stats().requests <= 15, `${user.stats().requests} requests`)
    })

    test('the last ids of a generator reach the callers that they suffice for', async (t) => {
      const client = await connected(t, url())
      const few = await client.generator(`few:${protocol}`)
      assert.equal(await few.next(), 1n)
      const settled = await Promise.allSettled(Array.from({ length: 12 }, () => few.next()))
      const got = settled.filter(({ status }) => status === 'fulfilled')
      assert.equal(got.length, 9)
      await assert.rejects(few.next(), { code: 'EXHAUSTED' })
    })

    test('all ids of a small segment come out before it is EXHAUSTED, which says what to do', async (t) => {
      const client = await connected(t, url())
      const three = await client.generator(`three:${protocol}`)
      assert.deepEqual([await three.next(), await three.nextNumber(), three.tryNext()], [1n, 2, 3n])
      assert.equal(three.tryNext(), undefined)
      const exhausted = {
        code: 'EXHAUSTED',
        message: /^generator 'three:\w+' has reached its maximum 3; raise MAX/,
      }
      await assert.rejects(three.next(), exhausted)
      await assert.rejects(three.nextNumber(), exhausted)
      const other = await connected(t, url())
      await assert.rejects(other.generator(`three:${protocol}`), exhausted)
    })

    test('the last ids of a segment reach the callers that they suffice for', async (t) => {
      const client = await connected(t, url())
      const five = await client.generator(`five:${protocol}`)
      const calls = [2, 4, 2, 1, 1].map((count) => five.nextBatch(count).catch(({ code }) => code))
      const outcomes = [[1n, 2n], 'EXHAUSTED', [3n, 4n], [5n], 'EXHAUSTED']
      assert.deepEqual(await Promise.all(calls), outcomes)
    })

    test('an id above 2^53−1 is no number', async (t) => {
      const client = await connected(t, url())
      const big = await client.generator('big')
      await assert.rejects(big.nextNumber(), { code: 'UNSAFE' })
      assert.ok((await big.next()) > 2n ** 53n)
    })

    test('an unknown generator is the error of the service', async (t) => {
      const client = await connected(t, url())
      await assert.rejects(client.generator('nothing'), { code: 'NOGENERATOR' })
    })

    test('a caller that aborts gets ABORTED', async (t) => {
      const client = await connected(t, url())
      const order = await client.generator('order')
      const stop = new AbortController()
      const waiting = order.next({ signal: stop.signal })
      stop.abort()
      await assert.rejects(waiting, { code: 'ABORTED' })
      await assert.rejects(order.next({ signal: stop.signal }), { code: 'ABORTED' })
    })

    test('a reply that is lost is asked for again: the ids of the first one are a gap', async (t) => {
      const proxy = await startTcpProxy(
        t,
        protocol === 'RESP' ? server.resp : Number(new URL(server.http).port),
      )
      const scheme = protocol === 'RESP' ? 'redis' : 'http'
      const client = await connected(t, `${scheme}://127.0.0.1:${proxy.port}`, { attemptTimeoutMs: 500 })
      const order = await client.generator('order')
      const first = await order.next()
      const dropped = proxy.dropReplyOf((request) => /ID\.RUNS|\/runs/.test(request.toString()))
      const second = await order.next()
      assert.equal(dropped.count, 1)
      assert.equal(second, first + 2n)
    })

    test('after close every call is refused', async (t) => {
      const client = await connected(t, url())
      const [order, user] = [await client.generator('order'), await client.generator('user')]
      await client.close()
      assert.equal(user.tryNext(), undefined)
      for (const call of [order.next(), user.next(), client.generator('order')])
        await assert.rejects(call, { code: 'SHUTDOWN' })
    })
  })
}

test('while no node can be reached a call fails once, in time, and says so', async () => {
  const client = await connect('redis://127.0.0.1:1', { timeoutMs: 200 })
  await assert.rejects(client.generator('order'), {
    code: 'UNAVAILABLE',
    message: /127\.0\.0\.1:1 (?:cannot be reached|has not answered)/,
  })
  await client.close()
})
