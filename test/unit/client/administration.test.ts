/** Requests that create, change and list generators, in both forms. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  alterGenerator,
  createGenerator,
  dropGenerator,
  listGenerators,
} from '../../../client/src/administration.ts'
import { Unsent } from '../../../client/src/link.ts'
import type { Nodes } from '../../../client/src/nodes.ts'
import type { Request } from '../../../client/src/requests.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { FakeService } from './fake-service.ts'

/** A service that answers these replies in turn, and the requests that it got. */
function answering(...replies: unknown[]) {
  const requests: Request<unknown>[] = []
  const link = {
    node: 'a:1',
    async send(request: Request<unknown>) {
      requests.push(request)
      const reply = replies.shift()
      if (reply instanceof Error) throw reply
      return reply
    },
    close() {},
  }
  const { nodes, clock } = new FakeService({ link: () => link })
  return { requests, nodes, clock }
}

test('options that are given go as words and as JSON, numbers above 2^53 as text', async () => {
  const { requests, nodes } = answering('OK', 'OK')
  const options = { kind: 'sequence', start: 2n ** 60n, stepMax: 5, horizon: '5m' } as const
  await createGenerator(nodes, 'a b', options)
  await alterGenerator(nodes, 'order', { scramble: false, floor: 7n, now: true, force: false })
  const start = String(2n ** 60n)
  assert.deepEqual(
    requests.map(({ name, words, method, path, body }) => ({
      name,
      words: words.join(' '),
      method,
      path,
      body,
    })),
    [
      {
        name: 'a b',
        words: `ID.CREATE a b KIND sequence START ${start} STEPMAX 5 HORIZON 5m`,
        method: 'PUT',
        path: '/v1/generators/a%20b',
        body: { kind: 'sequence', start, stepMax: 5, horizon: '5m' },
      },
      {
        name: 'order',
        words: 'ID.ALTER order SCRAMBLE false FLOOR 7 NOW',
        method: 'PATCH',
        path: '/v1/generators/order',
        body: { scramble: false, floor: '7', now: true },
      },
    ],
  )
})

test('a list is read to its end, over RESP up to a page without generators, over HTTP up to one without a next', async () => {
  const all = async (nodes: Parameters<typeof listGenerators>[0]) => {
    const names: string[] = []
    for await (const { name, kind } of listGenerators(nodes, { match: 'o*' })) names.push(`${name} ${kind}`)
    return names
  }
  const overResp = answering(
    [
      ['oa', 'segment'],
      ['ob', 'sequence'],
    ],
    [['oc', 'segment']],
    [],
  )
  assert.deepEqual(await all(overResp.nodes), ['oa segment', 'ob sequence', 'oc segment'])
  assert.deepEqual(
    overResp.requests.map(({ words }) => words.slice(3).join(' ')),
    ['', 'AFTER ob', 'AFTER oc'],
  )
  const pages = [
    { generators: [{ name: 'oa', kind: 'segment', definition: {} }], next: 'oa' },
    { generators: [], next: 'oz' },
    { generators: [{ name: 'o€', kind: 'snowflake', definition: {} }], next: null },
  ]
  const overHttp = answering(...pages)
  assert.deepEqual(await all(overHttp.nodes), ['oa segment', 'o€ snowflake'])
  assert.deepEqual(
    overHttp.requests.map(({ path }) => new URL(path, 'http://a').searchParams.get('after')),
    [null, 'oa', 'oz'],
  )
})

test('a drop says whether there was a generator, in each form', async () => {
  const { nodes } = answering(1, 0, undefined, new FahaoError('NOGENERATOR', 'none'))
  const outcomes = []
  for (let drops = 0; drops < 4; drops++) outcomes.push(await dropGenerator(nodes, 'order'))
  assert.deepEqual(outcomes, [true, false, true, false])
})

for (const [what, change] of [
  ['a drop', (nodes: Nodes) => dropGenerator(nodes, 'order')],
  ['an alteration', (nodes: Nodes) => alterGenerator(nodes, 'order', { step: 10 })],
] as const)
  test(`${what} whose reply was lost is not sent again: another caller can have changed the generator since`, async () => {
    for (const code of ['UNAVAILABLE', 'UNKNOWN'] as const) {
      const { requests, nodes } = answering(new FahaoError(code, 'no answer'), 1)
      await assert.rejects(change(nodes), {
        code: 'UNKNOWN',
        message: /may have been carried out .*no answer\); look/,
      })
      assert.equal(requests.length, 1)
    }
  })

test('a drop that no node has received goes to the next one', async () => {
  const { requests, nodes, clock } = answering(
    new Unsent('not running', undefined),
    new FahaoError('SHUTDOWN', 'ask another'),
    1,
  )
  const dropped = dropGenerator(nodes, 'order')
  await clock.pass(100)
  assert.equal(await dropped, true)
  assert.equal(requests.length, 3)
})
