/** Formats that a generator is warned of, and those that it may keep but not be given. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { type Node, startNode } from './node.ts'

const case62 = /differ in the case of letters alone: a column that ignores case/

async function withFormat(input: GeneratorInput): Promise<Node> {
  const node = await startNode()
  await node.catalogue.create('g', input)
  return node
}

/** Puts another format into the record of `g`, as an earlier version could. */
async function store({ engine }: Node, format: string): Promise<void> {
  const record = (await engine.read('generators/g'))!
  const stored = JSON.parse(record.value)
  stored.definition.format = format
  await engine.write(record.key, JSON.stringify(stored), record.version)
}

test('a format whose texts differ in case alone is warned of when the generator is created or gets it, and in its description', async () => {
  const node = await withFormat({ kind: 'segment', format: '{id::base62}' })
  await node.catalogue.create('g', { kind: 'segment', format: '{id::base62}' })
  assert.equal(node.events.filter((text) => case62.test(text)).length, 1)
  assert.match((await node.catalogue.info('g')).notes.join(), case62)
  for (const format of ['{id::base36}', '{id:13:crockford}', '{id:9:base16}', 'Ab{id}'])
    await node.catalogue.create(format, { kind: 'segment', format })
  assert.equal(node.events.filter((text) => case62.test(text)).length, 1)
  await node.catalogue.alter('Ab{id}', { format: 'Ab{id:11:base62}' })
  assert.equal(node.events.filter((text) => case62.test(text)).length, 2)
  assert.doesNotMatch((await node.catalogue.info('{id::base36}')).notes.join(), case62)
})

describe('a format with an ambiguous zone', () => {
  test('is refused to a new generator, and to one that gets another format', async () => {
    const refused = { code: 'ERR', message: /zone 'CST' .* write a place like Asia\/Shanghai/ }
    const node = await withFormat({ kind: 'segment', format: 'a{id}' })
    await assert.rejects(
      node.catalogue.create('h', { kind: 'segment', format: '{date:HH:CST}{id}' }),
      refused,
    )
    await assert.rejects(node.catalogue.alter('g', { format: '{date:HH:CST}{id}' }), refused)
    assert.equal((await node.catalogue.info('g')).definition.format, 'a{id}')
  })

  test('stays with a generator that has it, which says so', async () => {
    const node = await withFormat({ kind: 'segment', format: 'a{id}' })
    await store(node, '{date:HH:CST}{id}')
    const { clock } = node
    await clock.pass(2000)
    const generator = await node.catalogue.open('g')
    assert.match(generator.text(7n), /^\d\d7$/)
    assert.match(
      (await node.catalogue.info('g')).notes.join(),
      /zone CST of its format means different times/,
    )
    // A config file confirms it at each start, and other options can be altered.
    await node.catalogue.create('g', { kind: 'segment', format: '{date:HH:CST}{id}' })
    await node.catalogue.alter('g', { step: 20 })
    await node.catalogue.alter('g', { format: '{date:HH:Asia/Shanghai}{id}' })
    assert.doesNotMatch((await node.catalogue.info('g')).notes.join(), /zone/)
  })
})

describe('a format of 128 bits', () => {
  test('reads the same texts after alterations and on another node, also after a while with another format', async () => {
    const node = await withFormat({ kind: 'segment' })
    const id = (await node.catalogue.open('g')).text(1n)
    assert.equal(id, '1')
    const wide = await node.catalogue.alter('g', { format: 'uuidv8' })
    const text = wide.text(1n)
    assert.equal((await node.catalogue.alter('g', { format: 'x{id}' })).text(1n), 'x1')
    assert.equal((await node.catalogue.alter('g', { format: 'uuidv8', step: 10 })).text(1n), text)
    // A new incarnation.
    assert.equal((await node.catalogue.alter('g', { increment: 3 })).text(1n), text)
    const other = await startNode({ store: node.store })
    assert.equal((await other.catalogue.open('g')).parse(text), 1n)
    await node.catalogue.drop('g')
    await node.catalogue.create('g', { kind: 'segment', format: 'uuidv8' })
    assert.notEqual((await node.catalogue.open('g')).text(1n), text)
  })

  test('does not rest: a key is its own', async () => {
    const node = await startNode({ restAfterMs: 1000 })
    await node.catalogue.create('g', { kind: 'segment', format: 'uuidv8', step: 10 })
    const generator = await node.catalogue.open('g')
    const text = generator.text((await generator.draw(1))[0]!.first)
    await node.clock.pass(60_000)
    assert.equal((await node.catalogue.open('g')).parse(text), 1n)
  })
})

test('a format says which column its texts fit, and whether they sort like ids', async () => {
  const node = await startNode()
  const expected: [GeneratorInput, RegExp][] = [
    [{ kind: 'segment', format: 'c{id:8}' }, /its texts fit char\(9\), and sort like ids with .*COLLATE "C"/],
    [{ kind: 'segment', format: 'c{id}', max: 999 }, /its texts fit varchar\(4\); they do not sort like ids/],
    [
      { kind: 'segment', format: '{id::base62}' },
      /its texts fit varchar\(11\) with a collation that compares bytes/,
    ],
    [{ kind: 'segment', format: '号{id:4}' }, /its texts fit char\(5\) of Unicode, and sort/],
    [
      {
        kind: 'snowflake',
        format: 'ulid',
        layout: 'scatter:4,time:40,node:6,sequence:6;epoch=2024-01-01T00:00:00Z',
      },
      /scatter spreads raw ids alone, and not the texts/,
    ],
    [{ kind: 'segment', format: '{id:8:crockford:group=4}{check:mod37-2}' }, /its texts fit char\(10\)/],
  ]
  for (const [options, note] of expected) {
    const name = String(options.format)
    await node.catalogue.create(name, options)
    const { notes } = await node.catalogue.info(name)
    assert.match(notes.join(), note)
  }
  await node.stop()
})
