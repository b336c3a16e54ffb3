import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../../src/base/errors.ts'
import { serve } from './serve.ts'

const text = 'text/plain;charset=UTF-8'
const json = 'application/json;charset=UTF-8'
const generators = {
  '1': { kind: 'segment', format: 'sms_{id:4}' },
  '2': { kind: 'segment', within: 'shuffled', format: 'coupon_{id}' },
  '3': { kind: 'segment', scramble: true, format: '{id:19}' },
  '4': { kind: 'segment' },
} as const

describe('the API of IdBuilder', () => {
  test('gives numbers, or strings with prefix, in order', async (t) => {
    const { ask } = await serve(t, generators)
    assert.deepEqual(await ask('/id-builder/increase-seq-id?code=1'), [200, json, '1'])
    assert.deepEqual(await ask('/id-builder/increase-seq-id-str?code=1'), [200, text, 'sms_0002'])
  })

  test('gives numbers, or strings with prefix, in no order', async (t) => {
    const { ask } = await serve(t, generators)
    const seen = new Set<string>()
    for (let count = 0; count < 50; count++) {
      const [status, type, body] = await ask('/id-builder/increase-id?code=2')
      assert.deepEqual([status, type], [200, json])
      assert.match(body, /^\d+$/)
      seen.add(body)
    }
    assert.equal(seen.size, 50)
    assert.notDeepEqual(
      [...seen],
      [...seen].sort((a, b) => Number(a) - Number(b)),
    )
    const [, type, body] = await ask('/id-builder/increase-id-str?code=2')
    assert.equal(type, text)
    assert.match(body, /^coupon_\d+$/)
    assert.equal((await ask('/id-builder/increase-id?code=3'))[0], 200)
  })

  const wrong: readonly [path: string, code: string, message: RegExp][] = [
    ['increase-seq-id', '2', /^WRONGTYPE .*in no order.*\/id-builder\/increase-id$/],
    ['increase-seq-id-str', '2', /^WRONGTYPE .*\/id-builder\/increase-id-str$/],
    ['increase-seq-id', '3', /^WRONGTYPE .*in no order/],
    ['increase-id', '1', /^WRONGTYPE .*in order.*\/id-builder\/increase-seq-id$/],
    ['increase-id-str', '1', /^WRONGTYPE .*\/id-builder\/increase-seq-id-str$/],
    ['increase-seq-id-str', '4', /^WRONGTYPE '4' has no format.* ID\.ALTER 4 FORMAT biz_code\{node\}\{id\}$/],
    ['increase-id', '9', /^NOGENERATOR no generator '9'/],
    ['increase-seq-id-str', '9', /^NOGENERATOR no generator '9'/],
  ]
  for (const [path, code, message] of wrong) {
    test(`(${path} of code ${code}) is answered 500 with the reason`, async (t) => {
      const { ask, node, faults } = await serve(t, generators)
      // From here on ids are buffered, and no request has to wait.
      await Promise.all(['1', '2', '3', '4'].map((name) => node.catalogue.find(name)!.draw(1)))
      const [status, type, body] = await ask(`/id-builder/${path}?code=${code}`)
      assert.deepEqual([status, type], [500, json])
      const read = JSON.parse(body)
      assert.match(read.message, message)
      assert.deepEqual(read, {
        timestamp: read.timestamp,
        status: 500,
        error: 'Internal Server Error',
        exception: 'java.lang.NullPointerException',
        message: read.message,
        path: `/id-builder/${path}`,
      })
      assert.deepEqual(faults, [])
      assert.deepEqual(
        [...node.catalogue.inUse()].map((each) => each.stats().issued),
        [1, 1, 1, 1],
      )
    })
  }

  for (const [code, reason] of [
    ['abc', /^NOGENERATOR no generator 'abc'/],
    ['a%20b', /^ERR /],
    ['1.5', /^NOGENERATOR /],
    ['99999999999', /^NOGENERATOR /],
  ] as const)
    test(`answers 400 to the code ${code}, as Spring does where it reads an int`, async (t) => {
      const { app } = await serve(t, generators)
      const answer = await app.inject({ method: 'GET', url: `/id-builder/increase-id?code=${code}` })
      const { status, exception, message } = answer.json()
      assert.deepEqual([answer.statusCode, status], [400, 400])
      assert.equal(exception, 'org.springframework.web.method.annotation.MethodArgumentTypeMismatchException')
      assert.match(
        message,
        /^Failed to convert value of type 'java\.lang\.String' to required type 'int'; nested/,
      )
      assert.ok(message.endsWith(`For input string: "${decodeURIComponent(code)}"`))
      assert.match(String(answer.headers['fahao-error']), reason)
    })

  test('reads the code as Spring reads an int', async (t) => {
    const { ask } = await serve(t, generators)
    for (const [at, code] of ['001', '%2B1', '%201'].entries())
      assert.deepEqual(await ask(`/id-builder/increase-seq-id?code=${code}`), [200, json, String(at + 1)])
    assert.equal((await ask('/id-builder/increase-seq-id?code=-1'))[0], 500)
  })

  test('serves a generator whose name is no number', async (t) => {
    const { ask } = await serve(t, { order: { kind: 'segment' } })
    assert.deepEqual(await ask('/id-builder/increase-seq-id?code=order'), [200, json, '1'])
  })

  test('reports the errors of this node', async (t) => {
    const { ask, node } = await serve(t)
    node.catalogue.open = () => Promise.reject(new FahaoError('UNAVAILABLE', 'the engine is away'))
    const [status, , body] = await ask('/id-builder/increase-id?code=1')
    assert.deepEqual(
      [status, JSON.parse(body).exception, JSON.parse(body).message],
      [500, 'java.lang.IllegalStateException', 'UNAVAILABLE the engine is away'],
    )
  })

  test('wants a code', async (t) => {
    const { ask } = await serve(t, generators)
    for (const query of ['', '?code=', '?Code=1']) {
      const [status, , body] = await ask(`/id-builder/increase-id${query}`)
      assert.deepEqual(
        [status, JSON.parse(body).message],
        [400, "Required int parameter 'code' is not present"],
      )
    }
  })

  test('is asked by GET only', async (t) => {
    const { app, node } = await serve(t, generators)
    const answer = await app.inject({ method: 'POST', url: '/id-builder/increase-seq-id?code=1' })
    assert.deepEqual([answer.statusCode, answer.headers.allow], [405, 'GET, HEAD'])
    assert.equal(node.catalogue.find('1')!.stats().issued, 0)
  })
})
