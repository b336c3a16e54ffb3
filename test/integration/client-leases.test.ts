/** What fahao-client leases: that it keeps to it, returns it, drops it, and replaces it. */
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import { FahaoClient } from '../../client/src/client.ts'
import type { ClientEvent } from '../../client/src/events.ts'
import { type ClientOptions, connect } from '../../client/src/index.ts'
import { parseUrls, settingsOf } from '../../client/src/options.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { startTcpProxy } from '../launch/tcp-proxy.ts'

const scope = new Scope()
let server: FahaoServer
let admin: RawClient

before(async () => {
  server = await startFahao(scope)
  admin = await server.connect()
})
after(() => scope.end())

/** Makes a generator with a name of its own, and connects. */
async function prepared(t: TestContext, definition: readonly string[], options: ClientOptions = {}) {
  const name = t.name.replaceAll(' ', '-')
  assert.equal(await admin.command('ID.CREATE', name, 'KIND', ...definition), 'OK')
  const client = await connect(`redis://127.0.0.1:${server.resp}`, options)
  t.after(() => client.close())
  return { name, client, generator: await client.generator(name) }
}

/** The machine's clock with a wall clock that can be set forward, as that of a resumed snapshot is. */
class SteppedClock implements Clock {
  aheadUs = 0
  wallUs(): number {
    return systemClock.wallUs() + this.aheadUs
  }
  monoUs(): number {
    return systemClock.monoUs()
  }
  timer(delayMs: number, callback: () => void) {
    return systemClock.timer(delayMs, callback)
  }
}

/** Resolves with the first event of this type. */
function eventOf(type: ClientEvent['type']) {
  let seen: (event: ClientEvent) => void = () => {}
  const first = new Promise<ClientEvent>((resolve) => {
    seen = resolve
  })
  return { first, onEvent: (event: ClientEvent) => void (event.type === type && seen(event)) }
}

describe('formats of 128 bits', () => {
  for (const [kind, format] of [
    ['segment', 'uuidv8'],
    ['sequence', 'uuidv8'],
    ['snowflake', 'uuidv7'],
    ['snowflake', 'objectid'],
    ['timestamp', 'typeid:order'],
  ] as const)
    test(`${format} of a ${kind} is made here as the service makes it`, async (t) => {
      const { name, generator } = await prepared(t, [kind, 'FORMAT', format])
      const http = await connect(server.http)
      t.after(() => http.close())
      const texts = [...(await generator.nextTexts(3)), await generator.nextText()]
      texts.push(...(await (await http.generator(name)).nextTexts(2)))
      texts.push(String(await admin.command('ID.NEXT', name)))
      for (const text of texts) {
        const answer = await fetch(`${server.http}/v1/decode?generator=${name}&id=${text}`)
        assert.equal(answer.status, 200, await answer.text())
      }
      assert.equal(new Set(texts).size, texts.length)
      const bytes = Buffer.from(await generator.nextBytes()).toString('hex')
      if (!format.startsWith('typeid')) {
        const answer = await fetch(`${server.http}/v1/decode?generator=${name}&id=${bytes}`)
        assert.equal(answer.status, 200, await answer.text())
      }
      // A digit that was mistyped.
      const wrong = texts[0]!.slice(0, -1) + (texts[0]!.endsWith('3') ? '4' : '3')
      assert.equal((await fetch(`${server.http}/v1/decode?generator=${name}&id=${wrong}`)).status, 400)
    })
})

describe('segments', () => {
  test('ids follow the increment and the offset', async (t) => {
    const { generator } = await prepared(t, ['segment', 'START', '7', 'INCREMENT', '10'])
    assert.deepEqual(await generator.nextBatch(3), [7n, 17n, 27n])
  })

  test('scrambled ids are those of the service, which can tell them apart', async (t) => {
    const { name, client, generator } = await prepared(t, ['segment', 'SCRAMBLE', 'on', 'MAX', '1999'])
    const ids = new Set(await generator.nextBatch(1000))
    await client.close()
    for (;;) {
      const rest = await admin.command('ID.NEXT', name)
      if (typeof rest !== 'string') break
      assert.ok(!ids.has(BigInt(rest)))
      ids.add(BigInt(rest))
    }
    assert.ok([...ids].every((id) => id >= 0n && id <= 1999n))
  })

  test('shuffled ids are those of a range, out of order', async (t) => {
    const { generator } = await prepared(t, ['segment', 'WITHIN', 'shuffled'])
    const ids = await generator.nextBatch(1000)
    const sorted = ids.toSorted((a, b) => Number(a - b))
    assert.notDeepEqual(ids, sorted)
    assert.deepEqual(
      sorted,
      Array.from({ length: 1000 }, (_, at) => BigInt(at + 1)),
    )
  })

  test('close returns what is left of a range', async (t) => {
    const { name, client, generator } = await prepared(t, ['segment'])
    assert.equal(await generator.next(), 1n)
    await client.close()
    const other = await connect(`redis://127.0.0.1:${server.resp}`)
    assert.equal(await (await other.generator(name)).next(), 2n)
    await other.close()
  })

  test('a small space serves a caller whose ranges end before it takes another id', async (t) => {
    const definition = ['segment', 'SCRAMBLE', 'on', 'MAX', '1199']
    const { name, client, generator } = await prepared(t, definition, { horizonMs: 500 })
    const ids = new Set<bigint>()
    for (let taken = 0; taken < 4; taken++) {
      ids.add(await generator.next())
      while (generator.stats().buffered > 0) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    assert.equal(ids.size, 4)
    await client.close()
    for (;;) {
      const rest = await admin.command('ID.NEXT', name)
      if (typeof rest !== 'string') break
      assert.ok(!ids.has(BigInt(rest)))
      ids.add(BigInt(rest))
    }
    assert.ok(ids.size > 1150, `${ids.size} of 1200`)
  })

  test('an alteration reaches the process, and waiting callers do not notice it', async (t) => {
    const changed = eventOf('generator-changed')
    const { name, generator } = await prepared(t, ['segment'], { horizonMs: 500, onEvent: changed.onEvent })
    assert.equal(await generator.nextText(), '1')
    assert.equal(await admin.command('ID.ALTER', name, 'FORMAT', 'n{id}'), 'OK')
    assert.equal(await admin.command('ID.ALTER', name, 'INCREMENT', '1000'), 'OK')
    let isChanged = false
    void changed.first.then(() => {
      isChanged = true
    })
    while (!isChanged) await generator.next()
    assert.match(await generator.nextText(), /^n\d+$/)
    assert.ok(generator.isFormatted)
    assert.match((await generator.nextTexts(3)).join(' '), /^n\d+ n\d+ n\d+$/)
    const [first, second] = await generator.nextBatch(2)
    assert.equal(second! - first!, 1000n)
  })

  test('a kind can become any other one', async (t) => {
    const { name, generator } = await prepared(t, ['segment'], { horizonMs: 500 })
    const ids = new Set<bigint>()
    const kinds = ['snowflake', 'sequence', 'snowflake', 'segment']
    for (const kind of kinds) {
      const changes = kind === 'snowflake' ? [] : ['START', '1']
      await generator.nextBatch(10)
      await admin.command('ID.DROP', name)
      const made = await admin.command('ID.CREATE', name, 'KIND', kind, ...changes)
      assert.equal(made, 'OK')
      while (generator.kind !== kind) {
        const id = await generator.next().catch(() => undefined)
        if (id === undefined) continue
        assert.ok(!ids.has(id))
        ids.add(id)
      }
    }
  })

  test('a dropped generator is an error once its ranges have come to their deadline', async (t) => {
    const { name, generator } = await prepared(t, ['segment'], { horizonMs: 500 })
    await generator.next()
    assert.equal(await admin.command('ID.DROP', name), 1n)
    await assert.rejects(
      async () => {
        for (;;) await generator.next()
      },
      { code: 'NOGENERATOR' },
    )
    assert.equal(generator.tryNext(), undefined)
  })
})

describe('snowflakes', () => {
  const nodeOf = (id: bigint) => Number((id >> 12n) & 1023n)

  test('one worker id serves all snowflakes of a client, and no two clients have the same', async (t) => {
    const { name, client, generator } = await prepared(t, ['snowflake'])
    assert.equal(await admin.command('ID.CREATE', `${name}:2`, 'KIND', 'snowflake'), 'OK')
    const second = await client.generator(`${name}:2`)
    const other = await connect(`redis://127.0.0.1:${server.resp}`)
    t.after(() => other.close())
    const [a, b, c] = await Promise.all([
      generator.next(),
      second.next(),
      (await other.generator(name)).next(),
    ])
    assert.equal(nodeOf(a), nodeOf(b))
    assert.notEqual(nodeOf(a), nodeOf(c))
  })

  test('an alteration of the layout is followed: to fewer worker ids, to long units of time, and back', async (t) => {
    const failed: string[] = []
    const onEvent = (event: ClientEvent) =>
      void (event.type === 'refill-failed' && failed.push(event.error.code))
    const wide = ['LAYOUT', 'time:41,node:10,sequence:12;epoch=2020-01-01T00:00:00Z']
    const { name, client, generator } = await prepared(t, ['snowflake', ...wide], { horizonMs: 500, onEvent })
    assert.equal(await admin.command('ID.CREATE', `${name}-beside`, 'KIND', 'snowflake', ...wide), 'OK')
    const beside = await client.generator(`${name}-beside`)
    const ids = new Set<bigint>()
    const untilAltered = async () => {
      const { requests, failures } = generator.stats()
      // A renewal, or a request, after the alteration.
      while (generator.stats().requests + generator.stats().failures === requests + failures) {
        ids.add(await generator.next())
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    // Each is above the one before it.
    const layouts = [
      'time:41,node:4,sequence:18;epoch=2020-01-01T00:00:00Z',
      'time:24,node:10,sequence:28;unit=1m;epoch=2020-01-01T00:00:00Z',
      'time:41,node:9,sequence:13;epoch=2010-01-01T00:00:00Z',
    ]
    for (const layout of layouts) {
      assert.equal(await admin.command('ID.ALTER', name, 'LAYOUT', layout), 'OK')
      await untilAltered()
      const before = ids.size
      for (let count = 0; count < 100; count++) ids.add(await generator.next())
      assert.equal(ids.size, before + 100)
      await beside.next()
    }
    assert.ok(!failed.includes('WORKERID'), failed.join())
  })

  test('a layout whose units of time are too long for a lease is opened, and each id is asked for', async (t) => {
    const long = 'time:31,node:10,sequence:22;unit=1m;epoch=2020-01-01T00:00:00Z'
    const { generator } = await prepared(t, ['snowflake', 'LAYOUT', long])
    const ids = await generator.nextBatch(10)
    assert.equal(new Set(ids).size, 10)
    assert.deepEqual([generator.tryNext(), generator.stats().buffered], [undefined, 0])
  })

  test('ids increase from one renewal to the next', async (t) => {
    const { generator } = await prepared(t, ['snowflake'], { horizonMs: 500 })
    let last = 0n
    while (generator.stats().requests < 3) {
      const id = await generator.next()
      assert.ok(id > last)
      last = id
    }
  })

  test('a lease that a copy of the memory has renewed is given up for another worker id', async (t) => {
    const { name, generator } = await prepared(t, ['snowflake'], { horizonMs: 500 })
    const mine = nodeOf(await generator.next())
    const held = (await admin.command('ID.LEASES', 'MATCH', name)) as unknown as unknown[][]
    assert.equal(held.length, 1)
    const record = Object.fromEntries(
      held[0]!.flatMap((field, at) => (at % 2 === 0 ? [[field, held[0]![at + 1]]] : [])),
    )
    assert.equal(Number(record.worker), mine)
    // The reply to a renewal is lost, as it is for one of two copies: the end of the span is not the one that is known.
    const proxy = await startTcpProxy(t, server.resp)
    const client = await connect(`redis://127.0.0.1:${proxy.port}`, { horizonMs: 500, attemptTimeoutMs: 300 })
    t.after(() => client.close())
    const behind = await client.generator(name)
    const before = nodeOf(await behind.next())
    const dropped = proxy.dropReplyOf((request) => request.includes('ID.RENEW'))
    const ids = new Set<bigint>()
    for (;;) {
      const id = await behind.next()
      assert.ok(!ids.has(id))
      ids.add(id)
      if (nodeOf(id) !== before) break
    }
    assert.equal(dropped.count, 1)
  })

  test('close returns the rest of the span, over RESP and HTTP', async (t) => {
    const { name, client, generator } = await prepared(t, ['snowflake'], { horizonMs: 500 })
    const overHttp = await connect(server.http, { horizonMs: 500 })
    t.after(() => overHttp.close())
    const second = await overHttp.generator(name)
    // The end of the span is then that of a renewal.
    for (const each of [generator, second]) while (each.stats().requests < 3) await each.next()
    await Promise.all([client.close(), overHttp.close()])
    // An id rests for a moment if the time that was used is ahead of the clock.
    const listed = await admin.command('ID.LEASES', 'MATCH', name)
    assert.doesNotMatch(inspect(listed, { depth: null, maxArrayLength: null }), /'held'/)
  })
})

test('when a copy of the memory is noticed, nothing that was leased before is issued', async (t) => {
  const clock = new SteppedClock()
  const events: ClientEvent[] = []
  const urls = parseUrls(`redis://127.0.0.1:${server.resp}`)
  const settings = settingsOf(urls, { onEvent: (event) => events.push(event) })
  const client = new FahaoClient(urls, settings, { clock, random: () => 0 })
  t.after(() => client.close())
  assert.equal(await admin.command('ID.CREATE', 'copied:segment', 'KIND', 'segment'), 'OK')
  assert.equal(await admin.command('ID.CREATE', 'copied:snowflake', 'KIND', 'snowflake'), 'OK')
  const segment = await client.generator('copied:segment')
  const snowflake = await client.generator('copied:snowflake')
  const worker = await client.leaseWorker('copied')
  assert.equal(await segment.next(), 1n)
  const before = await snowflake.next()
  clock.aheadUs = 60_000_000
  assert.equal(segment.tryNext(), undefined)
  assert.equal(snowflake.tryNext(), undefined)
  assert.ok((await segment.next()) > 1000n)
  assert.notEqual((await snowflake.next()) & 0x3ff000n, before & 0x3ff000n)
  assert.equal((await worker.lost).code, 'NOLEASE')
  assert.equal(worker.validForMs(), 0)
  assert.deepEqual(
    events.map(({ type }) => type),
    ['worker-lost', 'memory-copied'],
  )
})

describe('plain worker ids', () => {
  test('the same owner gets its id again, and the holder before loses it', async (t) => {
    const client = await connect(`redis://127.0.0.1:${server.resp}`)
    t.after(() => client.close())
    const first = await client.leaseWorker('payments', { owner: 'a', ttlMs: 1000 })
    const other = await client.leaseWorker('payments', { owner: 'b' })
    assert.notEqual(first.id, other.id)
    const again = await client.leaseWorker('payments', { owner: 'a', ttlMs: 1000 })
    assert.equal(again.id, first.id)
    assert.equal((await first.lost).code, 'NOLEASE')
    assert.ok(again.validForMs() > 0)
  })

  test('a released id is not valid any more', async (t) => {
    const client = await connect(`redis://127.0.0.1:${server.resp}`)
    t.after(() => client.close())
    const worker = await client.leaseWorker('released')
    assert.ok(worker.validForMs() > 50_000)
    await worker.release()
    assert.equal(worker.validForMs(), 0)
    assert.equal((await worker.lost).code, 'SHUTDOWN')
  })
})
