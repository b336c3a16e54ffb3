import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { FahaoError } from '../../../../src/base/errors.ts'
import { serve } from './serve.ts'

const text = 'text/plain;charset=UTF-8'
const json = 'application/json;charset=UTF-8'
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const names = ['nextId', 'nextIdSimple', 'nextSegmentId', 'nextSegmentIdSimple'] as const
const isSimple = (name: string) => name.endsWith('Simple')

/** tinyid's API; one token opens every generator. */
async function tinyid(
  t: TestContext,
  generators: Parameters<typeof serve>[1] = { test: { kind: 'segment' } },
) {
  const served = await serve(t, generators, { flags: { 'tinyid-tokens': 't-0123456789abcdef=*' } })
  const ids = (name: string, query = '', more = {}) =>
    served.ask(`/tinyid/id/${name}?bizType=test&token=t-0123456789abcdef${query}`, more)
  return { ...served, ids }
}

describe('nextId and nextIdSimple', () => {
  test('give one id, or as many as are asked for', async (t) => {
    const { ids } = await tinyid(t)
    assert.deepEqual(await ids('nextId'), [200, json, '{"data":[1],"code":200,"message":""}'])
    assert.deepEqual(await ids('nextIdSimple'), [200, text, '2'])
    assert.deepEqual(await ids('nextId', '&batchSize=2'), [
      200,
      json,
      '{"data":[3,4],"code":200,"message":""}',
    ])
    assert.deepEqual(await ids('nextIdSimple', '&batchSize=3'), [200, text, '5,6,7'])
    assert.deepEqual(await ids('nextIdSimple', '&batchSize='), [200, text, '8'])
    assert.deepEqual(await ids('nextIdSimple', '&batchSize=%201%20&x=y'), [200, text, '9'])
  })

  test('take parameters from the query, from a posted form, or from both', async (t) => {
    const { ask, ids } = await tinyid(t)
    const post = (path: string, payload: string, headers: object = form) =>
      ask(path, { method: 'POST', payload, headers: { ...headers } })
    const all = 'bizType=test&token=t-0123456789abcdef&batchSize=2'
    assert.deepEqual(await post('/tinyid/id/nextIdSimple', all), [200, text, '1,2'])
    assert.deepEqual(await ids('nextIdSimple', '', { method: 'POST' }), [200, text, '3'])
    assert.deepEqual(await ids('nextIdSimple', '', { method: 'POST', headers: form, payload: '' }), [
      200,
      text,
      '4',
    ])
    assert.deepEqual(await post('/tinyid/id/nextIdSimple?batchSize=1', all), [200, text, '5'])
    const latin = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }
    assert.deepEqual(
      await post('/tinyid/id/nextIdSimple', 'token=%74-0123456789abcdef&bizType=te%73t', latin),
      [200, text, '6'],
    )
    const body = await post('/tinyid/id/nextId', all, { 'content-type': 'text/plain' })
    assert.deepEqual(body, [200, json, '{"data":null,"code":5,"message":"token is error"}'])
  })

  test('write every digit of ids past 2^53, as JSON numbers', async (t) => {
    const { ids } = await tinyid(t, { test: { kind: 'segment', start: 2n ** 53n + 1n, format: 'x{id}' } })
    assert.deepEqual(await ids('nextId', '&batchSize=2'), [
      200,
      json,
      '{"data":[9007199254740993,9007199254740994],"code":200,"message":""}',
    ])
  })

  test('keep to increment and offset', async (t) => {
    const { ids } = await tinyid(t, { test: { kind: 'segment', increment: 2, offset: 0 } })
    assert.deepEqual(await ids('nextIdSimple', '&batchSize=4'), [200, text, '2,4,6,8'])
  })

  test('give 100,000 at most, or count-max, without a word', async (t) => {
    for (const [countMax, expected] of [
      ['1000000', 100_000],
      ['5', 5],
    ] as const) {
      const flags = { 'tinyid-tokens': 't-0123456789abcdef=*', 'count-max': countMax }
      const { ask } = await serve(t, { test: { kind: 'segment' } }, { flags })
      const [, , body] = await ask(
        '/tinyid/id/nextIdSimple?bizType=test&token=t-0123456789abcdef&batchSize=100001',
      )
      assert.equal(new Set(body.split(',')).size, expected)
    }
  })

  test('give none for 0 and less', async (t) => {
    const { ids } = await tinyid(t)
    assert.deepEqual(await ids('nextId', '&batchSize=0'), [200, json, '{"data":[],"code":200,"message":""}'])
    assert.deepEqual(await ids('nextIdSimple', '&batchSize=-5'), [200, text, ''])
  })

  test('refuse a batchSize that is no number with status 400, as Spring did', async (t) => {
    const { ids, node } = await tinyid(t)
    for (const wrong of ['abc', '1.5', '2147483648', '1e3']) {
      const [status, type, body] = await ids('nextId', `&batchSize=${wrong}`)
      assert.deepEqual([status, type], [400, json])
      const { exception, message, path } = JSON.parse(body)
      assert.match(exception, /MethodArgumentTypeMismatchException$/)
      assert.match(message, new RegExp(`'java.lang.Integer'.*For input string: "${wrong}"$`))
      assert.equal(path, '/tinyid/id/nextId')
    }
    assert.equal(node.catalogue.find('test')!.stats().issued, 0)
  })
})

describe('nextSegmentId and nextSegmentIdSimple', () => {
  test('give (currentId, maxId] of a step, to be left at 20 %', async (t) => {
    const { ids } = await tinyid(t, { test: { kind: 'segment', step: 1000 } })
    assert.deepEqual(await ids('nextSegmentId'), [
      200,
      json,
      '{"data":{"currentId":0,"loadingId":200,"maxId":1000,"delta":1,"remainder":0},"code":200,"message":""}',
    ])
    assert.deepEqual(await ids('nextSegmentIdSimple', '', { method: 'POST', headers: form, payload: '' }), [
      200,
      text,
      '1000,1200,2000,1,0',
    ])
    assert.deepEqual(await ids('nextIdSimple'), [200, text, '2001'])
  })

  test('have delta and remainder', async (t) => {
    const { ids } = await tinyid(t, { test: { kind: 'segment', increment: 2, offset: 1, step: 100 } })
    assert.deepEqual(await ids('nextSegmentIdSimple'), [200, text, '0,39,199,2,1'])
    assert.deepEqual(await ids('nextSegmentIdSimple'), [200, text, '200,239,399,2,1'])
  })

  test('return the rest of a range before they start the next', async (t) => {
    const { ids, node } = await tinyid(t, { test: { kind: 'segment', step: 1000 } })
    await ids('nextIdSimple', '&batchSize=300')
    // Another node's range.
    await node.engine.reserve('generators/test', { size: 5000n, incarnation: 1n })
    const segments = []
    for (let count = 0; count < 4; count++) {
      const [, , body] = await ids('nextSegmentIdSimple')
      segments.push(body.split(',').map(Number))
    }
    const issued = segments.flatMap(([current = 0, , max = 0]) => [current, max])
    assert.deepEqual(
      [...issued].sort((a, b) => a - b),
      issued,
    )
    assert.equal(issued[0], 300)
    assert.ok(segments.every(([current = 0, , max = 0]) => max > current && max - current <= 1000))
  })

  test('have code 6 for ids that come in no segments, and draw none', async (t) => {
    for (const test of [
      { kind: 'segment', within: 'shuffled' },
      { kind: 'segment', scramble: true },
      { kind: 'segment', format: '{id:6:base36}', avoid: ['fox'] },
      { kind: 'snowflake' },
    ] as const) {
      const { ids, node } = await tinyid(t, { test })
      const [status, type, body] = await ids('nextSegmentId')
      assert.deepEqual([status, type, JSON.parse(body).code, JSON.parse(body).data], [200, json, 6, null])
      assert.match(JSON.parse(body).message, /^WRONGTYPE .*nextId with a batchSize/)
      assert.deepEqual(await ids('nextSegmentIdSimple'), [200, text, ''])
      assert.equal(node.catalogue.find('test')!.stats().issued, 0)
    }
  })
})

for (const name of names) {
  describe(name, () => {
    const told = (code: number, message: string) =>
      isSimple(name) ? [200, text, ''] : [200, json, JSON.stringify({ data: null, code, message })]

    test('refuses a token that is wrong, of another generator, or missing', async (t) => {
      const served = await serve(
        t,
        { test: { kind: 'segment' } },
        { flags: { 'tinyid-tokens': 'u-0123456789abcdef=test2* v-0123456789abcdef=x' } },
      )
      for (const query of [
        'bizType=test&token=t-0123456789abcdef',
        'bizType=test&token=u-0123456789abcdef',
        'bizType=test',
        'token=u-0123456789abcdef',
        '',
      ]) {
        assert.deepEqual(await served.ask(`/tinyid/id/${name}?${query}`), told(5, 'token is error'))
      }
      assert.equal(served.node.catalogue.find('test')!.stats().issued, 0)
    })

    test('refuses an unknown bizType', async (t) => {
      const { ask } = await tinyid(t)
      const answer = await ask(`/tinyid/id/${name}?bizType=none&token=t-0123456789abcdef`)
      assert.deepEqual(answer, told(6, 'can not find biztype:none'))
    })

    test('reports the errors of this node', async (t) => {
      const { ids, node, faults } = await tinyid(t, {})
      node.catalogue.open = () => Promise.reject(new FahaoError('DRY', 'no id is buffered'))
      assert.deepEqual(await ids(name), told(6, 'DRY no id is buffered'))
      assert.deepEqual(faults, [])
    })
  })
}

describe('tokens', () => {
  const ask = ({ ask }: Awaited<ReturnType<typeof serve>>, token: string, bizType = 'test') =>
    ask(`/tinyid/id/nextIdSimple?token=${token}&bizType=${bizType}`).then(([, , body]) => body)
  const generators = {
    test: { kind: 'segment' },
    'a/b': { kind: 'segment' },
    b: { kind: 'segment' },
  } as const

  test('are records, which work as soon as they are written and no longer than they are there', async (t) => {
    const served = await serve(t, generators)
    const { engine } = served.node
    const early = await engine.write('tinyid-tokens/early/test', '{}', undefined)
    assert.equal(await ask(served, 'early'), '1')
    const { promise: told, resolve } = Promise.withResolvers<void>()
    const watch = await engine.watch('tinyid-tokens/', () => resolve())
    await engine.write('tinyid-tokens/late/test', '', undefined)
    await told
    watch.close()
    assert.equal(await ask(served, 'late'), '2')
    await engine.remove(early!.key, early!.version)
    while ((await ask(served, 'early')) !== '') await new Promise(setImmediate)
  })

  test('that go while the list of them is being read are gone', async (t) => {
    const served = await serve(t, generators)
    const { store: engine } = served
    const record = await engine.write('tinyid-tokens/x/test', '', undefined)
    const list = engine.list.bind(engine)
    engine.list = async (prefix, page) => {
      const read = await list(prefix, page)
      if (prefix !== 'tinyid-tokens/') return read
      const { promise: told, resolve } = Promise.withResolvers<void>()
      const watch = await engine.watch(prefix, () => resolve())
      await engine.remove(record!.key, record!.version)
      await told
      watch.close()
      return read
    }
    assert.equal(await ask(served, 'x'), '')
  })

  test('are many, and each opens what it names', async (t) => {
    const served = await serve(t, generators)
    for (let at = 0; at < 1500; at++) {
      await served.node.engine.write(`tinyid-tokens/${at}/test`, '', undefined)
    }
    assert.equal(await ask(served, '1499'), '1')
    assert.equal(await ask(served, '1499', 'b'), '')
  })

  test('end at the first slash', async (t) => {
    const served = await serve(t, generators)
    await served.node.engine.write('tinyid-tokens/x/a/b', '', undefined)
    assert.equal(await ask(served, 'x', 'a/b'), '1')
    assert.equal(await ask(served, 'x/a', 'b'), '')
  })

  test('work while the engine is unavailable, and unknown ones get code 6, not 5', async (t) => {
    const served = await serve(t, generators)
    const { store: engine } = served
    const list = engine.list.bind(engine)
    engine.list = () => Promise.reject(new FahaoError('UNAVAILABLE', 'away'))
    const path = '/tinyid/id/nextId?bizType=test&token=x'
    assert.deepEqual(JSON.parse((await served.ask(path))[2]), {
      data: null,
      code: 6,
      message: 'UNAVAILABLE away',
    })
    engine.list = list
    await engine.write('tinyid-tokens/x/test', '', undefined)
    assert.equal(await ask(served, 'x'), '1')
    engine.list = () => Promise.reject(new FahaoError('UNAVAILABLE', 'away'))
    assert.equal(await ask(served, 'x'), '2')
  })

  test('are not in the log when this server has a fault', async (t) => {
    const served = await serve(t, generators, { flags: { 'tinyid-tokens': 'secret-0123456789=*' } })
    served.node.catalogue.open = () => Promise.reject(new TypeError('a bug'))
    await ask(served, 'secret-0123456789', 'none')
    assert.equal(served.faults.length, 1)
    assert.doesNotMatch(JSON.stringify(served.faults), /secret/)
  })
})
