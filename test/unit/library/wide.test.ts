import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layouts, wideSnowflake } from '../../../src/ids.ts'
import { openFahao } from '../../../src/index.ts'

const bytesText = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

test('a generator makes texts and bytes of 128 bits that increase, one at a time and in batches', async (t) => {
  const fahao = await openFahao({ engine: 'memory:' })
  t.after(() => fahao.close())
  const event = await fahao.open('event', { kind: 'snowflake', format: 'uuidv7' })
  const texts = [await event.nextText(), event.tryNextText()!, ...(await event.nextTexts(3))]
  const bytes = await event.nextBytes()
  const filled = new Uint8Array(18)
  assert.equal(event.tryNextBytes(filled, 1), true)
  const all = [
    ...texts.map((text) => text.replaceAll('-', '')),
    bytesText(bytes),
    bytesText(filled.subarray(1, 17)),
  ]
  assert.deepEqual(all, [...new Set(all)].sort())
  assert.throws(() => event.tryNextBytes(filled, 3), /not 16 bytes from 3 on/)
  const plain = await fahao.open('plain', { kind: 'segment' })
  await assert.rejects(plain.nextBytes(), { code: 'WRONGTYPE' })
})

test('two generators with the same ids have other texts', async (t) => {
  const fahao = await openFahao({ engine: 'memory:' })
  t.after(() => fahao.close())
  const texts: string[] = []
  for (const round of [1, 2]) {
    const order = await fahao.open(`order-${round}`, { kind: 'segment', format: 'uuidv8' })
    texts.push(await order.nextText())
  }
  // Both are id 1: the key of each generator tells them apart.
  assert.equal(texts[0]!.slice(0, 18), texts[1]!.slice(0, 18))
  assert.notEqual(texts[0], texts[1])
})

test('what would repeat texts, or has no room, is refused', async (t) => {
  const fahao = await openFahao({ engine: 'memory:' })
  t.after(() => fahao.close())
  const refused = async (options: Parameters<typeof fahao.open>[1], why: RegExp) =>
    assert.rejects(fahao.open('refused', options), why)
  await refused({ kind: 'segment', format: 'uuidv7' }, /a counter has none; use uuidv8/)
  await refused({ kind: 'snowflake', format: 'typeid:Order' }, /no prefix of a TypeID/)
  const micro = 'time:50,node:5,sequence:8;unit=us;epoch=2025-01-01T00:00:00Z'
  await refused({ kind: 'snowflake', format: 'objectid', layout: micro }, /= 33 bits, and there are 32/)
  await assert.rejects(
    fahao.open('refused:*', { kind: 'sequence', family: true, format: 'uuidv8' }),
    /share one key/,
  )
  await fahao.open('event', { kind: 'snowflake', format: 'ulid' })
  const other = 'time:41,node:10,sequence:12;unit=ms;epoch=2025-01-01T00:00:00Z'
  await fahao.alter('event', { borrowMax: '1s' })
  await assert.rejects(fahao.alter('event', { layout: other }), /unique for ids of one layout/)
  assert.match((await fahao.describe('event')).notes.join('; '), /char\(26\)/)
})

test('ids of 128 bits are made without an engine, and read with the same key', () => {
  const ids = wideSnowflake({ layout: layouts.twitter, workerId: 7, format: 'uuidv7' })
  const texts = Array.from({ length: 20_000 }, () => ids.nextText())
  assert.deepEqual(texts, [...new Set(texts)].sort())
  const last = bytesText(ids.nextBytes())
  assert.ok(last > texts.at(-1)!.replaceAll('-', ''))
  const filled = new Uint8Array(20)
  ids.nextBytes(filled, 4)
  const others = wideSnowflake({ layout: 'twitter', workerId: 8, format: 'uuidv7', key: ids.key })
  for (const text of [texts[0]!, last, bytesText(filled.subarray(4))])
    assert.equal(others.parse(text), ids.parse(text))
  assert.throws(() => ids.nextBytes(filled, 5), { code: 'ERR' })
  const wrong = { layout: 'twitter', workerId: 7 }
  assert.throws(() => wideSnowflake({ ...wrong, format: 'uuidv4' }), /no format of bytes/)
  assert.throws(() => wideSnowflake({ ...wrong, format: 'ulid', key: 'secret' }), /16 hexadecimal digits/)
})
