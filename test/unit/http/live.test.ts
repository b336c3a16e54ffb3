/** `GET /v1/live`: what it tells which reader, when it ends, and what a client that does not read costs. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request as send } from 'node:http'
import { connect } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { startHttpServer } from '../../../src/http/server.ts'
import { turnBytesMax, turns } from '../../../src/listening/turns.ts'
import { busiestMax } from '../../../src/metrics/generator-survey.ts'
import { basic, openAccess, setUser } from '../auth/open-access.ts'
import { FakeClock } from '../fake-clock.ts'
import { fakeNode } from './fake-node.ts'
import { countingLooks, Reading, until } from './reading.ts'

async function start(t: TestContext, users: Readonly<Record<string, readonly string[]>> = {}) {
  const clock = new FakeClock(Date.UTC(2026, 10, 1) * 1000)
  const access = await openAccess()
  const set = setUser.bind(null, access)
  for (const [name, rules] of Object.entries(users)) await set(name, ...rules)
  const timeline = { nowUs: () => clock.wallUs(), monoUs: () => clock.monoUs() }
  const node = Object.assign(fakeNode(), { access, timeline })
  Object.assign(node.server, { runId: 'run-1' })
  const { traffic, looks } = countingLooks()
  const server = await startHttpServer({ node, host: '127.0.0.1', port: 0, clock, traffic })
  const readings: Reading[] = []
  t.after(() => {
    for (const reading of readings) reading.close()
    return server.close(0)
  })
  const add = (name: string, ratePerSecond = 1) => {
    const generator = node.catalogue.add(name, { kind: 'segment' })
    generator.figures = { ratePerSecond }
    return generator
  }
  const request = async (query = '', authorization?: string, localAddress = '127.0.0.1') => {
    const headers = authorization === undefined ? {} : { authorization }
    const sent = send({ port: server.port, path: `/v1/live${query}`, headers, localAddress, agent: false })
    sent.end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    return { sent, answer }
  }
  const read = async (...of: Parameters<typeof request>) => {
    const { sent, answer } = await request(...of)
    assert.equal(answer.statusCode, 200)
    const reading = new Reading(sent, answer)
    readings.push(reading)
    await until(() => reading.lines.length > 0)
    return reading
  }
  /** The status of a request for a stream that is refused, and what the problem says. */
  const refusal = async (...of: Parameters<typeof request>) => {
    const { answer } = await request(...of)
    const { detail } = JSON.parse(Buffer.concat(await answer.toArray()).toString())
    return [answer.statusCode, detail] as const
  }
  /** Lets seconds pass, each when the node has looked at the one before. */
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      const before = looks()
      await clock.pass(1000)
      await until(() => looks() > before)
    }
  }
  /** A second passes, in which each of these gets a line more. */
  const tick = async (...all: Reading[]) => {
    const before = all.map(({ lines }) => lines.length)
    await pass(1)
    await until(() => all.every(({ lines }, index) => lines.length > before[index]!))
  }
  return { node, access, set, clock, add, read, refusal, request, pass, tick, server, traffic }
}

describe('the live stream', () => {
  test('begins with the last hour, and tells totals once a second', async (t) => {
    const { clock, add, read, pass, tick, node } = await start(t)
    const order = add('order')
    await pass(2)
    order.next += 50n
    await pass(10)
    const reading = await read()
    assert.equal(reading.answer.headers['content-type'], 'application/x-ndjson')
    assert.equal(reading.answer.headers['cache-control'], 'no-store')
    const [history] = reading.lines
    assert.deepEqual(history, {
      type: 'history',
      process: 'run-1',
      node: 'run-1',
      stepSeconds: 10,
      endMs: Math.floor(clock.wallUs() / 10_000_000) * 10_000,
      issued: [50],
      errors: {},
      generators: { order: [50] },
      events: [{ atMs: clock.wallUs() / 1000 - 11_000, node: 'run-1', kind: 'health', state: 'ok' }],
    })
    order.next += 7n
    await tick(reading)
    await tick(reading)
    node.healthNow = { state: 'degraded', reason: 'the disk is full', inHandSeconds: 1 }
    await tick(reading)
    // It is noted after this second's tick.
    await tick(reading)
    const { cpuSeconds, memoryBytes, ...newest } = reading.newest
    assert.ok(cpuSeconds! > 0 && memoryBytes! > 2 ** 20)
    assert.deepEqual(newest, {
      type: 'tick',
      atMs: clock.wallUs() / 1000,
      node: 'run-1',
      state: 'degraded',
      reason: 'the disk is full',
      issued: 57,
      errors: {},
      events: [
        {
          atMs: clock.wallUs() / 1000 - 1000,
          node: 'run-1',
          kind: 'health',
          state: 'degraded',
          reason: 'the disk is full',
        },
      ],
      version: '1.2.3',
      generators: {
        order: {
          issued: 57,
          buffered: 1000,
          bufferedSeconds: null,
          refills: 1,
          waits: 0,
          kind: 'segment',
          waiting: 0,
          left: Number(order.definition.max! - 56n),
          endsSeconds: null,
          perSecond: 1,
          callersPerSecond: 0,
        },
      },
    })
  })

  test('tells of generators that are asked for, busy or not', async (t) => {
    const { add, read, pass, tick } = await start(t)
    for (let index = 0; index < busiestMax; index++) add(`busy${index}`)
    add('idle', 0)
    await pass(1)
    const [asked, other] = [await read('?generators=idle,none'), await read()]
    await tick(asked, other)
    const busy = Object.keys(other.newest.generators)
    assert.ok(busy.length === busiestMax && !busy.includes('idle'))
    assert.deepEqual(Object.keys(asked.newest.generators), [...busy, 'idle'])
  })

  test('ends after as many ticks as are asked for', async (t) => {
    const { read, tick } = await start(t)
    const [none, one] = [await read('?ticks=0'), await read('?ticks=1')]
    await until(() => none.isOver)
    await tick(one)
    await until(() => one.isOver)
    assert.deepEqual([none.lines.length, one.lines.length], [1, 2])
  })

  test('counts the errors that clients get, and not its own time', async (t) => {
    const { read, refusal, tick, traffic } = await start(t)
    const reading = await read()
    assert.equal((await refusal('?generators=a&x=1'))[0], 400)
    await tick(reading)
    assert.deepEqual(reading.newest.errors, { ERR: 1 })
    const counted = () =>
      Object.values(traffic.requests.times)
        .flatMap(({ counts }) => counts)
        .reduce((sum, each) => sum + each)
    const before = counted()
    const over = await read('?ticks=0')
    await until(() => over.isOver)
    assert.equal(counted(), before)
  })

  test('answers HEAD, and refuses what it cannot tell', async (t) => {
    const { server, refusal } = await start(t)
    const answer = await fetch(`http://127.0.0.1:${server.port}/v1/live`, { method: 'HEAD' })
    assert.deepEqual([answer.status, await answer.text()], [200, ''])
    const many = Array.from({ length: 11 }, (_, index) => `g${index}`).join(',')
    for (const [query, detail] of [
      [`?generators=${many}`, /'generators': names at most 10 generators/],
      ['?ticks=-1', /'ticks': must be a whole number from 0 to 86400/],
      ['?ticks=many', /'ticks': must be a whole number/],
      ['?token=x', /unknown query parameter 'token'/],
    ] as const) {
      const [status, said] = await refusal(query)
      assert.equal(status, 400, query)
      assert.match(said, detail)
    }
  })

  test('ends at the stop of the server, which does not wait for it', async (t) => {
    const { read, server } = await start(t)
    const reading = await read()
    const closed = server.close(60_000)
    await until(() => reading.isOver)
    await closed
  })

  test('is refused while the server stops', async (t) => {
    const { read, server } = await start(t)
    const reading = await read()
    // A connection with a request that has begun is not closed as an idle one is.
    const socket = connect(server.port, '127.0.0.1')
    socket.write('GET /v1/live HTTP/1.1\r\n')
    await (await fetch(`http://127.0.0.1:${server.port}/healthz`)).text()
    const closed = server.close(60_000)
    await until(() => reading.isOver)
    socket.end('host: localhost\r\n\r\n')
    const answer = Buffer.concat(await socket.toArray()).toString()
    assert.match(answer, /^HTTP\/1\.1 503 .*"detail":"this node is stopping; ask another one"/s)
    await closed
  })
})

describe('the reader of a live stream', () => {
  const root = ['on', '>secret', '~*', '+@all'] as const
  const users = {
    root,
    narrow: ['on', '>secret', '~shop.*', '+http|live'],
    blind: ['on', '>secret', '~*', '+@issue'],
  } as const

  test('needs a login, and the permission', async (t) => {
    const { refusal } = await start(t, users)
    assert.equal((await refusal())[0], 401)
    assert.equal((await refusal('', basic('root', 'wrong')))[0], 401)
    assert.equal((await refusal('', basic('blind', 'secret')))[0], 403)
  })

  test('is told nothing of names that its patterns do not reach, also in sums and errors', async (t) => {
    const { pass, add, read, tick, refusal } = await start(t, users)
    const [shop, secret] = [add('shop.a'), add('secret')]
    await pass(2)
    shop.next += 5n
    secret.next += 1000n
    await pass(10)
    await refusal('?x=1', basic('root', 'secret'))
    const reading = await read('?generators=secret', basic('narrow', 'secret'))
    assert.deepEqual(reading.lines[0]!.issued, [5])
    assert.deepEqual(Object.keys(reading.lines[0]!.generators), ['shop.a'])
    shop.next += 2n
    secret.next += 1000n
    await tick(reading)
    assert.deepEqual(
      [reading.newest.issued, reading.newest.errors, Object.keys(reading.newest.generators)],
      [7, {}, ['shop.a']],
    )
    assert.doesNotMatch(JSON.stringify(reading.lines), /secret|ERR|20\d\d,|health/)
  })

  test('gets a sum that never falls, whichever generators it is told of', async (t) => {
    const { add, read, tick } = await start(t, users)
    const names = ['shop.a', 'shop.b', 'shop.c']
    const generators = names.map((name) => add(name))
    const reading = await read('', basic('narrow', 'secret'))
    let before = 0
    for (let round = 0; round < 12; round++) {
      for (const [index, each] of generators.entries()) {
        each.next += 10n
        each.figures = { ratePerSecond: (round + index) % 3 }
      }
      await tick(reading)
      assert.ok((reading.newest.issued as number) >= before, `${round}`)
      before = reading.newest.issued as number
    }
    assert.ok(before > 100, `${before}`)
  })

  test('is told of all that many long patterns reach, which are tried over many turns', async (t) => {
    const patterns = Array.from({ length: 180 }, (_, index) => `~*${'a*'.repeat(19)}${index}`)
    const { access, pass, add, read, tick } = await start(t, {
      root,
      many: ['on', '>secret', ...patterns, '~shop.*', '+http|live'],
    })
    for (let index = 0; index < 100; index++) {
      add(`shop.${index}`)
      add(`other.${index}`)
    }
    await pass(12)
    const { work } = await access.login('many', 'secret', '127.0.0.1', 'http')
    const { ended } = turns
    const reading = await read('', basic('many', 'secret'))
    assert.ok(turns.ended - ended >= (200 * work) / (2 * turnBytesMax) - 1, `${turns.ended - ended} turns`)
    assert.ok(work > turnBytesMax / 50, `${work}`)
    await tick(reading)
    for (const { generators } of reading.lines) {
      assert.equal(Object.keys(generators).length, 100)
      assert.ok(Object.keys(generators).every((name) => name.startsWith('shop.')))
    }
  })

  for (const [what, change] of [
    ['its user is off', (set: Setting) => set('narrow', 'off')],
    ['its patterns change', (set: Setting) => set('narrow', '~other.*')],
    ['it loses the permission', (set: Setting) => set('narrow', '-http|live')],
  ] as const)
    test(`is told nothing more once ${what}`, async (t) => {
      const { read, tick, set, add } = await start(t, users)
      add('shop.a')
      const reading = await read('', basic('narrow', 'secret'))
      const other = await read('', basic('root', 'secret'))
      await tick(reading, other)
      const { length } = reading.lines
      await change(set)
      await until(() => reading.isOver)
      await tick(other)
      assert.equal(reading.lines.length, length)
      assert.equal(other.isOver, false)
    })

  test('is told nothing more once its token is revoked', async (t) => {
    const { access, read, tick } = await start(t, users)
    const { text, token } = await access.tokens.create({
      user: 'root',
      label: 'console',
      lifetimeMs: undefined,
      by: 'root',
    })
    const reading = await read('', `Bearer ${text}`)
    await tick(reading)
    await access.tokens.revoke(token.id)
    await until(() => reading.isOver)
  })

  test('has a bounded number of streams, and so has an address', async (t) => {
    const { read, refusal, pass } = await start(t, users)
    const own = await Promise.all(Array.from({ length: 8 }, () => read('', basic('narrow', 'secret'))))
    const [status, detail] = await refusal('', basic('narrow', 'secret'), '127.0.0.2')
    assert.equal(status, 429)
    assert.match(detail, /too many streams are open: 8 of a user, 16 of an address and 100 of a node/)
    await Promise.all(Array.from({ length: 8 }, () => read('', basic('root', 'secret'))))
    assert.equal((await refusal('', basic('root', 'secret')))[0], 429)
    own[0]!.close()
    await until(() => own[0]!.isOver)
    assert.equal(
      (await refusal('', basic('narrow', 'secret'), '127.0.0.2'))[0],
      429,
      'it counts for a second',
    )
    await pass(1)
    await read('', basic('narrow', 'secret'), '127.0.0.2')
  })
})

type Setting = (name: string, ...rules: string[]) => Promise<unknown>

describe('a client that does not read its live stream', () => {
  test('has no line made for it once its socket is full, and is told the newest totals when it reads again', async (t) => {
    const { node, add, request, pass } = await start(t)
    const generators = Array.from({ length: 200 }, (_, index) => add(`generator-with-a-long-name-${index}`))
    // Each line tells of the health of the node, which is noted once a second anyway.
    let lines = 0
    const passAll = async (seconds: number) => {
      await pass(seconds)
      lines -= seconds
    }
    node.health = () => {
      lines++
      return node.healthNow
    }
    await passAll(2)
    const { sent, answer } = await request()
    answer.pause()
    sent.socket!.pause()
    for (let before = -1; lines > before; ) {
      before = lines
      await passAll(20)
    }
    const made = lines
    node.healthNow = { state: 'degraded', reason: 'the disk is full', inHandSeconds: 1 }
    await passAll(200)
    assert.equal(lines, made)
    for (const each of generators) each.next += 1_000_000n
    const reading = new Reading(sent, answer)
    sent.socket!.resume()
    answer.resume()
    while (reading.newest?.issued !== 200_000_000) {
      await passAll(1)
      if (lines > made + 10) await until(() => reading.newest?.issued === 200_000_000)
    }
    // So is it told what has happened in between.
    const events = reading.lines.flatMap((line) => line.events ?? [])
    assert.ok(events.some(({ state }) => state === 'degraded'))
    reading.close()
  })
})
