import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileFormat } from '../../../src/ids/format.ts'
import { encode, unitsOf } from '../../../src/ids/id-parts.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { layouts } from '../../../src/ids/presets.ts'
import { Run } from '../../../src/ids/run.ts'
import { Desk } from './desk.ts'

async function mapOf(desk: Desk, command: string): Promise<ReadonlyMap<string, unknown>> {
  return new Map(Object.entries((await desk.ask(command)) as object))
}

const notInteger = 'ERR value is not an integer or out of range'

test('ID.CREATE takes options in any case and spelling', async () => {
  const desk = new Desk()
  assert.equal(await desk.ask('ID.CREATE coupon kind SEGMENT step-max 5000 STEP 10 Format c_{id}'), 'OK')
  const { definition } = desk.catalogue.generators.get('coupon')!
  assert.deepEqual(
    [definition.kind, definition.stepMax, definition.step, definition.format],
    ['segment', 5000, 10, 'c_{id}'],
  )
  assert.equal(await desk.ask('ID.CREATE txn KIND timestamp NODE 3'), 'OK')
  assert.equal(desk.catalogue.generators.get('txn')!.definition.node, 3)
})

test('ID.CREATE again succeeds with the same options, and is EXISTS with others', async () => {
  const desk = new Desk()
  await desk.ask('ID.CREATE a KIND sequence')
  assert.equal(await desk.ask('ID.CREATE a KIND sequence'), 'OK')
  assert.match(await desk.error('ID.CREATE a KIND segment'), /^EXISTS /)
})

test('ID.ALTER changes options, and FLOOR with them', async () => {
  const desk = new Desk()
  await desk.ask('ID.CREATE user KIND segment')
  assert.equal(await desk.ask('ID.ALTER user STEP 70 FLOOR 5000'), 'OK')
  const user = desk.catalogue.generators.get('user')!
  assert.deepEqual([user.definition.step, user.floor, user.forced], [70, 5000n, false])
  assert.equal(await desk.ask('ID.ALTER user FLOOR 6000 FORCE'), 'OK')
  assert.equal(await desk.ask('ID.ALTER user force FLOOR 7000'), 'OK')
  const moved = desk.catalogue.generators.get('user')!
  assert.deepEqual([moved.floor, moved.forced], [7000n, true])
})

test('ID.DROP returns whether there was one', async () => {
  const desk = new Desk({ a: { kind: 'sequence' } })
  assert.deepEqual([await desk.ask('ID.DROP a'), await desk.ask('ID.DROP a')], [1, 0])
})

test('ID.NEXT gives text in the format of the generator, exact past 2^53 for any client', async () => {
  const desk = new Desk()
  desk.session.exact = false
  const sms = desk.catalogue.add('sms', { kind: 'segment', format: 'sms_{id}', start: 2n ** 53n })
  assert.equal(await desk.ask('ID.NEXT sms'), 'sms_9007199254740992')
  assert.deepEqual(await desk.ask('id.next sms count 2'), ['sms_9007199254740993', 'sms_9007199254740994'])
  sms.empty = true
  assert.deepEqual(await desk.ask('ID.NEXT sms COUNT 1'), ['sms_9007199254740995'])
  assert.equal(await desk.ask('ID.NEXT auto-x'), '1')
})

test('ID.NEXT takes a gene or a key for all ids, or one for each', async () => {
  const desk = new Desk({ order: { kind: 'segment', gene: 10 } })
  const order = desk.catalogue.generators.get('order')!
  const given = async (...words: string[]) => {
    const reply = await desk.ask('ID.NEXT', 'order', ...words)
    const { gene, by } = order.lastDraw
    return [Array.isArray(reply) ? reply.length : 'one', gene ?? by]
  }
  assert.deepEqual(await given('GENE', '37'), ['one', [37n]])
  assert.deepEqual(await given('by', 'user:8812'), ['one', ['user:8812']])
  assert.deepEqual(await given('COUNT', '3', 'GENE', '37'), [3, [37n]])
  assert.deepEqual(await given('GENE', '1', '2'), [2, [1n, 2n]])
  assert.deepEqual(await given('count', '2', 'BY', 'COUNT', '7'), [2, ['COUNT', '7']])
  const needed = "ERR 'order' needs a gene with each draw: GENE 0 to 1023, or BY key, as ID.NEXT has them"
  await desk.refuses([
    ['ID.NEXT order GENE', 'ERR syntax error'],
    ['ID.NEXT order 3', 'ERR syntax error'],
    ['ID.NEXT order COUNT 2 COUNT 3', 'ERR option COUNT is given twice; give it once'],
    ['ID.NEXT order GENE 1 COUNT 3', 'ERR COUNT stands behind GENE, which comes last; put it before'],
    ['ID.RANGE order 10', needed],
    ['ID.RUNS order 10', needed],
    ['INCRBY order 10', needed],
  ])
})

test('ID.NEXT takes a number that ids are above, and FORCE only of who may manage the generator', async () => {
  const desk = new Desk({ order: { kind: 'sequence' } })
  const order = desk.catalogue.generators.get('order')!
  assert.equal(await desk.ask('ID.NEXT order ABOVE 41'), '1')
  assert.deepEqual([order.lastDraw.above, order.lastDraw.force], [41n, undefined])
  await desk.ask('ID.NEXT order FORCE COUNT 2 above 9007199254740993')
  assert.deepEqual([order.lastDraw.above, order.lastDraw.force], [9_007_199_254_740_993n, true])
  await desk.refuses([
    ['ID.NEXT order ABOVE', 'ERR syntax error'],
    ['ID.NEXT order ABOVE x', notInteger],
    ['ID.NEXT order ABOVE 1 ABOVE 2', 'ERR option ABOVE is given twice; give it once'],
  ])
})

test('ID.NEXT announces the ids that it draws as work', () => {
  const desk = new Desk()
  const workOf = (...words: string[]) => {
    const { command, args } = desk.table.resolve(['ID.NEXT', ...words].map((word) => Buffer.from(word)))
    return command.work!(args)
  }
  assert.deepEqual([workOf('plain'), workOf('none', 'COUNT', '7')], [1n, 7n])
  assert.deepEqual([workOf('a', 'GENE', '3'), workOf('a', 'BY', 'b', 'c')], [1n, 2n])
})

test('ID.RANGE gives half-open ranges, joined where they touch', async () => {
  const desk = new Desk()
  const order = desk.catalogue.add('order', { kind: 'sequence' })
  assert.deepEqual(await desk.ask('ID.RANGE order 10'), [['1', '11']])
  order.draw = async () =>
    (
      [
        [11n, 4],
        [15n, 2],
        [30n, 4],
      ] as const
    ).map(([first, count]) => {
      const run = new Run()
      run.set(first, count, 1)
      return run
    })
  assert.deepEqual(await desk.ask('ID.RANGE order 10'), [
    ['11', '17'],
    ['30', '34'],
  ])
})

test('ID.RUNS gives raw ids as runs, joined where they continue one another', async () => {
  const desk = new Desk()
  const odd = desk.catalogue.add('odd', { kind: 'segment', start: 3n, increment: 2, format: 'o{id}' })
  assert.deepEqual(await desk.ask('ID.RUNS odd 1'), [['3', '2', 1]])
  assert.deepEqual(await desk.ask('ID.RUNS odd 1000000'), [['5', '2', 1_000_000]])
  odd.empty = true
  assert.deepEqual(await desk.ask('id.runs odd 1'), [['2000005', '2', 1]])
  odd.draw = async () =>
    (
      [
        [11n, 4],
        [19n, 2],
        [31n, 4],
      ] as const
    ).map(([first, count]) => {
      const run = new Run()
      run.set(first, count, 2)
      return run
    })
  assert.deepEqual(await desk.ask('ID.RUNS odd 10'), [
    ['11', '2', 6],
    ['31', '2', 4],
  ])
  assert.deepEqual(await desk.ask('ID.RUNS auto-x 2'), [['1', '1', 2]])
})

test('ID.RUNS gives ids of the clock, as many as borrowMax has time for', async () => {
  const desk = new Desk({ event: { kind: 'snowflake', layout: 'sonyflake' } })
  assert.deepEqual(await desk.ask('ID.RUNS event 1000'), [['1', '1', 1000]])
  desk.catalogue.add('txn', { kind: 'timestamp', borrowMax: '0s' })
  assert.deepEqual(await desk.ask('ID.RUNS txn 4096'), [['1', '1', 4096]])
  const clock = (name: string, n: number, max: number) =>
    `LIMIT ${n} ids are above the limit of ${max} at once that the clock of '${name}' allows; ask for fewer at a time, or raise borrowMax`
  await desk.refuses([
    ['ID.RUNS event 256001', clock('event', 256_001, 256_000)],
    ['ID.RUNS txn 4097', clock('txn', 4097, 4096)],
  ])
})

test('ID.RUNS and ID.RANGE of a scattered snowflake point to ID.NEXT', async () => {
  const layout = 'scatter:5,time:41,node:8,sequence:9;epoch=2025-01-01T00:00:00Z'
  const desk = new Desk({ spread: { kind: 'snowflake', layout } })
  await desk.refuses([
    ['ID.RUNS spread 5', "WRONGTYPE 'spread' does not issue its ids in order; use ID.NEXT spread COUNT n"],
    [
      'ID.RANGE spread 5',
      "WRONGTYPE 'spread' does not issue its ids one apart and in order; use ID.NEXT spread COUNT n",
    ],
  ])
})

test('ID.INFO has options and figures, big integers as text', async () => {
  const desk = new Desk()
  const order = desk.catalogue.add('order', { kind: 'sequence', horizon: '5m' })
  order.figures = { ratePerSecond: 2.5 }
  await desk.ask('INCR order')
  const info = (await desk.ask('ID.INFO order')) as Record<string, unknown>
  assert.deepEqual(
    [info.name, info.kind, info.horizon, info.bound, info.lastIssued, info.mode, info.incarnation],
    ['order', 'sequence', '5m', '1001', '1', 'local', '1'],
  )
  assert.deepEqual(
    [info.issued, info.ratePerSecond, info.inHandSeconds, info.exhaustedAt, info.notes],
    [1, '2.5', null, null, ['a note']],
  )
  desk.catalogue.asleep.add('order')
  assert.equal(Object.hasOwn((await desk.ask('ID.INFO order')) as object, 'issued'), false)
})

test('ID.INFO of a snowflake says how many worker ids callers hold', async () => {
  const desk = new Desk()
  for (const name of ['event', 'other']) desk.catalogue.add(name, { kind: 'snowflake' })
  const notes = async (name: string) => ((await desk.ask('ID.INFO', name)) as { notes: string[] }).notes
  for (const name of ['event', 'event', 'other']) await desk.ask('ID.LEASE', name)
  const held = 'callers hold 3 worker ids of its layout, 2 of them leased for it, and can lease 1005 more'
  assert.deepEqual(await notes('event'), ['a note', held])
  desk.catalogue.add('order', { kind: 'sequence' })
  assert.deepEqual(await notes('order'), ['a note'])
})

test('ID.INFO of a snowflake is answered without worker ids while the engine is away, or holds none', async () => {
  const desk = new Desk({ event: { kind: 'snowflake' } })
  const notes = async () => ((await desk.ask('ID.INFO event')) as { notes: string[] }).notes
  assert.deepEqual(await notes(), ['a note'])
  desk.workerIds.recent = () => Promise.reject(new Error('away'))
  assert.deepEqual(await notes(), ['a note'])
})

test('ID.INFO of a generator of another leader has the leader, and no uncertain figures', async () => {
  const desk = new Desk({ order: { kind: 'sequence' } })
  const known = await desk.catalogue.info('order')
  desk.catalogue.info = async () => ({
    ...known,
    mode: 'leader',
    leader: '10.0.0.1:7379',
    elsewhere: { node: 'n1', slot: 1, resp: '10.0.0.1:7379', http: undefined },
    lastIssued: undefined,
    stats: undefined,
  })
  const info = (await desk.ask('ID.INFO order')) as Record<string, unknown>
  assert.deepEqual([info.mode, info.leader, info.lastIssued], ['leader', '10.0.0.1:7379', null])
  assert.equal(Object.hasOwn(info, 'issued'), false)
})

test('ID.LIST gives names with kinds, a page at a time', async () => {
  const desk = new Desk()
  for (const name of ['b', 'a', 'c1', 'c2']) desk.catalogue.add(name, { kind: 'sequence' })
  desk.catalogue.add('d', { kind: 'snowflake' })
  assert.deepEqual(await desk.ask('ID.LIST COUNT 2'), [
    ['a', 'sequence'],
    ['b', 'sequence'],
  ])
  assert.deepEqual(await desk.ask('ID.LIST after c1 COUNT 10'), [
    ['c2', 'sequence'],
    ['d', 'snowflake'],
  ])
  desk.catalogue.pages = 0
  assert.deepEqual(await desk.ask('ID.LIST MATCH c* COUNT 1'), [['c1', 'sequence']])
  assert.equal(desk.catalogue.pages, 1, 'a rare match is not looked for one name at a time')
  assert.equal(((await desk.ask('ID.LIST')) as unknown[]).length, 5)
})

test('ID.DECODE takes an id apart by a layout, by a generator, or as Twitter did', async () => {
  const desk = new Desk()
  const time = BigInt(Date.UTC(2026, 0, 2) - 1_288_834_974_657)
  const id = encode(layouts.twitter, { time, node: 7, sequence: 42 })
  const parts = {
    id: String(id),
    layout: 'twitter',
    time: '2026-01-02T00:00:00Z',
    unixMs: String(Date.UTC(2026, 0, 2)),
    unixUs: `${Date.UTC(2026, 0, 2)}000`,
    node: 7,
    sequence: 42,
  }
  assert.deepEqual(await desk.ask('ID.DECODE', String(id)), parts)
  assert.deepEqual(await desk.ask('ID.DECODE', String(id), 'layout', 'leaf'), { ...parts, layout: 'leaf' })
  desk.catalogue.add('event', { kind: 'snowflake', format: 'e{id}' })
  assert.deepEqual(await desk.ask('ID.DECODE', `e${id}`, 'event'), {
    ...parts,
    layout: desk.catalogue.find('event')!.definition.layout,
  })
  const layout = 'time:41,region:4=9,node:4,sequence:4,gene:10;unit=ms;epoch=2020-01-01T00:00:00Z'
  const own = parseLayout(layout)
  const gened = encode(own, {
    time: time + 1_288_834_974_657n - 1_577_836_800_000n,
    node: 7,
    sequence: 5,
    gene: 37,
  })
  assert.deepEqual(await desk.ask('ID.DECODE', String(gened), 'LAYOUT', layout), {
    ...parts,
    id: String(gened),
    layout,
    sequence: 5,
    gene: 37,
    region: 9,
  })
  desk.catalogue.add('sms', { kind: 'segment', format: 'sms_{id}' })
  assert.deepEqual(await desk.ask('ID.DECODE sms_12 sms'), {
    id: '12',
    generator: 'sms',
    kind: 'segment',
  })
})

test('ID.HELP lists the family', async () => {
  const lines = (await new Desk().ask('ID.HELP')) as string[]
  assert.ok(
    lines.includes(
      'ID.NEXT name [COUNT count] [AT moment] [ABOVE number] [FORCE] [KEY request] [RAW] [GENE gene [gene ...] | BY key [key ...]]',
    ),
  )
  assert.ok(
    lines.includes(
      'ID.CREATE name [KIND sequence | segment | timestamp | snowflake] [FAMILY] [option value [option value ...]]',
    ),
  )
})

test('what is refused gets its exact error and uses up no id', async () => {
  const desk = new Desk({
    order: { kind: 'sequence' },
    odd: { kind: 'sequence', increment: 2 },
    event: { kind: 'snowflake' },
    mixed: { kind: 'segment', within: 'shuffled' },
    hidden: { kind: 'segment', scramble: true },
  })
  const none = "NOGENERATOR no generator 'none'; create it with ID.CREATE none KIND kind"
  const known =
    'KIND, FAMILY, START, INCREMENT, OFFSET, GENE, MAX, STEP, STEPMAX, HORIZON, ISSUETIMEOUT, WITHIN, SCRAMBLE, FORMAT, AVOID, PERIOD, ZONE, YEARSTART, WIDTH, KEEP, GAPS, JUMP, LEDGER, HOLD, TEMPLATE, LAYOUT, EPOCH, NODE, PAST, SEQUENCESTART, BORROWMAX'
  const ranges = (name: string) =>
    `WRONGTYPE '${name}' does not issue its ids one apart and in order; use ID.NEXT ${name} COUNT n`
  const runs = (name: string) =>
    `WRONGTYPE '${name}' does not issue its ids in order; use ID.NEXT ${name} COUNT n`
  await desk.refuses([
    ['ID.NEXT', "ERR wrong number of arguments for 'id.next' command"],
    ['ID.NEXT none', none],
    ['ID.NEXT none COUNT 3', none],
    ['ID.NEXT order COUNT', 'ERR syntax error'],
    ['ID.NEXT order TIMES 3', 'ERR syntax error'],
    ['ID.NEXT order COUNT 3 4', 'ERR syntax error'],
    ['ID.NEXT order COUNT x', notInteger],
    ['ID.NEXT order COUNT 0', 'ERR COUNT must be at least 1'],
    ['ID.NEXT order COUNT -1', 'ERR COUNT must be at least 1'],
    ['ID.NEXT order COUNT 101', 'LIMIT COUNT 101 is above the limit of 100; ask for fewer at a time'],
    ['ID.RANGE order 0', 'ERR n must be at least 1'],
    ['ID.RANGE order 1000001', 'LIMIT n 1000001 is above the limit of 1000000; ask for fewer at a time'],
    ['ID.RANGE odd 5', ranges('odd')],
    ['ID.RANGE event 5', ranges('event')],
    ['ID.RANGE none 5', none],
    ['ID.RUNS order 0', 'ERR n must be at least 1'],
    ['ID.RUNS order x', notInteger],
    ['ID.RUNS order 1000001', 'LIMIT n 1000001 is above the limit of 1000000; ask for fewer at a time'],
    ['ID.RUNS mixed 5', runs('mixed')],
    ['ID.RUNS hidden 1', runs('hidden')],
    ['ID.RUNS none 5', none],
    ['ID.INFO none', none],
    ['ID.ALTER none STEP 5', none],
    ['ID.ALTER order STEP', "ERR wrong number of arguments for 'id.alter' command"],
    ['ID.ALTER order STEP 5 FLOOR', 'ERR option FLOOR has no value'],
    ['ID.ALTER order SPEED 5', `ERR unknown option 'SPEED'; known are ${known}, FLOOR`],
    ['ID.CREATE new KIND', 'ERR option KIND has no value'],
    [
      'ID.CREATE new STEP 5',
      'ERR KIND is missing; give KIND and one of sequence, segment, timestamp, snowflake',
    ],
    ['ID.CREATE new KIND segment STPE 5', `ERR unknown option 'STPE'; did you mean STEP? known are ${known}`],
    ['ID.CREATE new KIND segment FLOOR 5', `ERR unknown option 'FLOOR'; known are ${known}`],
    ['ID.CREATE new KIND segment STEP 5 step 6', 'ERR option STEP is given twice; give it once'],
    ['ID.CREATE new KIND segment STEP', 'ERR option STEP has no value'],
    ['ID.LIST COUNT 0', 'ERR COUNT must be at least 1'],
    ['ID.LIST MATCH', 'ERR syntax error'],
    ['ID.LIST FROM x', 'ERR syntax error'],
    ['ID.DECODE x', notInteger],
    ['ID.DECODE -5', 'ERR an id is not negative'],
    ['ID.DECODE 5 none', none],
    ['ID.DECODE 5 auto-x', "NOGENERATOR no generator 'auto-x'; create it with ID.CREATE auto-x KIND kind"],
    ['ID.DECODE 5 LAYOUT twitter x', 'ERR syntax error'],
    ['ID.DECODE five order', "ERR 'five' is no id of 'order'"],
  ])
  assert.match(await desk.error('ID.CREATE new KIND clock'), /^ERR option 'kind': /)
  assert.match(await desk.error('ID.DECODE 5 LAYOUT friendster'), /^ERR .*there is no preset 'friendster'/)
  assert.equal(await desk.catalogue.exists('new'), false)
})

test('ID.CREATE names the expected values and the nearest word for a mistyped value', async () => {
  const desk = new Desk()
  const kinds = "option 'kind': must be sequence, segment, timestamp or snowflake"
  await desk.refuses([
    ['ID.CREATE a KIND sequnce', `ERR ${kinds}; did you mean sequence?`],
    ['ID.CREATE a KIND xyz', `ERR ${kinds}`],
    ['ID.CREATE a KIND sequence START abc', "ERR option 'start': must be a whole number, 0 or more"],
  ])
})

test('ID.BOUNDS tells the ids of a span of time, of a layout or of a generator, in its format where that is in order', async () => {
  const desk = new Desk()
  desk.catalogue.add('event', { kind: 'snowflake' })
  desk.catalogue.add('label', { kind: 'snowflake', format: 'ev_{id:19}' })
  desk.catalogue.add('tag', { kind: 'timestamp', format: 'ev_{id}' })
  const span = 'FROM 2019-05-04T00:00:00Z TO 2019-05-05T00:00:00Z'
  const ranges = [['1124463648568246272', '1124826036433846272']]
  const plain = await mapOf(desk, `ID.BOUNDS LAYOUT twitter ${span}`)
  assert.deepEqual(
    [plain.get('layout'), plain.get('ranges'), plain.get('texts')],
    ['twitter', ranges, undefined],
  )
  assert.equal(plain.get('where'), 'id >= 1124463648568246272 AND id < 1124826036433846272')
  const event = await mapOf(desk, `id.bounds event to 2019-05-05T00:00:00Z from 1556928000000`)
  assert.deepEqual([event.get('ranges'), event.get('from')], [ranges, '2019-05-04T00:00:00Z'])
  const label = await mapOf(desk, `ID.BOUNDS label ${span}`)
  assert.equal(label.get('where'), "id >= 'ev_1124463648568246272' AND id < 'ev_1124826036433846272'")
  const tag = await mapOf(desk, `ID.BOUNDS tag FROM 2019-05-04T00:00:00Z`)
  assert.deepEqual([tag.get('ranges'), tag.get('texts')], [[['1124463648568246272', null]], undefined])
  assert.match(String(tag.get('notes')), /ev_\{id\} are not in the order of ids/)
})

const wideForms = ['uuidv7', 'ulid', 'typeid:order', 'objectid']
/** A layout below 63 bits, one with the node above time, and one that is scattered. */
const layoutsOfWide = [
  'js53',
  'node:4,time:41,sequence:10;epoch=2015-01-01T00:00:00Z',
  'scatter:4,time:41,node:6,sequence:6;epoch=2015-01-01T00:00:00Z',
]

test('ID.BOUNDS of a format that begins with time is one range of texts, whatever the layout has above time', async () => {
  const [from, to] = ['2026-05-04T00:00:00Z', '2026-05-05T00:00:00Z']
  const key = '0123456789abcdef'
  for (const text of layoutsOfWide) {
    const layout = parseLayout(text)
    for (const format of wideForms) {
      const desk = new Desk()
      desk.catalogue.add('event', { kind: 'snowflake', layout: text, format })
      const written = compileFormat(format, { layout }).withKey(key)
      const textsOf = (at: string, beforeUnits = 0n): string[] =>
        [0, 5, 2 ** layout.nodeBits - 1].map((node) => {
          const time = unitsOf(layout, at) - beforeUnits
          return written.format(encode(layout, { time, node, sequence: node % 2 ** layout.sequenceBits }))
        })
      const day = await mapOf(desk, `ID.BOUNDS event FROM ${from} TO ${to}`)
      const [[start, end], ...others] = day.get('texts') as [[string, string]]
      assert.deepEqual(others, [])
      assert.equal(day.get('where'), `id >= '${start}' AND id < '${end}'`)
      for (const inside of [...textsOf(from), ...textsOf(to, 1n)]) assert.ok(inside >= start && inside < end)
      for (const outside of textsOf(from, 1n)) assert.ok(outside < start)
      for (const outside of textsOf(to)) assert.ok(outside >= end)
      const open = await mapOf(desk, `ID.BOUNDS event FROM ${from}`)
      assert.deepEqual(open.get('texts'), [[start, null]], `${format} of ${text}`)
      assert.equal(open.get('where'), `id >= '${start}'`)
    }
  }
})

test('ID.BOUNDS of an ObjectId ends with its seconds, in 2106', async () => {
  const desk = new Desk()
  desk.catalogue.add('event', { kind: 'snowflake', layout: 'seata', format: 'objectid' })
  desk.catalogue.add('far', {
    kind: 'snowflake',
    layout: 'time:42,node:5,sequence:8;epoch=2024-01-01T00:00:00Z',
    format: 'objectid',
  })
  const far = await mapOf(desk, 'ID.BOUNDS far FROM 2106-01-01T00:00:00Z TO 2107-01-01T00:00:00Z')
  assert.match(String(far.get('where')), /^id >= '[\da-f]{24}'$/)
  const past = await mapOf(desk, 'ID.BOUNDS far FROM 2107-01-01T00:00:00Z')
  assert.deepEqual([past.get('texts'), past.get('where')], [[], '1 = 0'])
})

test('ID.ENCODE tells the smallest id of a moment, and others of it', async () => {
  const desk = new Desk()
  desk.catalogue.add('label', { kind: 'snowflake', format: 'ev_{id:19}' })
  const smallest = await mapOf(desk, 'ID.ENCODE label AT 2019-05-04T12:00:00Z')
  const id = String(encode(layouts.twitter, { time: new Date('2019-05-04T12:00:00Z') }))
  assert.deepEqual([smallest.get('id'), smallest.get('text')], [id, `ev_${id}`])
  const other = await mapOf(desk, 'ID.ENCODE LAYOUT twitter AT 2019-05-04T12:00:00Z SEQUENCE 9 NODE 3')
  assert.deepEqual([other.get('node'), other.get('sequence')], ['3', '9'])
  const decoded = await mapOf(desk, `ID.DECODE ${other.get('id')}`)
  assert.deepEqual([decoded.get('node'), decoded.get('time')], [3, '2019-05-04T12:00:00Z'])
})

test('ID.BOUNDS and ID.ENCODE refuse counters, and what they cannot read', async () => {
  const desk = new Desk({ user: { kind: 'segment' }, layout: { kind: 'snowflake' } })
  const at = 'AT 2019-05-04T12:00:00Z'
  assert.match(
    await desk.error('ID.BOUNDS user FROM 2019-05-04T12:00:00Z'),
    /^WRONGTYPE 'user' is a segment, .*do not tell time/,
  )
  assert.match(await desk.error(`ID.ENCODE user ${at}`), /^WRONGTYPE /)
  assert.match(await desk.error(`ID.ENCODE none ${at}`), /^NOGENERATOR /)
  assert.match(await desk.error(`ID.ENCODE ${at} NODE 5`), /name a generator or give a layout/)
  assert.match(await desk.error(`ID.ENCODE user LAYOUT twitter ${at}`), /one of the two/)
  assert.match(await desk.error('ID.ENCODE layout NODE 5'), /^ERR syntax error/)
  assert.match(await desk.error('ID.BOUNDS layout FROM'), /^ERR syntax error/)
  assert.match(await desk.error('ID.BOUNDS layout FROM now'), /is no date-time/)
  assert.match(await desk.error(`ID.ENCODE layout ${at} NODE 1024`), /does not fit the layout's 10 bits/)
  assert.match(await desk.error('ID.ENCODE layout AT 2009-05-04T12:00:00Z'), /before the layout’s epoch/)
  assert.match(await desk.error('ID.ENCODE layout AT 2090-05-04T12:00:00Z'), /^EXHAUSTED /)
})

test('ids of periods are decoded, encoded, and found by their days', async () => {
  const desk = new Desk()
  const format = 'INV-{date:yyyyMMdd}/{id:4}'
  desk.catalogue.add('invoice', { kind: 'sequence', period: 'day', zone: 'Asia/Tokyo', format })
  desk.catalogue.add('plain', { kind: 'segment', period: 'year', yearStart: '04-01' })
  desk.catalogue.add('loose', { kind: 'segment', period: 'week', format: '{date:YYYYww}-{id}' })
  const day = {
    period: 'day',
    label: '20261126',
    starts: '2026-11-25T15:00:00Z',
    ends: '2026-11-26T15:00:00Z',
    number: '42',
  }
  assert.deepEqual(Object.fromEntries(await mapOf(desk, 'ID.DECODE INV-20261126/0042 invoice')), {
    id: '202611260042',
    generator: 'invoice',
    kind: 'sequence',
    ...day,
  })
  assert.deepEqual(Object.fromEntries(await mapOf(desk, 'ID.ENCODE invoice AT 2026-11-26 SEQUENCE 42')), {
    id: '202611260042',
    ...day,
    text: 'INV-20261126/0042',
  })
  const encoded = await mapOf(desk, 'ID.ENCODE plain AT 2027-03-31T23:59:59Z')
  assert.deepEqual(
    [encoded.get('id'), encoded.get('label'), encoded.get('text')],
    ['202600000000000', '2026', undefined],
  )
  const bounds = await mapOf(desk, 'ID.BOUNDS invoice FROM 2026-11-26 TO 2026-11-30T16:00:00Z')
  assert.deepEqual(
    [bounds.get('period'), bounds.get('layout'), bounds.get('from'), bounds.get('to')],
    ['day', undefined, '2026-11-25T15:00:00Z', '2026-11-30T15:00:00Z'],
  )
  assert.deepEqual(bounds.get('ranges'), [['202611260000', '202612010000']])
  assert.equal(bounds.get('where'), "id >= 'INV-20261126/0000' AND id < 'INV-20261201/0000'")
  const all = await mapOf(desk, 'ID.BOUNDS plain FROM 2026-11-26')
  assert.equal(all.get('where'), 'id >= 202600000000000')
  const loose = await mapOf(desk, 'ID.BOUNDS loose FROM 2027-01-01 TO 2027-01-04')
  assert.deepEqual(
    [loose.get('where'), loose.get('texts')],
    ['id >= 202653000000000 AND id < 202701000000000', undefined],
  )
  const within = await mapOf(desk, 'ID.BOUNDS plain FROM 2026-11-26 TO 2026-11-27')
  assert.deepEqual(
    [within.get('where'), within.get('notes')],
    ['1 = 0', ['the span begins no year, so it has no ids; give a TO in a later one']],
  )
  await desk.refuses([
    [
      'ID.BOUNDS invoice FROM 2026-11-27 TO 2026-11-26',
      'ERR to 2026-11-26 is before from 2026-11-27; exchange them',
    ],
    [
      'ID.ENCODE invoice AT 2026-11-26 NODE 3',
      'ERR ids of periods have no node and no gene; give SEQUENCE, the number in the period, alone',
    ],
    [
      'ID.ENCODE invoice AT 2026-11-26 SEQUENCE 10000',
      'ERR number 10000 has more than 4 digits, the width of the generator',
    ],
    ['ID.ENCODE invoice AT 2026-11-31', "ERR at '2026-11-31' is no day from 1970 to 2199; correct it"],
  ])
})
