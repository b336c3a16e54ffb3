/** No way in gives an id whose text contains a word, and all ways in skip the same ids. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connect } from '../../client/src/index.ts'
import { compileFormat } from '../../src/ids/format.ts'
import { Words } from '../../src/ids/words.ts'
import { openFahao } from '../../src/index.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'

const scope = new Scope()
const words = ['as', 'fox', '2b', 'zz']
const list = new Words(words)
const format = compileFormat('{id:4:base36}')
let server: FahaoServer
let resp: RawClient

before(async () => {
  server = await startFahao(scope)
  resp = await server.connect()
})
after(() => scope.end())

const create = (name: string, ...options: string[]) =>
  resp.command(
    'ID.CREATE',
    name,
    'KIND',
    'segment',
    'FORMAT',
    '{id:4:base36}',
    'AVOID',
    words.join(),
    ...options,
  )

async function refusal(...words: string[]): Promise<string> {
  const reply = await resp.command(...words)
  assert.ok(reply instanceof ReplyError)
  return reply.text
}

function noneHasAWord(texts: readonly string[]): void {
  assert.deepEqual(
    texts.filter((text) => list.endIn(text) >= 0),
    [],
  )
}

async function json(path: string, init?: RequestInit): Promise<Record<string, unknown>> {
  return (await (await fetch(server.http + path, init)).json()) as Record<string, unknown>
}

test('RESP and HTTP issue every other id, as text and as number', async () => {
  assert.equal(await create('code'), 'OK')
  const ids: bigint[] = []
  for (let turn = 0; turn < 60; turn++) {
    ids.push(BigInt((await resp.command('INCR', 'code')) as number))
    ids.push(format.parse(String(await resp.command('ID.NEXT', 'code'))))
    ids.push(
      ...((await resp.command('ID.NEXT', 'code', 'COUNT', '20')) as string[]).map((text) =>
        format.parse(text),
      ),
    )
    const answer = await json('/v1/generators/code/next?count=20', { method: 'POST' })
    ids.push(...(answer.ids as string[]).map((text) => format.parse(text)))
    for (const [first, stride, count] of (await resp.command('ID.RUNS', 'code', '20')) as [
      string,
      string,
      number,
    ][])
      for (let at = 0; at < count; at++) ids.push(BigInt(first) + BigInt(stride) * BigInt(at))
  }
  const expected: bigint[] = []
  for (let id = 1n; expected.length < ids.length; id++)
    if (list.endIn(format.format(id)) < 0) expected.push(id)
  assert.deepEqual(ids, expected)
  assert.ok(expected.at(-1)! > BigInt(expected.length), 'some were skipped')
})

test('blocks are refused, leases give nothing, and a skipped id is decoded: it may be from before', async () => {
  assert.match(await refusal('INCRBY', 'code', '10'), /^WRONGTYPE /)
  assert.match(await refusal('ID.RANGE', 'code', '10'), /^WRONGTYPE /)
  const lease = await json('/v1/generators/code/leases?count=5', { method: 'POST' })
  assert.deepEqual([lease.lease, lease.ranges], [null, undefined])
  assert.equal((await json('/v1/decode?id=00AS&generator=code')).id, '388')
  const [checked] = (await resp.command('ID.CHECK', 'code', '00AS')) as string[][]
  assert.equal(checked![3], 'may-have-been-issued')
})

test('the client and the library issue none', async (t) => {
  for (const options of [[], ['SCRAMBLE', 'true']]) {
    const name = `code${options.length}`
    assert.equal(await create(name, ...options), 'OK')
    for (const url of [`redis://127.0.0.1:${server.resp}`, server.http]) {
      const client = await connect(url)
      t.after(() => client.close())
      const generator = await client.generator(name)
      const texts = [...(await generator.nextTexts(3000)), await generator.nextText()]
      noneHasAWord(texts)
      noneHasAWord((await generator.nextBatch(500)).map((id) => format.format(BigInt(id))))
      assert.equal(new Set(texts).size, 3001)
    }
  }
  const fahao = await openFahao({ engine: 'memory:' })
  t.after(() => fahao.close())
  const code = await fahao.open('code', { kind: 'segment', format: '{id:4:base36}', avoid: words })
  const texts: string[] = []
  for (let turn = 0; turn < 2000; turn++) texts.push(await code.nextText())
  noneHasAWord(texts)
})
