/** Series: rules with every option, names by a template, and formats that show the name or the tenant. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import type { AutoCreate } from '../../../src/catalogue/deps.ts'
import type { OpenGenerator } from '../../../src/catalogue/open-generator.ts'
import { shownTo } from '../../../src/catalogue/series.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { compileFormat } from '../../../src/ids/format.ts'
import { type Node, type NodeOptions, SharedEngine, startNode } from './node.ts'

const invoices: AutoCreate = {
  pattern: 'invoice:{tenant}',
  kind: 'sequence',
  options: { gaps: 'none', start: 7, format: '{tenant}/{id:4}' },
}

async function next(generator: Generator): Promise<string> {
  const [run] = await generator.draw(1)
  return generator.text(run!.first)
}

/** Opens names one by one, or all in one step as cold names. */
async function open({ catalogue }: Node, ...names: string[]): Promise<Generator[]> {
  return Promise.all(names.map((name) => catalogue.open(name)))
}

describe('a rule', () => {
  for (const [mode, options] of Object.entries<NodeOptions>({
    'on a store of its own': {},
    'in a fleet': { reach: (store) => new SharedEngine(store) },
  }))
    test(`creates a generator with every option that it has, ${mode}`, async () => {
      const node = await startNode({ ...options, autoCreate: [invoices] })
      const [acme, zen] = await open(node, 'invoice:acme', 'invoice:zen')
      assert.deepEqual(
        [await next(acme!), await next(zen!), await next(acme!)],
        ['acme/0007', 'zen/0007', 'acme/0008'],
      )
      const { gaps, start, template, step } = acme!.definition
      assert.deepEqual([gaps, start, template, step], ['none', 7n, 'invoice:{tenant}', 0])
      assert.equal(acme!.definition, zen!.definition, 'all have one definition')
      await assert.rejects(node.catalogue.open('invoice:'), { code: 'NOGENERATOR' })
      await assert.rejects(node.catalogue.open('receipt:acme'), { code: 'NOGENERATOR' })
      await node.stop()
    })

  test('gives each permuted generator a key of its own', async () => {
    const rule = { pattern: 'c:*', kind: 'segment', options: { scramble: true, max: 1_000_000 } } as const
    const node = await startNode({ autoCreate: [rule] })
    const ids = []
    for (const generator of await open(node, 'c:1', 'c:2')) ids.push(await next(generator))
    assert.notEqual(ids[0], ids[1])
    await node.stop()
  })

  test('is the first one that a name matches, and what it made goes on without it', async () => {
    const store = new MemoryStore()
    const other: AutoCreate = { pattern: 'invoice:*', kind: 'segment' }
    const node = await startNode({ store, autoCreate: [invoices, other] })
    assert.equal((await node.catalogue.open('invoice:a')).kind, 'sequence')
    assert.equal((await node.catalogue.open('invoice:')).kind, 'segment')
    await node.stop()
    const without = await startNode({ store })
    assert.equal(await next(await without.catalogue.open('invoice:a')), 'a/0007')
    await without.stop()
  })
})

describe('a format', () => {
  test('shows the name of any generator, and reads it back', async () => {
    const node = await startNode()
    for (const [name, format, text] of [
      ['order', '{name}-{id}', 'order-1'],
      ['{id}', '{name}-{id}', '{id}-1'],
      ['Größe:日本', '{{{name}}}{id:3}', '{Größe:日本}001'],
      ['a-1', 'x{id}-{name}', 'x1-a-1'],
    ] as const) {
      const generator = await node.catalogue.create(name, { kind: 'sequence', format })
      assert.equal(await next(generator), text)
      assert.equal(generator.parse(text), 1n)
      assert.equal(generator.writer()!.text(1n), text)
      assert.throws(() => generator.parse(text.replace(name, 'other')), { code: 'ERR' })
      const shown = shownTo(generator.definition, name).format!
      assert.equal(compileFormat(shown).format(1n), text, 'for those who do not know of names')
    }
    await node.stop()
  })

  test('shows the name of each name of a family', async () => {
    const node = await startNode()
    await node.catalogue.create('room:*', { kind: 'sequence', family: true, format: '{name}#{id}' })
    assert.equal(await next(await node.catalogue.open('room:7')), 'room:7#1')
    assert.equal(await next(await node.catalogue.open('room:8')), 'room:8#1')
    await node.stop()
  })

  test('shows the tenant by the template, which the name has to be of', async () => {
    const node = await startNode()
    const create = (name: string, template: string | undefined, format = '{tenant}-{id}') =>
      node.catalogue.create(name, { kind: 'sequence', template, format })
    const generator = await create('no:acme:inv', 'no:{tenant}:inv')
    assert.equal(await next(generator), 'acme-1')
    await assert.rejects(create('a', undefined), { code: 'ERR', message: /give a template of names too/ })
    await assert.rejects(create('b:c', 'a:{tenant}'), {
      code: 'ERR',
      message: /^'b:c' is no name of template/,
    })
    await assert.rejects(create('a:', 'a:{tenant}'), { code: 'ERR' })
    for (const template of ['a:{tenants}', '{tenant}{tenant}', 'plain'])
      await assert.rejects(create('a:b', template), {
        code: 'ERR',
        message: /write it like invoice:\{tenant\}/,
      })
    await assert.rejects(node.catalogue.alter('no:acme:inv', { template: 'x:{tenant}' }), { code: 'ERR' })
    await node.stop()
  })

  test('costs a generator at rest nothing', async () => {
    const node = await startNode({ autoCreate: [{ ...invoices, options: { format: '{tenant}-{id}' } }] })
    const [a, b] = (await open(node, 'invoice:a', 'invoice:b')) as OpenGenerator[]
    assert.equal(a!.sharedAtRest?.plan, b!.sharedAtRest?.plan)
    assert.equal(await next(a!), 'a-1')
    assert.equal(a!.format, a!.format)
    await node.stop()
  })

  test('shows names in the texts of periods', async () => {
    const rule: AutoCreate = {
      pattern: 'invoice:{tenant}',
      kind: 'sequence',
      options: { period: 'month', format: '{tenant}/{date:yyyyMM}/{id:3}' },
    }
    const node = await startNode({ autoCreate: [rule] })
    const [acme] = await open(node, 'invoice:acme')
    const text = await next(acme!)
    assert.match(text, /^acme\/\d{6}\/001$/)
    assert.equal(acme!.text(acme!.parse(text)), text)
    await node.stop()
  })

  test('cannot have one text for two names', async () => {
    const refused = (format: string, message: RegExp) =>
      assert.throws(() => compileFormat(format), { code: 'ERR', message })
    for (const format of [
      '{name}{id}',
      '{name}7{id}',
      '{id}{name}',
      '{id}0{name}',
      '{name}-{id::crockford:group=4}',
    ])
      refused(format, /two names could have the same text/)
    refused('{name}{tenant}-{id}', /keep one of \{name\} and \{tenant\}/)
    refused('{name:4}-{id}', /is no field/)
    const names = ['a', 'a1', 'a-1', '1', '-', 'a-', '1-1', 'aa', '11', 'a1-1', 'A', '1a']
    for (const format of [
      '{name}-{id}',
      '{id}-{name}',
      '{name}{id:2}',
      '{id:2}{name}',
      'x{name}1_{id}',
      '{name}-{id::base36}',
    ]) {
      const compiled = compileFormat(format)
      const texts = names.flatMap((name) => [1n, 11n, 12n, 21n].map((id) => compiled.named(name).format(id)))
      assert.equal(new Set(texts).size, texts.length, format)
    }
  })

  test('with a name avoids no words', async () => {
    const node = await startNode()
    const input = { kind: 'segment', format: '{name}-{id}', avoid: 'rude' } as const
    await assert.rejects(node.catalogue.create('a', input), {
      code: 'ERR',
      message: /leave avoid, or \{name\}, out/,
    })
    await node.stop()
  })
})
