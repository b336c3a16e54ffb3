import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { define, definitionJson } from '../../../src/catalogue/definition.ts'
import { parseOptions } from '../../../src/catalogue/generator-options.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { fakeNode } from './fake-node.ts'

function start() {
  const node = fakeNode()
  const app = buildHttpApp({ node, host: '127.0.0.1' })
  const send = (method: InjectOptions['method'], url: string, payload?: object) =>
    app.inject({ method, url, ...(payload === undefined ? {} : { payload }) } as InjectOptions)
  return { node, send, catalogue: node.catalogue }
}

type Page = { readonly generators: { readonly name: string }[]; readonly next: string | null }

const order = '/v1/generators/order'

describe('a generator over HTTP', () => {
  test('is created by PUT, once; the same again changes nothing', async () => {
    const { send } = start()
    const created = await send('PUT', order, { kind: 'sequence', start: '9007199254740993' })
    assert.equal(created.statusCode, 201)
    assert.equal(created.headers.location, order)
    assert.equal(created.json().definition.start, '9007199254740993')
    const again = await send('PUT', order, { kind: 'sequence', start: '9007199254740993' })
    assert.equal(again.statusCode, 200)
  })

  test('is not replaced by another definition', async () => {
    const { send, catalogue } = start()
    catalogue.add('order', { kind: 'sequence' })
    const answer = await send('PUT', order, { kind: 'segment' })
    assert.deepEqual([answer.statusCode, answer.json().code], [409, 'EXISTS'])
    assert.equal(catalogue.find('order')?.kind, 'sequence')
  })

  test('is shown with everything that is known, integers as strings, null for what is not', async () => {
    const { send, catalogue } = start()
    catalogue.add('order', { kind: 'sequence' }).figures = { ratePerSecond: 2.5, inHandSeconds: 400 }
    const shown = (await send('GET', order)).json()
    assert.equal(shown.name, 'order')
    assert.equal(shown.definition.horizon, '10m')
    assert.equal(shown.definition.step, 1000)
    assert.equal(shown.definition.max, '9223372036854775807')
    assert.deepEqual([shown.bound, shown.lastIssued, shown.incarnation], ['1001', null, '1'])
    assert.deepEqual([shown.stats.ratePerSecond, shown.stats.inHandSeconds], [2.5, 400])
    assert.deepEqual(shown.notes, ['a note'])
  })

  test('has no buffered seconds while it is idle, and no figures while it is not in use', async () => {
    const { send, catalogue } = start()
    catalogue.add('order', { kind: 'sequence' })
    assert.equal((await send('GET', order)).json().stats.inHandSeconds, null)
    catalogue.asleep.add('order')
    assert.equal((await send('GET', order)).json().stats, null)
  })

  test('is altered by PATCH, and moved forward by floor', async () => {
    const { send, catalogue } = start()
    catalogue.add('order', { kind: 'segment' })
    const answer = await send('PATCH', order, { step: 5000, floor: '9007199254740993' })
    assert.deepEqual([answer.statusCode, answer.json().definition.step], [200, 5000])
    assert.deepEqual(
      [catalogue.find('order')?.next, catalogue.find('order')?.forced],
      [9007199254740993n, false],
    )
    await send('PATCH', order, { floor: '9223372036854775807', force: true })
    assert.equal(catalogue.find('order')?.forced, true)
  })

  test('is dropped by DELETE, once', async () => {
    const { send, catalogue } = start()
    catalogue.add('order', { kind: 'segment' })
    const answer = await send('DELETE', order)
    assert.deepEqual([answer.statusCode, answer.body], [204, ''])
    assert.equal((await send('DELETE', order)).json().code, 'NOGENERATOR')
  })

  test('that does not exist is NOGENERATOR, and a look creates nothing', async () => {
    const { send, catalogue } = start()
    for (const method of ['GET', 'HEAD', 'DELETE'] as const) {
      assert.equal((await send(method, order)).statusCode, 404, method)
    }
    assert.equal((await send('PATCH', order, { step: 5 })).json().code, 'NOGENERATOR')
    assert.equal(catalogue.generators.size, 0)
  })

  test('can be created again from its JSON, with any options', async () => {
    const counter = fc.record(
      {
        kind: fc.constant('segment'),
        start: fc.bigInt({ min: 0n, max: 2n ** 62n }).map(String),
        step: fc.integer({ min: 1, max: 10_000 }),
        horizon: fc.constantFrom('0ms', '250ms', '3s', '90s'),
        within: fc.constantFrom('ordered', 'shuffled'),
        format: fc.constantFrom('x_{id}', '{id:20}{check:luhn}'),
      },
      { requiredKeys: ['kind'] },
    )
    const clock = fc.record(
      {
        kind: fc.constant('timestamp'),
        layout: fc.constantFrom(
          'twitter',
          'js53',
          'time:39,sequence:8,node:16;unit=10ms;epoch=2020-01-01T00:00:00Z',
        ),
        node: fc.integer({ min: 0, max: 31 }),
        borrowMax: fc.constantFrom('0ms', '5s'),
      },
      { requiredKeys: ['kind'] },
    )
    fc.assert(
      fc.property(fc.oneof(counter, clock), (input) => {
        const nowUs = Date.UTC(2026, 10, 1) * 1000
        const definition = define(parseOptions(input), nowUs)
        const json = JSON.parse(JSON.stringify(definitionJson(definition)))
        assert.deepEqual(define(parseOptions(json), nowUs), definition)
      }),
    )
  })
})

describe('a wrong definition', () => {
  const table: readonly [what: string, method: 'PUT' | 'PATCH', body: object | undefined, detail: RegExp][] =
    [
      ['no body', 'PUT', undefined, /a body is wanted/],
      ['a list', 'PUT', [], /the body must be an object/],
      ['no kind', 'PUT', {}, /'kind'/],
      ['an unknown kind', 'PUT', { kind: 'random' }, /'kind'/],
      [
        'an unknown option',
        'PUT',
        { kind: 'sequence', stpe: 5 },
        /unknown member 'stpe'; did you mean step\? known are kind, family, start/,
      ],
      [
        'an option of another kind',
        'PUT',
        { kind: 'sequence', layout: 'twitter' },
        /'layout' does not apply/,
      ],
      ['a negative start', 'PUT', { kind: 'sequence', start: -1 }, /'start'/],
      ['a start past 2^53 as a number', 'PUT', { kind: 'sequence', start: 2 ** 53 }, /'start'/],
      ['an unknown option', 'PATCH', { stpe: 5 }, /unknown member 'stpe'/],
      ['a floor that is no number', 'PATCH', { floor: 'x' }, /'floor'/],
    ]
  for (const [what, method, body, detail] of table) {
    test(`(${method}: ${what}) is refused and changes nothing`, async () => {
      const { send, catalogue } = start()
      const before = catalogue.add('before', { kind: 'segment' }).definition
      const name = method === 'PUT' ? 'order' : 'before'
      const answer = await send(method, `/v1/generators/${name}`, body)
      assert.deepEqual([answer.statusCode, answer.json().code], [400, 'ERR'])
      assert.match(answer.json().detail, detail)
      assert.deepEqual([...catalogue.generators.keys()], ['before'])
      assert.equal(catalogue.find('before')?.definition, before)
    })
  }
})

describe('the list of generators', () => {
  async function walk(query: string) {
    const { send, catalogue } = start()
    for (let number = 0; number < 2500; number++) catalogue.add(`g${number}`, { kind: 'segment' })
    catalogue.add('order', { kind: 'sequence' })
    const pages: string[][] = []
    for (let after: string | null = ''; after !== null; ) {
      const from: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`
      const page: Page = (await send('GET', `/v1/generators?${query}${from}`)).json()
      pages.push(page.generators.map(({ name }) => name))
      after = page.next
    }
    return pages
  }

  test('comes in pages of limit, each name once, in order', async () => {
    const pages = await walk('limit=1000')
    assert.deepEqual(
      pages.map(({ length }) => length),
      [1000, 1000, 501],
    )
    assert.deepEqual(pages.flat(), [...new Set(pages.flat())].sort())
  })

  test('holds what matches, found across the engine’s pages', async () => {
    const pages = await walk('match=*9?9&limit=7')
    const all = pages.flat()
    assert.ok(all.length > 7 && all.every((name) => /^g\d*9\d9$/.test(name)), String(all))
    assert.equal(
      all.length,
      Array.from({ length: 2500 }, (_, n) => `g${n}`).filter((n) => /9.9$/.test(n)).length,
    )
    assert.ok(pages.every(({ length }) => length <= 7))
  })

  for (const query of ['limit=0', 'limit=1001', 'limit=x', 'offset=1']) {
    test(`refuses ${query}`, async () => {
      assert.equal((await start().send('GET', `/v1/generators?${query}`)).json().code, 'ERR')
    })
  }
})

describe('decode', () => {
  test('takes an id apart by a preset, a layout’s text, or twitter', async () => {
    const { send } = start()
    const id = '1888944671579078978'
    const decoded = (await send('GET', `/v1/decode?id=${id}`)).json()
    assert.deepEqual(decoded, (await send('GET', `/v1/decode?id=${id}&layout=twitter`)).json())
    assert.equal(decoded.date, '2025-02-10T13:34:39.256Z')
    const layout = encodeURIComponent('time:41,node:10,sequence:12;epoch=2010-11-04T01:42:54.657Z')
    const written = (await send('GET', `/v1/decode?id=${id}&layout=${layout}`)).json()
    assert.deepEqual([written.date, written.node], [decoded.date, decoded.node])
  })

  test('reads the format and the layout of a generator', async () => {
    const { send, catalogue } = start()
    catalogue.add('event', { kind: 'snowflake', layout: 'discord', format: 'e-{id}' })
    catalogue.add('sms', { kind: 'segment', format: 'sms_{id}' })
    const event = (await send('GET', '/v1/decode?id=e-175928847299117063&generator=event')).json()
    assert.deepEqual([event.id, event.kind, event.sequence], ['175928847299117063', 'snowflake', '7'])
    const sms = (await send('GET', '/v1/decode?id=sms_12&generator=sms')).json()
    assert.deepEqual(sms, { id: '12', kind: 'segment' })
  })

  const refused: readonly [query: string, code: string][] = [
    ['', 'ERR'],
    ['?id=x', 'ERR'],
    ['?id=-1', 'ERR'],
    ['?id=99999999999999999999', 'ERR'],
    ['?id=1&layout=nope', 'ERR'],
    ['?id=1&layout=twitter&generator=order', 'ERR'],
    ['?id=1&generator=nope', 'NOGENERATOR'],
  ]
  for (const [query, code] of refused) {
    test(`refuses '${query}' with ${code}`, async () => {
      const { send, catalogue } = start()
      assert.equal((await send('GET', `/v1/decode${query}`)).json().code, code)
      assert.equal(catalogue.generators.size, 0)
    })
  }
})

describe('advance', () => {
  test('raises every counter by the given number', async () => {
    const { node, send, catalogue } = start()
    catalogue.add('order', { kind: 'sequence' })
    const answer = await send('POST', '/v1/engine/advance', { by: '1000000000000000000', force: true })
    assert.deepEqual([answer.statusCode, answer.json()], [200, { counters: 1 }])
    assert.deepEqual(node.advancedBy, [10n ** 18n])
  })

  for (const body of [
    undefined,
    {},
    { by: 1000 },
    { by: '0' },
    { by: '-1' },
    { by: '1000000000000000001' },
    { by: `${2n ** 40n + 1n}` },
  ]) {
    test(`refuses ${JSON.stringify(body)}`, async () => {
      const { node, send } = start()
      assert.equal((await send('POST', '/v1/engine/advance', body)).json().code, 'ERR')
      assert.deepEqual(node.advancedBy, [])
    })
  }
})
