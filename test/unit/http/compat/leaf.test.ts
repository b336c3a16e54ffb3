import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { FahaoError } from '../../../../src/base/errors.ts'
import { decode } from '../../../../src/ids/id-parts.ts'
import { layouts } from '../../../../src/ids/presets.ts'
import { allOf } from '../../catalogue/part-of.ts'
import { serve } from './serve.ts'

const text = 'text/plain;charset=UTF-8'
const json = 'application/json;charset=UTF-8'
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Leaf's failure with this number in it. */
function failure(id: number, path: string, timestamp: number) {
  return {
    timestamp,
    status: 500,
    error: 'Internal Server Error',
    exception: 'com.sankuai.inf.leaf.server.exception.LeafServerException',
    message: `Result{id=${id}, status=EXCEPTION}`,
    path,
  }
}

/** Asserts Leaf's failure and returns the header that says more. */
async function failing(t: TestContext, url: string, id: number, generators = {}, bend = bendNothing) {
  const served = await serve(t, generators)
  bend(served.node.catalogue)
  const answer = await served.app.inject({ method: 'GET', url })
  const body = answer.json()
  assert.deepEqual([answer.statusCode, answer.headers['content-type']], [500, json])
  assert.deepEqual(body, failure(id, url.split('?')[0]!, body.timestamp))
  assert.deepEqual(Object.keys(body), Object.keys(failure(id, url, 0)))
  assert.ok(Math.abs(body.timestamp - Date.now()) < 60_000)
  assert.deepEqual(served.faults, [])
  return String(answer.headers['fahao-error'])
}

type Bendable = Awaited<ReturnType<typeof serve>>['node']['catalogue']
function bendNothing(_: Bendable) {}

describe('/api/segment/get', () => {
  test('answers the next id as plain digits, for any method and any body', async (t) => {
    const { ask } = await serve(t, { order: { kind: 'segment' } })
    const payload = '<x/>'
    for (const [at, method] of methods.entries()) {
      const headers = method === 'GET' ? {} : { 'content-type': 'application/xml' }
      const more = method === 'GET' ? { method } : { method, headers, payload }
      assert.deepEqual(await ask('/api/segment/get/order', more), [200, text, String(at + 1)])
    }
  })

  test('serves sequences too, bare of their format, and every digit past 2^53', async (t) => {
    const start = 2n ** 62n
    const { ask } = await serve(t, {
      'a.b/c': { kind: 'sequence', format: 'o_{id}' },
      large: { kind: 'segment', start },
    })
    assert.deepEqual(await ask('/api/segment/get/a.b%2Fc'), [200, text, '1'])
    assert.deepEqual(await ask('/api/segment/get/large?x=y'), [200, text, String(start)])
  })

  test('opens a generator that another node made, and one that --auto-create allows', async (t) => {
    const { ask } = await serve(t, {}, { flags: { 'auto-create': 'new*=segment' } })
    assert.deepEqual(await ask('/api/segment/get/new1'), [200, text, '1'])
  })

  test('has −2 for a key that is unknown, no name, or a snowflake', async (t) => {
    assert.match(await failing(t, '/api/segment/get/none?a=b', -2), /^NOGENERATOR no generator 'none'/)
    assert.match(await failing(t, '/api/segment/get/a%20b', -2), /^ERR .*generator's name/)
    const snow = { snow: { kind: 'snowflake' } }
    assert.match(await failing(t, '/api/segment/get/snow', -2, snow), /^WRONGTYPE .*api.snowflake.get/)
  })

  test('has −3 when no id came in time, and −1 when this node cannot issue', async (t) => {
    const path = '/api/segment/get/order'
    for (const [code, id] of [
      ['DRY', -3],
      ['UNAVAILABLE', -3],
      ['SHUTDOWN', -1],
      ['REGRESSED', -1],
    ] as const) {
      const header = await failing(t, path, id, {}, (catalogue) => {
        catalogue.open = () => Promise.reject(new FahaoError(code, '‘why’ — so'))
      })
      assert.equal(header, `${code} 'why' ? so`)
    }
  })

  test('a fault of the server is written to the log only, without the query', async (t) => {
    const served = await serve(t)
    const fault = new TypeError('a secret')
    served.node.catalogue.open = () => Promise.reject(fault)
    const [status, type, body] = await served.ask('/api/segment/get/order?token=x')
    assert.deepEqual([status, type, JSON.parse(body).status], [500, json, 500])
    assert.doesNotMatch(body, /secret/)
    assert.deepEqual(served.faults, [{ err: fault, path: '/api/segment/get/order' }])
  })

  test('a burst waits for the refill instead of failing', async (t) => {
    const { ask } = await serve(t, { order: { kind: 'segment', step: 1 } })
    const answers = await Promise.all(Array.from({ length: 500 }, () => ask('/api/segment/get/order')))
    assert.deepEqual(new Set(answers.map(([status]) => status)), new Set([200]))
    assert.equal(new Set(answers.map(([, , body]) => body)).size, 500)
  })
})

describe('/api/snowflake/get', () => {
  test('answers any key from one snowflake of Leaf’s layout, which it makes', async (t) => {
    const { ask, node } = await serve(t, { order: { kind: 'segment' } })
    const ids: bigint[] = []
    for (const key of ['order', 'x', 'x', 'a%20b', 'snowflake']) {
      const [status, type, body] = await ask(`/api/snowflake/get/${key}`)
      assert.deepEqual([status, type], [200, text])
      ids.push(BigInt(body))
    }
    assert.deepEqual([...ids].sort(), ids)
    assert.equal(new Set(ids).size, ids.length)
    const { definition } = await node.catalogue.info('snowflake')
    assert.deepEqual([definition.kind, definition.sequenceStart], ['snowflake', 'random'])
    const { unixUs } = decode(layouts.leaf, ids[0]!)
    assert.ok(Math.abs(Number(unixUs) / 1000 - Date.now()) < 60_000)
  })

  test('answers the name of a snowflake from that one, and never makes a key by --auto-create', async (t) => {
    const { ask, node } = await serve(
      t,
      { small: { kind: 'snowflake', layout: 'js53' } },
      { flags: { 'auto-create': '*=segment' } },
    )
    const [, , body] = await ask('/api/snowflake/get/small')
    assert.ok(BigInt(body) < 2n ** 53n)
    assert.equal(await node.catalogue.exists('snowflake'), false)
    await ask('/api/snowflake/get/other')
    assert.deepEqual(
      (await allOf(node.catalogue)).map(({ name }) => name),
      ['small', 'snowflake'],
    )
  })

  test('takes a generator called snowflake as it was made', async (t) => {
    const { ask } = await serve(t, { snowflake: { kind: 'snowflake', layout: 'js53' } })
    const [, , body] = await ask('/api/snowflake/get/any')
    assert.ok(BigInt(body) < 2n ** 53n)
  })

  test('a key keeps its meaning: two generators may issue the same number', async (t) => {
    const { ask, node } = await serve(t)
    await ask('/api/snowflake/get/key')
    await node.catalogue.create('key', { kind: 'snowflake', layout: 'js53' })
    const [, , body] = await ask('/api/snowflake/get/key')
    assert.ok(BigInt(body) > 2n ** 53n)
  })

  test('refuses a new key while the engine is unavailable, and serves the keys used before', async (t) => {
    const served = await serve(t)
    const { ask, node, app } = served
    await ask('/api/snowflake/get/known')
    node.catalogue.info = () => Promise.reject(new FahaoError('UNAVAILABLE', 'away'))
    assert.equal((await ask('/api/snowflake/get/known'))[0], 200)
    const answer = await app.inject({ method: 'GET', url: '/api/snowflake/get/new' })
    const body = answer.json()
    assert.deepEqual(body, failure(-3, '/api/snowflake/get/new', body.timestamp))
  })

  test('reports that the name it needs belongs to another kind', async (t) => {
    const generators = { snowflake: { kind: 'sequence' } }
    assert.match(await failing(t, '/api/snowflake/get/a', -3, generators), /^WRONGTYPE 'snowflake' is a seq/)
  })
})

describe('/decodeSnowflakeId', () => {
  const zone = process.env.TZ
  test('takes an id apart as Leaf does, in local time', async (t) => {
    process.env.TZ = 'Asia/Shanghai'
    t.after(() => {
      if (zone === undefined) delete process.env.TZ
      else process.env.TZ = zone
    })
    const { ask } = await serve(t)
    const id = ((1567733700834n - 1288834974657n) << 22n) | (39n << 12n) | 3448n
    assert.deepEqual(await ask(`/decodeSnowflakeId?snowflakeId=${id}`), [
      200,
      json,
      '{"timestamp":"1567733700834(2019-09-06 09:35:00.834)","sequenceId":"3448","workerId":"39"}',
    ])
  })

  test('takes a posted form, and any long', async (t) => {
    const { ask } = await serve(t)
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const payload = 'snowflakeId=%2B4097'
    const [, , body] = await ask('/decodeSnowflakeId', { method: 'POST', headers, payload })
    assert.deepEqual([JSON.parse(body).workerId, JSON.parse(body).sequenceId], ['1', '1'])
    const [, , least] = await ask(`/decodeSnowflakeId?snowflakeId=${-(2n ** 63n)}`)
    assert.match(least, /"sequenceId":"0","workerId":"0"/)
  })

  test('answers errorMsg for text that is not a long, and 400 without a parameter', async (t) => {
    const { ask } = await serve(t)
    for (const wrong of ['x', '', '1.5', String(2n ** 63n), '1e3']) {
      const answer = await ask(`/decodeSnowflakeId?snowflakeId=${wrong}`)
      assert.deepEqual(answer, [200, json, '{"errorMsg":"snowflake Id反解析发生异常!"}'])
    }
    const [status, , body] = await ask('/decodeSnowflakeId')
    const { error, message } = JSON.parse(body)
    assert.deepEqual(
      [status, error, message],
      [400, 'Bad Request', "Required String parameter 'snowflakeId' is not present"],
    )
  })
})

/** The cells of each row of a page. */
function rowsOf(body: string): string[][] {
  return [...body.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row]) =>
    [...row!.matchAll(/<t[hd]>(.*?)<\/t[hd]>/g)].map(([, cell]) => cell!),
  )
}

describe('/cache', () => {
  test('shows the buffer of each counter, in Leaf’s columns', async (t) => {
    const { ask } = await serve(t, {
      odd: { kind: 'segment', start: 1n, increment: 2, step: 10 },
      idle: { kind: 'sequence' },
      'a<b': { kind: 'segment', within: 'shuffled' },
      snow: { kind: 'snowflake' },
    })
    await ask('/api/segment/get/odd')
    await ask('/api/segment/get/a<b')
    const [status, type, body] = await ask('/cache')
    assert.deepEqual([status, type], [200, 'text/html;charset=UTF-8'])
    const [head, ...rows] = rowsOf(body)
    assert.deepEqual(head, 'name init next pos value0 max0 step0 value1 max1 step1 rate'.split(' '))
    const odd = rows.find(([name]) => name === 'odd')!
    assert.deepEqual(odd.slice(0, 1).concat(odd.slice(3, 5)), ['odd', '0', '3'])
    assert.equal(odd[1], 'true')
    assert.ok((Number(odd[5]) - 3) % 2 === 0 && Number(odd[5]) > 3, odd[5])
    assert.deepEqual(odd.slice(6), ['10', '0', '0', '0', odd.at(-1)])
    assert.match(odd.at(-1)!, /^\d+(\.\d)?\/s$/)
    assert.equal(rows.find(([name]) => name === 'a&#60;b')!.at(-1), '', 'hidden volume stays hidden')
    assert.deepEqual(rows.find(([name]) => name === 'a&#60;b')!.slice(3, 6), ['0', '', ''])
    const idle = rows.find(([name]) => name === 'idle')
    assert.deepEqual(idle, ['idle', 'false', 'false', '0', '0', '0', '0', '0', '0', '0', '0.0/s'])
    assert.equal(rows.length, 3)
  })

  test('has pages', async (t) => {
    const { ask, node } = await serve(t, { one: { kind: 'segment' } })
    const one = node.catalogue.find('one')!
    node.catalogue.inUse = () => new Array(2500).fill(one)
    const counts = []
    for (let path: string | undefined = '/cache'; path !== undefined; ) {
      const [, , body] = await ask(path)
      counts.push(rowsOf(body).length - 1)
      path = /<a href="(\/cache[^"]*)">next/.exec(body)?.[1]
    }
    assert.deepEqual(counts, [1000, 1000, 500])
  })
})

test('/db shows each counter with its bound and its step, over as many pages as it takes', async (t) => {
  const { ask, node } = await serve(t)
  for (let at = 0; at < 150; at++) {
    await node.catalogue.create(`tag${String(at).padStart(3, '0')}`, { kind: 'segment', step: 500 })
  }
  await node.catalogue.create('scrambled', { kind: 'segment', scramble: true })
  await node.catalogue.create('snow', { kind: 'snowflake' })
  await ask('/api/segment/get/tag000')
  const bound = (await node.catalogue.info('tag000')).bound
  const [, , first] = await ask('/db')
  const [, , second] = await ask(/<a href="(\/db[^"]*)">next/.exec(first)![1]!)
  assert.doesNotMatch(second, />next</)
  const [head, ...rows] = [...rowsOf(first), ...rowsOf(second).slice(1)]
  assert.deepEqual(head, ['tag', 'max', 'step', 'update', 'rate'])
  assert.equal(rows.length, 151)
  assert.deepEqual(rows.find(([tag]) => tag === 'tag000')?.slice(0, 4), ['tag000', String(bound), '500', ''])
  assert.deepEqual(
    rows.find(([tag]) => tag === 'scrambled'),
    ['scrambled', '', '1000', '', ''],
  )
})
