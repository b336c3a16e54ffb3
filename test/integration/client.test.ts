/** fahao-client on a real server, over RESP and over HTTP. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
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
async function connected(t: TestContext, url: string | readonly string[], options: ClientOptions = {}) {
  const client = await connect(url, options)
  t.after(() => client.close())
  return client
}

/** Everything that is listed. */
async function listed<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const all: Value[] = []
  for await (const value of values) all.push(value)
  return all
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
        message:
          /^generator 'three:\w+' has reached its maximum 3; raise it with client\.alter\('three:\w+', \{ max: N \}\)/,
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

    test('generators are created, described, listed, altered and dropped, and errors advise in its words', async (t) => {
      const client = await connected(t, url())
      const prefix = `made:${protocol}`
      const name = `${prefix}:user`
      const options = {
        kind: 'segment',
        start: 10n ** 17n,
        step: 50,
        within: 'shuffled',
        format: 'u{id}',
      } as const
      await assert.rejects(client.generator(name), {
        code: 'NOGENERATOR',
        message: new RegExp(`client\\.generator\\('${name}', \\{ kind: 'sequence' \\}\\)$`),
      })
      const user = await client.generator(name, options)
      assert.equal(await client.generator(name, options), user)
      await assert.rejects(client.generator(name, { kind: 'sequence' }), { code: 'EXISTS' })
      const text = await user.nextText()
      const clock = `clock:${name}`
      await client.generator(clock, { kind: 'snowflake', format: '{id:19}' })
      const day = await client.bounds(clock, new Date('2019-05-04T00:00:00Z'), '2019-05-05T00:00:00Z')
      assert.deepEqual(day, {
        ranges: [{ start: 1_124_463_648_568_246_272n, end: 1_124_826_036_433_846_272n }],
        texts: [{ start: '1124463648568246272', end: '1124826036433846272' }],
        where: "id >= '1124463648568246272' AND id < '1124826036433846272'",
        notes: [],
      })
      const history = await client.generator(`history:${name}`, { kind: 'snowflake', past: 1 })
      const at = new Date('2019-05-04T12:00:00Z')
      const past = [
        await history.next({ at }),
        ...(await history.nextBatch(2, { at: '2019-05-04T12:00:00Z' })),
      ]
      assert.deepEqual(
        past,
        [0n, 1n, 2n].map((each) => 1_124_644_842_503_143_424n + each),
      )
      assert.ok((await history.next()) > past[2]!)
      const later = await client.bounds(clock, 1_556_928_000_000)
      assert.deepEqual(later.ranges, [{ start: 1_124_463_648_568_246_272n, end: undefined }])
      assert.equal(await client.smallestIdAt(clock, 1_556_928_000_000), 1_124_463_648_568_246_272n)
      await assert.rejects(client.bounds(name, 0), { code: 'WRONGTYPE' })
      const scattered = `${clock}-scattered`
      const layout = 'scatter:4,time:41,node:6,sequence:6;epoch=2015-01-01T00:00:00Z'
      await client.generator(scattered, { kind: 'snowflake', layout })
      await assert.rejects(client.smallestIdAt(scattered, 1_556_928_000_000), {
        code: 'WRONGTYPE',
        message: /use bounds/,
      })
      const described = await client.describe(name)
      assert.deepEqual(
        { ...described, bound: undefined, lastIssued: undefined, notes: [], options: undefined },
        {
          name,
          kind: 'segment',
          options: undefined,
          incarnation: 1n,
          mode: 'node',
          leader: undefined,
          bound: undefined,
          lastIssued: undefined,
          exhaustedAt: undefined,
          notes: [],
        },
      )
      assert.ok(described.bound! > BigInt(text.slice(1)))
      assert.ok(described.notes.includes('ids are shuffled within blocks: no order'))
      const { kind, start, step, within, format, scramble } = described.options
      assert.deepEqual(
        { kind, start, step, within, format, scramble },
        { ...options, start: String(10n ** 17n), step: '50', scramble: 'off' },
      )

      const order = await client.generator(`${prefix}:order`, { kind: 'sequence', max: 3n })
      assert.deepEqual(await listed(client.list({ match: `${prefix}:*` })), [
        { name: `${prefix}:order`, kind: 'sequence' },
        { name, kind: 'segment' },
      ])
      await order.nextBatch(3)
      await assert.rejects(order.next(), { code: 'EXHAUSTED', message: /raise it with client\.alter\(/ })
      await client.alter(`${prefix}:order`, { max: 1000n, floor: 500n, force: true })
      assert.equal(await order.next(), 500n)
      await assert.rejects(client.alter(`${prefix}:none`, { max: 5 }), { code: 'NOGENERATOR' })
      assert.deepEqual([await client.drop(name), await client.drop(name)], [true, false])
      await assert.rejects(client.describe(name), { code: 'NOGENERATOR' })
      assert.deepEqual(await listed(client.list({ match: name })), [])
      await assert.rejects(client.generator('no way', { kind: 'sequence' }), { code: 'ERR' })
    })

    test('a caller that aborts gets the reason of its signal', async (t) => {
      const client = await connected(t, url())
      const order = await client.generator('order')
      const stop = new AbortController()
      const waiting = order.next({ signal: stop.signal })
      const reason = new TypeError('the request of our own client has ended')
      stop.abort(reason)
      await assert.rejects(waiting, (error) => error === reason)
      await assert.rejects(order.next({ signal: stop.signal }), (error) => error === reason)
      await assert.rejects(order.next({ signal: AbortSignal.abort() }), { name: 'AbortError' })
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

test('while no node can be reached connect rejects, and says which nodes it has asked and what to do', async () => {
  for (const scheme of ['redis', 'http']) {
    const nodes = [`${scheme}://127.0.0.1:1`, `${scheme}://127.0.0.1:2`]
    const urls = nodes.map((node) => node.replace('//', '//alice:secret@'))
    await assert.rejects(connect(urls, { connectTimeoutMs: 200 }), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'UNAVAILABLE')
      assert.match(error.message, /^no node has answered for 200 ms of .* cannot be reached .* lazyConnect/)
      assert.ok(error.message.includes(nodes.join(', ')), error.message)
      assert.doesNotMatch(error.message, /secret/)
      return true
    })
  }
})

test('a program that may start before its service connects lazily: its first call fails until then, in time', async (t) => {
  const client = await connected(t, 'redis://127.0.0.1:1', { lazyConnect: true, timeoutMs: 200 })
  await assert.rejects(client.generator('order'), {
    code: 'UNAVAILABLE',
    message: /127\.0\.0\.1:1 (?:cannot be reached|has not answered)/,
  })
})

test('connect asks each node of its list, also behind one that accepts connections and is silent', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => silent.close())
  const { port } = silent.address() as AddressInfo
  for (const [scheme, alive] of [
    ['redis', server.resp],
    ['http', Number(new URL(server.http).port)],
  ] as const) {
    const urls = [port, 1, alive].map((each) => `${scheme}://127.0.0.1:${each}`)
    const client = await connected(t, urls, { connectTimeoutMs: 2000 })
    assert.equal((await (await client.generator('order')).next()) > 0n, true)
  }
})
