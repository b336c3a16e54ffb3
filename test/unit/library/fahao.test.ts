import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { geneOf } from '../../../src/ids/gene.ts'
import { type Fahao, type FahaoOptions, openFahao } from '../../../src/index.ts'

const safeEnd = 2n ** 53n

/** Runs `use` with an open node on a store of its own. */
function open(name: string, use: (fahao: Fahao) => Promise<void>, options: FahaoOptions = {}) {
  test(name, async () => {
    const fahao = await openFahao({ engine: 'memory:', ...options })
    try {
      await use(fahao)
    } finally {
      await fahao[Symbol.asyncDispose]()
    }
  })
}

/** Everything that is listed. */
async function all<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const found: Value[] = []
  for await (const value of values) found.push(value)
  return found
}

describe('the library', () => {
  open('gives ids one by one, in batches, in ranges, as numbers and as text', async (fahao) => {
    const order = await fahao.open('order', { kind: 'sequence' })
    assert.deepEqual([order.name, order.kind], ['order', 'sequence'])
    assert.equal(order.lastIssued(), undefined)
    assert.equal(order.tryNext(), undefined)
    assert.equal(order.tryNextNumber(), undefined)
    assert.equal(await order.next(), 1n)
    assert.equal(order.tryNext(), 2n)
    assert.equal(order.tryNextNumber(), 3)
    assert.equal(await order.nextNumber(), 4)
    assert.equal(await order.nextText(), '5')
    assert.deepEqual(await order.nextBatch(3), [6n, 7n, 8n])
    assert.deepEqual(await order.range(1000), [{ start: 9n, end: 1009n }])
    assert.equal(order.tryNextText(), '1009')
    assert.equal(order.lastIssued(), 1009n)
    assert.equal(order.stats().issued, 1009)
  })

  open('issues in one order whichever method, and whichever handle, is asked', async (fahao) => {
    const one = await fahao.open('order', { kind: 'sequence', step: 10_000 })
    const other = await fahao.open('order')
    await one.next()
    for (let id = 2n; id < 3000n; id += 4n) {
      assert.equal(one.tryNextText(), String(id))
      assert.equal(other.tryNext(), id + 1n)
      assert.equal(one.tryNextNumber(), Number(id + 2n))
      assert.equal(other.tryNextText(), String(id + 3n))
    }
  })

  open('gives no id of another generator after a drop, also where that has its row', async (fahao) => {
    const dropped = await fahao.open('dropped', { kind: 'segment', step: 100 })
    await dropped.next()
    await fahao.drop('dropped')
    const next = await fahao.open('next', { kind: 'segment', step: 100, start: 5000 })
    assert.equal(await next.next(), 5000n)
    assert.deepEqual(
      [dropped.tryNext(), dropped.tryNextNumber(), dropped.tryNextText()],
      [undefined, undefined, undefined],
    )
    await assert.rejects(dropped.next(), { code: 'NOGENERATOR' })
    assert.equal(next.tryNext(), 5001n)
  })

  open('gives numbers from the very first', async (fahao) => {
    const order = await fahao.open('order', { kind: 'segment' })
    assert.equal(await order.nextNumber(), 1)
  })

  open(
    'gives the same types however large ids are, and refuses numbers without using ids up',
    async (fahao) => {
      const large = await fahao.open('large', { kind: 'sequence', start: safeEnd - 1n })
      assert.equal(await large.nextNumber(), Number.MAX_SAFE_INTEGER)
      for (let each = 0; each < 3; each++) {
        assert.equal(large.tryNextNumber(), undefined)
        await assert.rejects(large.nextNumber(), { code: 'UNSAFE' })
      }
      assert.equal(await large.next(), safeEnd)
      assert.equal(await large.nextText(), String(safeEnd + 1n))
      assert.deepEqual(await large.nextBatch(1), [safeEnd + 2n])
      const fresh = await fahao.open('fresh', { kind: 'segment', start: safeEnd })
      await assert.rejects(fresh.nextNumber(), { code: 'UNSAFE' })
      assert.equal(await fresh.next(), safeEnd)
      const snowflake = await fahao.open('snowflake', { kind: 'snowflake' })
      await assert.rejects(snowflake.nextNumber(), { code: 'UNSAFE' })
      assert.equal(typeof (await snowflake.next()), 'bigint')
    },
  )

  open('puts formats around ids', async (fahao) => {
    const sms = await fahao.open('sms', { kind: 'segment', format: 'sms_{id:4}' })
    assert.equal(await sms.nextText(), 'sms_0001')
    assert.equal(await sms.next(), 2n)
    assert.equal(sms.tryNextText(), 'sms_0003')
  })

  open('opens what is there, checks what is asked for, and creates nothing unasked', async (fahao) => {
    await assert.rejects(fahao.open('g'), { code: 'NOGENERATOR' })
    await fahao.open('g', { kind: 'segment', step: 10 })
    assert.equal((await fahao.open('g')).kind, 'segment')
    await assert.rejects(fahao.open('g', { kind: 'sequence' }), { code: 'EXISTS' })
    await assert.rejects(fahao.open('h', { kind: 'circle' as never }), { code: 'ERR' })
    await assert.rejects(fahao.open('a b', { kind: 'segment' }), { code: 'ERR' })
  })

  open(
    'creates by itself what autoCreate matches',
    async (fahao) => {
      assert.equal((await fahao.open('order:eu')).kind, 'sequence')
      await assert.rejects(fahao.open('user'), { code: 'NOGENERATOR' })
    },
    { autoCreate: ['order:*=sequence'] },
  )

  open('refuses ranges where ids are not counted one by one', async (fahao) => {
    for (const input of [
      { kind: 'snowflake' },
      { kind: 'segment', within: 'shuffled' },
      { kind: 'segment', increment: 2 },
    ] as const) {
      const generator = await fahao.open(JSON.stringify(input), input)
      await assert.rejects(generator.range(5), { code: 'WRONGTYPE' })
      assert.equal(new Set(await generator.nextBatch(5)).size, 5)
    }
  })

  open('gives ranges of what is issued, also when steps change while the caller waits', async (fahao) => {
    const generator = await fahao.open('g', { kind: 'segment', step: 10 })
    await generator.next()
    const ranging = generator.range(50)
    const altering = fahao.alter('g', { increment: 10, offset: 0 })
    const ranges = await ranging
    await altering
    const ids = await generator.nextBatch(50)
    const issued = ranges.flatMap(({ start, end }) =>
      Array.from({ length: Number(end - start) }, (_, index) => start + BigInt(index)),
    )
    assert.equal(issued.length, 50)
    assert.ok(issued.every((id) => !ids.includes(id)))
  })

  open('refuses counts that make no sense', async (fahao) => {
    const generator = await fahao.open('g', { kind: 'segment' })
    for (const count of [0, -1, 1.5, Number.NaN, 2 ** 53, 10 ** 12 + 1]) {
      await assert.rejects(generator.nextBatch(count), { code: 'ERR' })
      await assert.rejects(generator.range(count), { code: 'ERR' })
    }
    await assert.rejects(generator.nextBatch(1_000_001), { code: 'ERR' })
    assert.equal(generator.stats().issued, 0)
    const [range] = await generator.range(10 ** 12)
    assert.equal(range!.end - range!.start, 10n ** 12n)
  })

  open('loses no id to callers who have given up', async (fahao) => {
    const generator = await fahao.open('g', { kind: 'sequence' })
    const signal = AbortSignal.abort()
    for (const call of [
      () => generator.next({ signal }),
      () => generator.nextNumber({ signal }),
      () => generator.nextText({ signal }),
      () => generator.nextBatch(3, { signal }),
      () => generator.range(3, { signal }),
    ]) {
      await assert.rejects(call(), { name: 'AbortError' })
    }
    const aborter = new AbortController()
    const waiting = assert.rejects(generator.next({ signal: aborter.signal }), { name: 'AbortError' })
    aborter.abort()
    await waiting
    assert.equal(await generator.next(), 1n)
    await assert.rejects(generator.next({ signal }), { name: 'AbortError' })
    assert.equal(await generator.next(), 2n)
  })

  open(
    'rejects with the reason of the signal, whatever that is, as functions of the platform do',
    async (fahao) => {
      const late = AbortSignal.timeout(0)
      await once(late, 'abort')
      for (const kind of ['sequence', 'segment'] as const) {
        for (const [at, reason] of [new TypeError('our own'), 'a text', null].entries()) {
          const generator = await fahao.open(`${kind}${at}`, { kind })
          await assert.rejects(generator.next({ signal: late }), { name: 'TimeoutError' })
          const own = new AbortController()
          // Nothing is buffered for a batch as large as this one.
          const waiting = generator.nextBatch(10 ** 6, { signal: own.signal })
          own.abort(reason)
          const caught = [waiting, generator.next({ signal: own.signal })].map((call) =>
            call.then(
              () => assert.fail('ids for a caller that has given up'),
              (error) => error,
            ),
          )
          assert.deepEqual(await Promise.all(caught), [reason, reason])
          assert.equal(await generator.next(), 1n)
        }
      }
    },
  )

  open('lists and describes generators, in use or not', async (fahao) => {
    const order = await fahao.open('order', { kind: 'sequence', max: 10n ** 18n })
    await order.nextBatch(7)
    await fahao.open('orders:eu', { kind: 'segment', within: 'shuffled', horizon: '5m' })
    await fahao.open('event', { kind: 'snowflake', layout: 'twitter' })
    const listed = (match?: string) => all(fahao.list(match === undefined ? {} : { match }))
    assert.deepEqual(await listed(), [
      { name: 'event', kind: 'snowflake' },
      { name: 'order', kind: 'sequence' },
      { name: 'orders:eu', kind: 'segment' },
    ])
    assert.deepEqual(
      (await listed('order*')).map(({ name }) => name),
      ['order', 'orders:eu'],
    )
    assert.deepEqual(await listed('none*'), [])
    const { notes, options, ...described } = await fahao.describe('order')
    assert.deepEqual(described, {
      name: 'order',
      kind: 'sequence',
      incarnation: 1n,
      mode: 'local',
      leader: undefined,
      bound: 1001n,
      lastIssued: 7n,
      exhaustedAt: undefined,
    })
    assert.deepEqual([options.kind, options.start, options.max], ['sequence', '1', String(10n ** 18n)])
    const eu = await fahao.describe('orders:eu')
    assert.deepEqual([eu.options.within, eu.options.horizon, eu.mode], ['shuffled', '5m', 'node'])
    assert.ok(eu.notes.includes('ids are shuffled within blocks: no order') && notes.length === 0)
    await fahao.drop('order')
    assert.deepEqual(await listed('order'), [])
  })

  open('tells which ids are of which moments', async (fahao) => {
    const event = await fahao.open('event', { kind: 'snowflake' })
    await fahao.open('label', { kind: 'timestamp', format: '{id:19}' })
    await fahao.open('order', { kind: 'sequence' })
    const startedMs = Date.now()
    const id = await event.next()
    const { ranges, texts, where } = await fahao.bounds('event', new Date(startedMs - 60_000))
    assert.ok(id >= ranges[0]!.start && ranges[0]!.end === undefined && texts === undefined)
    assert.equal(where, `id >= ${ranges[0]!.start}`)
    const day = await fahao.bounds('label', '2019-05-04T00:00:00Z', '2019-05-05T00:00:00Z')
    assert.equal(day.where, "id >= '1124463648568246272' AND id < '1124826036433846272'")
    assert.equal(await fahao.smallestIdAt('label', '2019-05-04T00:00:00Z'), 1_124_463_648_568_246_272n)
    await assert.rejects(fahao.bounds('order', 0), { code: 'WRONGTYPE' })
    await assert.rejects(fahao.smallestIdAt('none', 0), { code: 'NOGENERATOR' })
    await fahao.open('scattered', {
      kind: 'snowflake',
      layout: 'scatter:4,time:41,node:6,sequence:6;epoch=2015-01-01T00:00:00Z',
    })
    await assert.rejects(fahao.smallestIdAt('scattered', Date.UTC(2026)), {
      code: 'WRONGTYPE',
      message: /use bounds/,
    })
  })

  open('gives ids of past moments, also where ids of now are buffered', async (fahao) => {
    const event = await fahao.open('event', { kind: 'snowflake', past: 2 })
    await event.next()
    const at = new Date('2019-05-04T12:00:00Z')
    const { ranges } = await fahao.bounds('event', at, new Date(at.getTime() + 1))
    const ids = [
      await event.next({ at }),
      BigInt(await event.nextText({ at })),
      ...(await event.nextBatch(3, { at })),
    ]
    assert.equal(new Set(ids).size, 5)
    assert.ok(ids.every((id) => id >= ranges[0]!.start && id < ranges[0]!.end!))
    await assert.rejects(event.next({ at: 'yesterday' }), { code: 'ERR' })
    await assert.rejects(event.nextNumber({ at }), { code: 'UNSAFE' })
    await assert.rejects(event.nextBatch(8192, { at }), { code: 'EXHAUSTED' })
  })

  open('lists more generators than a page has', async (fahao) => {
    const names = Array.from({ length: 1500 }, (_, at) => `g${String(at).padStart(4, '0')}`)
    for (const name of names) await fahao.open(name, { kind: 'sequence' })
    const listed = await all(fahao.list())
    assert.deepEqual(
      listed.map(({ name }) => name),
      names,
    )
  })

  open('advises in the words of the library', async (fahao) => {
    const none = {
      code: 'NOGENERATOR',
      message: /create it with: fahao\.open\('none', \{ kind: 'sequence' \}\)$/,
    }
    const calls = [fahao.open('none'), fahao.describe('none'), fahao.alter('none', { step: 5 })]
    await Promise.all(calls.map((call) => assert.rejects(call, none)))
    const few = await fahao.open('few', { kind: 'sequence', max: 2 })
    await few.nextBatch(2)
    for (const call of [few.next(), few.nextNumber(), few.nextText(), few.nextBatch(2), few.range(2)])
      await assert.rejects(call, {
        code: 'EXHAUSTED',
        message: /raise it with fahao\.alter\('few', \{ max: N \}\), or use another/,
      })
    await fahao.drop('few')
    await assert.rejects(few.next(), { code: 'NOGENERATOR', message: /fahao\.open\('few'/ })
  })

  open('follows what is altered and dropped elsewhere', async (fahao) => {
    const held = await fahao.open('g', { kind: 'segment', step: 10 })
    await held.next()
    const altered = await fahao.alter('g', { increment: 5, offset: 0, format: 'x{id}', max: 10n ** 15n })
    // The next id depends on whether the buffered ids had been released before.
    const text = await held.nextText()
    assert.match(text, /^x1[05]$/)
    const first = BigInt(text.slice(1))
    assert.equal(held.tryNext(), first + 5n)
    assert.equal(await altered.next(), first + 10n)
    await altered.next()
    await fahao.alter('g', { step: 20 })
    await altered.next()
    assert.notEqual(held.tryNext(), undefined)
    await fahao.alter('g', { step: 30 })
    await altered.next()
    assert.notEqual(held.tryNextNumber(), undefined)
    assert.equal(await fahao.drop('g'), true)
    assert.equal(await fahao.drop('g'), false)
    assert.equal(held.tryNext(), undefined)
    await assert.rejects(held.next(), { code: 'NOGENERATOR' })
    await fahao.open('g', { kind: 'snowflake' })
    assert.equal(typeof (await held.next()), 'bigint')
    assert.equal(held.kind, 'snowflake')
  })

  test('stays closed', async () => {
    const fahao = await openFahao({ engine: 'memory:' })
    const generator = await fahao.open('g', { kind: 'sequence' })
    await generator.next()
    await Promise.all([fahao.close(), fahao.close()])
    assert.equal(generator.tryNext(), undefined)
    await assert.rejects(generator.next(), { code: 'SHUTDOWN' })
    await assert.rejects(fahao.open('g'), { code: 'SHUTDOWN' })
  })

  open(
    'takes a gene with each draw where there are bits for one, and never a buffered id without',
    async (fahao) => {
      const order = await fahao.open('order', { kind: 'segment', gene: 10 })
      assert.deepEqual([await order.next({ gene: 37 }), await order.nextText({ gene: 5n })], [1061n, '2053'])
      assert.deepEqual(await order.nextBatch(2, { gene: [1, 2] }), [3073n, 4098n])
      assert.equal(await order.nextNumber({ by: 'user:8812' }), 5120 + geneOf('user:8812', 10))
      assert.deepEqual(
        [order.tryNext(), order.tryNextNumber(), order.tryNextText()],
        Array(3).fill(undefined),
      )
      await assert.rejects(order.next(), { code: 'ERR', message: /^'order' needs a gene with each draw/ })
      await assert.rejects(order.range(2), { code: 'WRONGTYPE' })
      const plain = await fahao.open('plain', { kind: 'sequence' })
      await plain.next()
      await assert.rejects(plain.next({ gene: 1 }), { code: 'ERR', message: /has no bits for a gene/ })
      assert.equal(await plain.next(), 2n)
    },
  )

  const events: string[] = []
  open(
    'takes its settings, tells events, and refuses what it does not know',
    async (fahao) => {
      const event = await fahao.open('event', { kind: 'snowflake', format: '{node}-{id}' })
      assert.match(await event.nextText(), /^2-\d+$/)
      assert.deepEqual(events, ['claimed worker id 5'])
      await assert.rejects(openFahao({ engine: 'nothing:' }), { code: 'CONFIG' })
      await assert.rejects(openFahao({ engine: 'memory:', lead: 'soon' }), { code: 'CONFIG' })
    },
    {
      workerId: 'static:5',
      nodeIndex: 2,
      lead: '1m',
      leadMax: '2h',
      callTimeout: '1s',
      waitersMax: 5,
      onEvent: ({ message }) => events.push(message),
    },
  )
})
