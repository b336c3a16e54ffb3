import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'
import { exhaustionUs } from '../../../src/catalogue/info.ts'
import { checkName } from '../../../src/catalogue/name-rules.ts'
import { sampleOf } from '../../../src/catalogue/survey.ts'
import { decode } from '../../../src/ids/id-parts.ts'
import { momentText } from '../../../src/ids/moment.ts'
import { layouts } from '../../../src/ids/presets.ts'
import { settled } from '../fake-clock.ts'
import { draw, startNode, tryNext } from './node.ts'
import { allOf } from './part-of.ts'

describe('a catalogue', () => {
  test('opens a generator once for all requests of the same moment', async () => {
    const node = await startNode()
    await node.catalogue.define('g', { kind: 'segment' })
    assert.equal(node.catalogue.find('g'), undefined)
    const before = node.engine.count('read')
    const opened = await Promise.all(Array.from({ length: 20 }, () => node.catalogue.open('g')))
    assert.equal(new Set(opened).size, 1)
    // Its record, and the families.
    assert.equal(node.engine.count('read'), before + 2)
    assert.equal(node.catalogue.find('g'), opened[0])
    assert.deepEqual([...node.catalogue.inUse()], [opened[0]])
  })

  test('reads an absent name once a second, and serves it as soon as it is created', async () => {
    const node = await startNode()
    const other = await startNode({ store: node.store })
    const attempt = () =>
      assert.rejects(node.catalogue.open('g'), {
        code: 'NOGENERATOR',
        message: /no generator 'g'; create it with: ID.CREATE g/,
      })
    const before = node.engine.count('read')
    await Promise.all([attempt(), attempt(), attempt()])
    assert.equal(node.engine.count('read'), before + 1)
    await node.clock.pass(1000)
    await attempt()
    assert.equal(node.engine.count('read'), before + 2)
    await other.catalogue.create('g', { kind: 'segment' })
    await settled()
    assert.equal((await node.catalogue.open('g')).kind, 'segment')
    await assert.rejects(node.catalogue.open('h'), { code: 'NOGENERATOR' })
    await node.catalogue.create('h', { kind: 'segment' })
  })

  test('serves its own creation at once, also if the name was looked up a moment before', async () => {
    const node = await startNode()
    const held = node.engine.hold('read')
    const looking = assert.rejects(node.catalogue.open('g'), { code: 'NOGENERATOR' })
    await held.arrived
    const creating = node.catalogue.create('g', { kind: 'segment' })
    await settled()
    held.letGo()
    await looking
    assert.equal((await creating).name, 'g')
  })

  test('creates names that autoCreate matches, and no others', async () => {
    const autoCreate = [
      { pattern: 'order:*', kind: 'sequence' as const },
      { pattern: 'order:*', kind: 'segment' as const },
    ]
    const node = await startNode({ autoCreate })
    assert.equal((await node.catalogue.open('order:eu')).kind, 'sequence')
    await assert.rejects(node.catalogue.open('user'), { code: 'NOGENERATOR' })
    assert.equal(await node.catalogue.exists('order:us'), false)
    await assert.rejects(node.catalogue.info('order:us'), { code: 'NOGENERATOR' })
  })

  test('agrees with another that creates the same name at the same moment', async () => {
    const autoCreate = (kind: 'segment' | 'snowflake') => [{ pattern: '*', kind }]
    const node = await startNode({ autoCreate: autoCreate('segment') })
    const same = await startNode({ store: node.store, autoCreate: autoCreate('segment') })
    const unlike = await startNode({ store: node.store, autoCreate: autoCreate('snowflake') })
    const opened = await Promise.all([node, same, unlike].map(({ catalogue }) => catalogue.open('g')))
    assert.equal(new Set(opened.map(({ kind }) => kind)).size, 1)
    assert.deepEqual(
      opened.map(({ incarnation }) => incarnation),
      [1n, 1n, 1n],
    )
  })

  test('returns the existing generator if its definition agrees, and names the difference otherwise', async () => {
    const node = await startNode()
    const generator = await node.catalogue.create('g', { kind: 'segment', step: '500', start: 5n })
    assert.equal(await node.catalogue.create('g', { kind: 'segment' }), generator)
    assert.equal(await node.catalogue.create('g', { kind: 'segment', step: 500, format: '{id}' }), generator)
    await assert.rejects(
      node.catalogue.create('g', { kind: 'segment', step: 501, start: 6 }),
      /EXISTS|exists and differs: start is 5, not 6; step is 500, not 501/,
    )
    await assert.rejects(node.catalogue.create('g', { kind: 'sequence' }), /kind is segment, not sequence/)
    const clock = await node.catalogue.create('c', { kind: 'snowflake', layout: 'twitter' })
    assert.equal(await node.catalogue.create('c', { kind: 'snowflake' }), clock)
    await assert.rejects(
      node.catalogue.create('c', { kind: 'snowflake', epoch: '2024-01-01T00:00:00Z' }),
      /layout is /,
    )
  })

  test('distinguishes names by their bytes, also hostile ones', async () => {
    const node = await startNode()
    const names = [
      'Order',
      'order',
      'é',
      'e',
      '__proto__',
      'constructor',
      'toString',
      '../x',
      'a/b',
      '%2e',
      "';DROP",
      '{}',
      '*',
      '发号',
      '😀',
      'x'.repeat(256),
    ]
    for (const [index, name] of names.entries()) {
      await node.catalogue.create(name, { kind: 'segment', start: index * 1000 })
    }
    for (const [index, name] of names.entries()) {
      assert.deepEqual(await draw(await node.catalogue.open(name)), [BigInt(index * 1000)])
    }
    const sorted = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    const listed = await allOf(node.catalogue)
    assert.deepEqual(
      listed.map(({ name }) => name),
      sorted,
    )
    const paged = (await allOf(node.catalogue, 3)).map(({ name }) => name)
    assert.deepEqual(paged, sorted)
  })

  for (const name of [
    '',
    ' ',
    'a b',
    'a\n',
    '\t',
    'a\u0000',
    '\u0085',
    '\u00a0',
    '\u2028',
    '\ufeff',
    '\ud800',
    'x'.repeat(257),
    '发'.repeat(86),
  ]) {
    test(`refuses the name ${JSON.stringify(name.slice(0, 8))} of ${name.length}`, async () => {
      const node = await startNode({ autoCreate: [{ pattern: '*', kind: 'segment' }] })
      assert.throws(() => checkName(name), { code: 'ERR' })
      await assert.rejects(node.catalogue.open(name), { code: 'ERR' })
      await assert.rejects(node.catalogue.exists(name), { code: 'ERR' })
      await assert.rejects(node.catalogue.create(name, { kind: 'segment' }), { code: 'ERR' })
      await assert.rejects(node.catalogue.drop(name), { code: 'ERR' })
    })
  }

  for (const [name, reason] of [
    ['a\u202eb', /without width or marks of direction/],
    ['a\u200bb', /without width or marks of direction/],
    ['a\u2066b', /without width or marks of direction/],
    ['\u{e0041}', /without width or marks of direction/],
    ['e\u0301', /form NFC/],
  ] as const) {
    test(`creates none with the name ${JSON.stringify(name)}, which looks like another, and keeps one that exists`, async () => {
      const node = await startNode()
      await assert.rejects(node.catalogue.create(name, { kind: 'segment' }), reason)
      await node.catalogue.create('old', { kind: 'segment' })
      const record = node.store.records.get('generators/old')!
      node.store.records.set(`generators/${name}`, { ...record, key: `generators/${name}` })
      assert.equal((await draw(await node.catalogue.open(name))).length, 1)
      await node.catalogue.create(name, { kind: 'segment' })
    })
  }

  test('lists only live generators, over any number of dropped ones', async () => {
    const node = await startNode()
    for (const name of ['a', 'b', 'c', 'd']) await node.catalogue.define(name, { kind: 'segment' })
    for (const name of ['a', 'b', 'c']) await node.catalogue.drop(name)
    assert.deepEqual(
      (await allOf(node.catalogue, 1)).map(({ name }) => name),
      ['d'],
    )
    assert.equal(await node.catalogue.exists('a'), false)
    assert.equal(await node.catalogue.exists('d'), true)
  })

  test('shows the key of a permutation nowhere', async () => {
    const node = await startNode()
    for (const [name, input] of [
      ['scrambled', { kind: 'segment', scramble: true, max: 9999 }],
      ['shuffled', { kind: 'segment', within: 'shuffled' }],
    ] as const) {
      const generator = await node.catalogue.create(name, input)
      await draw(generator)
      const { key } = JSON.parse(node.store.records.get(`generators/${name}`)!.value)
      assert.match(key, /^[0-9a-f]{32}$/)
      const bytes = Array.from(Buffer.from(key, 'hex')).join(', ')
      const info = await node.catalogue.info(name)
      const conflict = await node.catalogue.create(name, { kind: 'sequence' }).catch((error) => error)
      const shown = [info, await allOf(node.catalogue), conflict, generator, node.events].map((each) =>
        inspect(each, { depth: 20, showHidden: true }),
      )
      const json = JSON.stringify([info, generator], (_, value) =>
        typeof value === 'bigint' ? String(value) : value,
      )
      for (const text of [...shown, json]) assert.ok(!text.includes(key) && !text.includes(bytes))
    }
    assert.equal(JSON.parse(node.store.records.get('generators/shuffled')!.value).key.length, 32)
    const scrambled = await node.catalogue.info('scrambled')
    assert.notEqual(scrambled.lastIssued, 1n)
  })

  test('does not open a permuted generator without its key', async () => {
    const node = await startNode()
    await node.catalogue.define('g', { kind: 'segment', within: 'shuffled' })
    const record = node.store.records.get('generators/g')!
    node.store.records.set('generators/g', { ...record, value: record.value.replace(/,"key":"\w+"/, '') })
    await assert.rejects(node.catalogue.open('g'), { code: 'ENGINE' })
  })

  test('passes on errors of the engine, and caches no absence then', async () => {
    const node = await startNode()
    await node.catalogue.define('g', { kind: 'segment' })
    node.engine.next('read', 'unavailable')
    await assert.rejects(node.catalogue.open('g'), { code: 'UNAVAILABLE' })
    assert.equal((await node.catalogue.open('g')).name, 'g')
  })

  test('stops: closes and releases every generator, also one that is being opened', async () => {
    const node = await startNode()
    const generator = await node.catalogue.create('g', { kind: 'segment', step: 10 })
    await draw(generator, 3)
    await node.catalogue.define('h', { kind: 'segment' })
    const held = node.engine.hold('counter')
    const opening = assert.rejects(node.catalogue.open('h'), { code: 'SHUTDOWN' })
    await held.arrived
    const stopping = node.catalogue.close()
    held.letGo()
    await opening
    await stopping
    assert.equal(tryNext(generator), undefined)
    assert.equal(node.catalogue.find('g'), undefined)
    await assert.rejects(node.catalogue.open('g'), { code: 'SHUTDOWN' })
    assert.ok([...node.store.watchers].every(({ isEmpty }) => isEmpty))
    assert.equal(node.clock.timers, 0)
    assert.equal(node.store.counters.get('generators/g')?.bound, 4n)
  })

  test('reports once that refills fail, and once that they work again', async () => {
    const node = await startNode()
    const generator = await node.catalogue.create('g', { kind: 'segment', step: 10 })
    node.engine.always('reserve', 'unavailable')
    const waiting = assert.rejects(draw(generator))
    await node.clock.pass(3000)
    await waiting
    node.engine.heal()
    await node.clock.pass(3000)
    await draw(generator)
    assert.deepEqual(
      node.events.map((event) => event.slice(0, 30)),
      ["refill of 'g' failed: reserve ", "refill of 'g' works again"],
    )
  })
})

describe('a generator', () => {
  test('formats ids, and parses them back', async () => {
    const node = await startNode({ nodeIndex: { value: 3, width: 2 } })
    const plain = await node.catalogue.create('p', { kind: 'segment' })
    assert.equal(plain.text(42n), '42')
    assert.equal(plain.parse('42'), 42n)
    for (const text of ['', 'x', '-1', '1.5', '1'.repeat(20)])
      assert.throws(() => plain.parse(text), { code: 'ERR' })
    const formatted = await node.catalogue.create('f', { kind: 'segment', format: 'sms_{node}_{id:6}' })
    assert.equal(formatted.text(42n), 'sms_03_000042')
    assert.equal(formatted.parse('sms_03_000042'), 42n)
    assert.equal(formatted.definition.max, 999_999n)
  })

  test('whose format shows the node needs a node index', async () => {
    const node = await startNode()
    await node.catalogue.define('g', { kind: 'segment', format: '{node}-{id}' })
    await assert.rejects(node.catalogue.open('g'), { code: 'CONFIG' })
  })

  test('shows its mode', async () => {
    const node = await startNode()
    const modes: [string, Parameters<typeof node.catalogue.create>[1], string, boolean][] = [
      ['a', { kind: 'sequence' }, 'local', true],
      ['b', { kind: 'segment' }, 'node', true],
      ['c', { kind: 'segment', increment: 2 }, 'node', false],
      ['d', { kind: 'segment', within: 'shuffled' }, 'node', false],
      ['e', { kind: 'segment', scramble: true }, 'node', false],
      ['f', { kind: 'timestamp' }, 'local', false],
      ['g', { kind: 'snowflake' }, 'node', false],
    ]
    for (const [name, input, mode, contiguous] of modes) {
      const generator = await node.catalogue.create(name, input)
      assert.deepEqual([generator.mode, generator.contiguous], [mode, contiguous])
      assert.equal((await node.catalogue.info(name)).mode, mode)
    }
  })

  test('is described whether it is open or not', async () => {
    const node = await startNode()
    await node.catalogue.define('g', { kind: 'segment', step: 10, max: 1000 })
    const unused = await node.catalogue.info('g')
    assert.deepEqual(
      [unused.bound, unused.lastIssued, unused.stats, unused.incarnation],
      [0n, undefined, undefined, 1n],
    )
    await draw(await node.catalogue.open('g'), 3)
    const used = await node.catalogue.info('g')
    assert.equal(used.lastIssued, 3n)
    assert.ok(used.bound! >= 4n)
    assert.equal(used.stats?.issued, 3)
    await draw(await node.catalogue.create('s', { kind: 'snowflake' }))
    const snowflake = await node.catalogue.info('s')
    const at = (us: number) => momentText(BigInt(us))
    const until = `time is reserved until ${at(node.worker.boundUs)}`
    const tooLarge =
      'its ids are too large for an INT column (2^31−1), and the 15 digits that a spreadsheet keeps, and the numbers of JavaScript (2^53−1)'
    assert.deepEqual(snowflake.notes, ['worker id 0 on this node', tooLarge, until])
    assert.equal(decode(layouts.twitter, snowflake.bound!).unixUs, BigInt(node.worker.boundUs))
    const [id] = await draw(await node.catalogue.create('t', { kind: 'timestamp', node: 5 }))
    const timestamp = await node.catalogue.info('t')
    const { unixUs, node: field, sequence } = decode(layouts.twitter, timestamp.bound!)
    const aheadUs = Number(unixUs) - node.clock.wall
    assert.deepEqual([timestamp.lastIssued, aheadUs, field, sequence], [id, 750_000_000, 5, 0])
    assert.deepEqual(timestamp.notes, [tooLarge, `time is reserved until ${at(Number(unixUs))}`])
    assert.match(snowflake.exhaustedAt!, /^20\d\d-/)
    await node.stop()
    const next = await startNode(node)
    assert.equal((await next.catalogue.info('g')).lastIssued, 3n)
  })

  test('computes when its ids run out', () => {
    const counter = { kind: 'segment', issueTimeout: 1, max: 1000n, increment: 10 } as const
    const at = (perSecond: number, buffered?: number) => ({ perSecond, buffered })
    assert.equal(exhaustionUs(counter, 501n, at(5, 0), 0), 10_000_000)
    assert.equal(exhaustionUs(counter, 501n, at(5, 5), 0), 11_000_000)
    assert.equal(exhaustionUs(counter, 501n, at(0, 0), 0), undefined)
    const wide = { ...counter, max: 2n ** 63n - 1n }
    assert.equal(exhaustionUs(wide, 1n, at(0.01, 0), 0), undefined)
    assert.equal(exhaustionUs(wide, 1n, at(1e6, 0), 0), undefined)
    assert.ok(exhaustionUs(wide, 1n, at(1e8, 0), 0)! > 9e15)
    assert.equal(exhaustionUs(counter, 1001n, at(0, 0), 7), 7, 'at the end, without a request')
    assert.equal(exhaustionUs(counter, 1001n, at(0, 5), 7), undefined, 'five are buffered')
    assert.equal(exhaustionUs(counter, 1001n, at(0), 7), undefined, 'its leader may have some')
  })

  test('says that its ids have run out once the last one is issued, and not while it is buffered', async (t) => {
    const node = await startNode()
    t.after(() => node.stop())
    const few = await node.catalogue.create('few', { kind: 'segment', max: 2n })
    await draw(few)
    assert.equal((await node.catalogue.info('few')).exhaustedAt, undefined)
    await draw(few)
    const { exhaustedAt, notes } = await node.catalogue.info('few')
    assert.equal(exhaustedAt, new Date(node.clock.wall / 1000).toISOString())
    assert.deepEqual(notes, ['its ids have run out: this node has none left to issue'])
    const [sample] = [...node.catalogue.inUse()].map((generator) => sampleOf(generator, node.clock.wall))
    assert.deepEqual([sample!.leftIds, sample!.endsSeconds], [0, 0])
  })
})
