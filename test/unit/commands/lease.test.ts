import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Access } from '../../../src/auth/access.ts'
import { definitionJson } from '../../../src/catalogue/definition.ts'
import { Desk } from './desk.ts'

type Lease = {
  readonly worker: number
  readonly lease: string
  readonly fromUs: number
  readonly untilUs: number
  readonly nowUs: number
}

const given = (reply: unknown) => reply as Lease & Record<string, unknown>

test('ID.LEASE of a snowflake replies a worker id and its span, and ID.RENEW extends it', async () => {
  const desk = new Desk()
  const { definition } = desk.catalogue.add('event', { kind: 'snowflake' })
  const lease = given(await desk.ask('ID.LEASE event TTL 5000 HOLDER mail'))
  assert.deepEqual(Object.keys(lease), [
    'kind',
    'incarnation',
    'definition',
    'nowUs',
    'drawnMax',
    'lease',
    'worker',
    'fromUs',
    'untilUs',
  ])
  assert.deepEqual([lease.kind, lease.incarnation], ['snowflake', '1'])
  assert.deepEqual(JSON.parse(lease.definition as string), definitionJson(definition))
  assert.ok(lease.worker >= 16 && lease.worker < 1024)
  const lengthUs = lease.untilUs - lease.fromUs
  assert.ok(lengthUs >= 5_000_000 && lengthUs < 5_001_000, 'up to the end of a unit of time')
  const renewed = given(await desk.ask('id.renew', 'event', lease.lease, 'until', String(lease.untilUs)))
  assert.deepEqual([renewed.worker, renewed.fromUs], [lease.worker, lease.fromUs])
  assert.ok(renewed.untilUs > lease.untilUs)
})

test('DRAWN with a lease, a renewal and a return counts the ids that a holder has issued itself', async () => {
  const desk = new Desk()
  const event = desk.catalogue.add('event', { kind: 'snowflake' })
  const lease = given(await desk.ask('ID.LEASE event DRAWN 3'))
  const until = ['UNTIL', String(lease.untilUs)]
  const renewed = given(await desk.ask('ID.RENEW', 'event', lease.lease, ...until, 'DRAWN', '40'))
  assert.equal(event.reported, 43)
  assert.match(
    await desk.error('ID.RENEW', 'event', lease.lease, ...until, 'DRAWN', '-1'),
    /^ERR DRAWN is -1; give the ids issued since/,
  )
  assert.match(await desk.error('ID.LEASE event DRAWN 1000000000001'), /^ERR DRAWN is 1000000000001; /)
  assert.match(await desk.error('ID.RENEW', 'event', 'no-lease', ...until, 'DRAWN', '40'), /^NOLEASE/)
  const back = ['FROM', String(lease.fromUs), 'UNTIL', String(renewed.untilUs)]
  assert.equal(await desk.ask('ID.RETURN', 'event', lease.lease, ...back, 'DRAWN', '500'), 1)
  assert.equal(event.reported, 543)
})

test('ID.RETURN replies whether the rest was given back', async () => {
  const desk = new Desk({ event: { kind: 'snowflake' } })
  const lease = given(await desk.ask('ID.LEASE event'))
  const words = ['ID.RETURN', 'event', lease.lease, 'FROM', String(lease.fromUs)]
  words.push('UNTIL', String(lease.untilUs))
  assert.equal(
    await desk.ask(...words.with(-1, String(lease.untilUs - 1))),
    0,
    'another process has renewed it',
  )
  assert.equal(await desk.ask(...words), 1)
  assert.equal(await desk.ask(...words), 1)
  assert.equal(await desk.ask('ID.RETURN event nothing FROM 0'), 0)
  await desk.catalogue.drop('event')
  assert.equal(await desk.ask(...words), 1, 'also after a drop')
})

test('ID.LEASE of a strict kind, or of periods, leases nothing, and says by what to ask', async () => {
  const daily = { kind: 'segment', period: 'day' } as const
  const desk = new Desk({ order: { kind: 'sequence' }, txn: { kind: 'timestamp' }, daily })
  for (const [name, kind] of [
    ['order', 'sequence'],
    ['txn', 'timestamp'],
    ['daily', 'segment'],
  ] as const) {
    const lease = given(await desk.ask('ID.LEASE', name, 'COUNT', '10', 'TTL', '1000'))
    assert.deepEqual([lease.kind, lease.incarnation, lease.lease, lease.worker], [kind, '1', null, undefined])
    assert.ok(lease.nowUs > 0)
  }
})

test('ID.LEASE of a segment replies a range of raw values, and ID.RETURN takes its rest back', async () => {
  const desk = new Desk()
  const order = desk.catalogue.add('order', { kind: 'segment', increment: 2, start: 10 })
  const lease = given(await desk.ask('ID.LEASE order COUNT 50 TTL 5000'))
  assert.deepEqual(lease, {
    kind: 'segment',
    incarnation: '1',
    definition: JSON.stringify(definitionJson(order.definition)),
    nowUs: lease.nowUs,
    drawnMax: 1_000_000_000_000,
    lease: lease.lease,
    ranges: [['10', '110']],
    ttlMs: 5000,
    key: null,
  })
  const words = ['ID.RETURN', 'order', lease.lease, 'FROM', '70']
  assert.equal(await desk.ask('ID.RETURN', 'order', `${lease.lease}A`, 'FROM', '70'), 0)
  assert.equal(order.gaps, 0, 'that is no token')
  assert.equal(await desk.ask(...words), 1)
  assert.equal(await desk.ask(...words), 0)
  assert.deepEqual(order.returned, [20])
  const { ranges, ttlMs } = given(await desk.ask('ID.LEASE order'))
  assert.deepEqual([ranges, ttlMs], [[['70', '2070']], 600_000])
})

test('ID.RETURN of a range that this node does not know counts it as a gap, once, as far as it can be one', async () => {
  const desk = new Desk()
  const order = desk.catalogue.add('order', { kind: 'segment', increment: 2, start: 10 })
  const token = (incarnation: number, end: number | bigint) => `${incarnation}.${end}.${'A'.repeat(22)}`
  const gapsAfter = async (lease: string, from: number) => {
    assert.equal(await desk.ask('ID.RETURN', 'order', lease, 'FROM', `${from}`), 0)
    return order.gaps
  }
  assert.equal(await gapsAfter(token(1, 110), 70), 20)
  assert.equal(await gapsAfter(token(1, 110), 70), 20)
  assert.equal(await gapsAfter(token(1, 110), 60), 25)
  assert.equal(await gapsAfter(token(2, 110), 70), 25, 'another incarnation')
  assert.equal(await gapsAfter(token(1, 2n ** 63n - 1n), 70), 25, 'more than a range can have')
  assert.equal(await gapsAfter(token(1, 50), 70), 25)
})

test('ID.LEASE of a scrambled segment leases nothing to a user without the permission for its key', async () => {
  const desk = new Desk()
  const { definition } = desk.catalogue.add('coupon', { kind: 'segment', scramble: true, max: 999n })
  const { lease: permitted } = given(await desk.ask('ID.LEASE coupon'))
  assert.equal(typeof permitted, 'string')
  desk.session.access = new Access('shop', new Set(['id.lease']), ['*'])
  const before = desk.rangeLeases.figures().ids
  const lease = given(await desk.ask('ID.LEASE coupon'))
  assert.deepEqual(lease, {
    kind: 'segment',
    incarnation: '1',
    definition: JSON.stringify(definitionJson(definition)),
    nowUs: lease.nowUs,
    drawnMax: 1_000_000_000_000,
    lease: null,
  })
  assert.equal(desk.rangeLeases.figures().ids, before)
  desk.session.access = new Access('shop', new Set(['id.lease', 'lease|scrambled']), ['*'])
  assert.equal(typeof given(await desk.ask('ID.LEASE coupon')).lease, 'string')
})

test('ID.LEASES lists what is held and what rests, as the user may name it', async () => {
  const desk = new Desk({ event: { kind: 'snowflake' }, other: { kind: 'snowflake' } })
  const [first, second] = [
    given(await desk.ask('ID.LEASE event HOLDER mail')),
    given(await desk.ask('ID.LEASE other')),
  ]
  const until = String(second.untilUs)
  await desk.ask('ID.RETURN', 'other', second.lease, 'UNTIL', until, 'FROM', until)
  const all = (await desk.ask('ID.LEASES')) as Record<string, unknown>[]
  const byWorker = new Map(all.map((each) => [each.worker, each]))
  assert.deepEqual(byWorker.get(first.worker), {
    worker: first.worker,
    by: 'caller',
    holder: 'mail',
    generator: 'event',
    user: 'default',
    fromUs: first.fromUs,
    untilUs: first.untilUs,
    state: 'held',
  })
  const { holder, state } = byWorker.get(second.worker)!
  assert.deepEqual([holder, state], [desk.session.address, 'resting'])
  assert.doesNotMatch(JSON.stringify(all), new RegExp(first.lease.split('-')[2]!), 'no secret is shown')
  const workers = async (...words: string[]) =>
    ((await desk.ask('ID.LEASES', ...words)) as Lease[]).map(({ worker }) => worker)
  const [lowest, ...others] = all.map(({ worker }) => worker)
  assert.deepEqual(await workers('COUNT', '1'), [lowest])
  assert.deepEqual(await workers('AFTER', String(lowest)), others)
  assert.deepEqual(await workers('MATCH', 'ev*'), [first.worker])
  desk.session.access = new Access('someone', undefined, ['oth*'])
  assert.deepEqual(await workers(), [second.worker])
})

test('lease commands refuse what is malformed', async () => {
  const desk = new Desk({ event: { kind: 'snowflake' }, seg: { kind: 'segment' } })
  await desk.refuses([
    ['ID.LEASE', "ERR wrong number of arguments for 'id.lease' command"],
    ['ID.LEASE event TTL', 'ERR syntax error'],
    ['ID.LEASE event WHAT 1', 'ERR syntax error'],
    ['ID.LEASE event TTL 999', 'ERR TTL must be from 1000 to 900000 ms'],
    ['ID.LEASE event TTL x', 'ERR value is not an integer or out of range'],
    ['ID.LEASE event COUNT 0', 'ERR COUNT must be at least 1'],
    [['ID.LEASE', 'event', 'HOLDER', 'x'.repeat(129)], 'ERR HOLDER must have 0 to 128 bytes'],
    [
      ['ID.LEASE', 'event', 'HOLDER', 'a\u001b[2Jb'],
      'ERR HOLDER has the control or format character U+001B, and lists print it; leave the character out',
    ],
    ['ID.LEASE seg TTL 999', 'ERR TTL must be from 1000 to 86400000 ms'],
    ['ID.RENEW event x TTL 1000', 'ERR syntax error'],
    ['ID.RENEW event x UNTIL 9223372036854775807', 'ERR value is not an integer or out of range'],
    [
      'ID.RENEW event x UNTIL 1',
      'NOLEASE this lease was returned, its worker id has another holder, or the store was advanced; take a new lease: ID.LEASE',
    ],
    ['ID.RETURN event x AT 1', 'ERR syntax error'],
    ['ID.RETURN event x UNTIL 1', 'ERR syntax error'],
    [
      ['ID.RETURN', 'event', `16-1-${'0'.repeat(32)}`, 'FROM', '1'],
      'ERR the return of a worker lease needs UNTIL: send the untilUs of the last reply for this lease',
    ],
    [
      'ID.RETURN seg x FROM 1 UNTIL 1',
      'ERR UNTIL is for worker leases, and this lease is none: send FROM alone',
    ],
    ['ID.LEASES MATCH', 'ERR syntax error'],
    ['ID.LEASES COUNT 0', 'ERR COUNT must be at least 1'],
  ])
})
