/** The worker lease of a client: what it asks for, and which answers give it a span. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as clock from '../../../client/src/clock-code.ts'
import { DrawnIds } from '../../../client/src/drawn-ids.ts'
import { WorkerLease } from '../../../client/src/worker-lease.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { UsedTime } from '../../../src/buffers/used-time.ts'
import { settled } from '../fake-clock.ts'
import { FakeService, stateOf } from './fake-service.ts'

/** A reply to ID.LEASE or ID.RENEW. */
function granted(lease: string, fromUs: number, untilUs: number) {
  const definition = '{"kind":"snowflake"}'
  return { kind: 'snowflake', incarnation: '1', definition, nowUs: 77, lease, worker: 5, fromUs, untilUs }
}

function leaseOf() {
  const service = new FakeService()
  const observed: number[] = []
  const drawn = new DrawnIds()
  const marks = new Map<string, UsedTime>()
  const usedOf = (name: string) => {
    const used = marks.get(name) ?? new UsedTime()
    marks.set(name, used)
    return used
  }
  const lease = new WorkerLease({
    nodes: service.nodes,
    clock: service.clock,
    ttlMs: 60_000,
    holder: undefined,
    observe: (nowUs) => observed.push(nowUs),
    usedOf,
    drawn,
  })
  const words = () => service.sent.map((sent) => sent.words.join(' '))
  return { service, lease, drawn, observed, words }
}

const noLease = () => {
  throw new FahaoError('NOLEASE', 'lease another')
}

describe('a worker lease', () => {
  test('is taken, and then renewed from the end that the answer before gave', async () => {
    const { service, lease, observed, words } = leaseOf()
    service.answer = () => granted('x', 100, 200 + service.sent.length)
    assert.equal(lease.isHeld, false)
    const { claim, worker, fromUs, untilUs } = await lease.secure('event')
    assert.deepEqual({ claim, worker, fromUs, untilUs }, { claim: 'x', worker: 5, fromUs: 100, untilUs: 201 })
    assert.equal(lease.isHeld, true)
    await lease.secure('event')
    await lease.secure('other')
    assert.deepEqual(words(), [
      'ID.LEASE event COUNT 1 TTL 60000',
      'ID.RENEW event x UNTIL 201 TTL 60000',
      'ID.RENEW other x UNTIL 202 TTL 60000',
    ])
    assert.deepEqual(observed, [77, 77, 77])
  })

  test('has one request under way at a time, because each names the end of the span before it', async () => {
    const { service, lease, words } = leaseOf()
    const first = Promise.withResolvers<unknown>()
    service.answer = () => (service.sent.length === 1 ? first.promise : granted('x', 100, 300))
    const spans = [lease.secure('a'), lease.secure('b')]
    await settled()
    assert.equal(service.sent.length, 1)
    first.resolve(granted('x', 100, 200))
    assert.deepEqual(
      (await Promise.all(spans)).map(({ untilUs }) => untilUs),
      [200, 300],
    )
    assert.equal(words()[1], 'ID.RENEW b x UNTIL 200 TTL 60000')
  })

  test('is replaced when the service does not know it any more', async () => {
    const { service, lease, words } = leaseOf()
    service.answer = () => granted('x', 100, 200)
    await lease.secure('event')
    service.answer = ({ words: [verb] }) => (verb === 'ID.RENEW' ? noLease() : granted('y', 300, 400))
    assert.equal((await lease.secure('event')).claim, 'y')
    assert.deepEqual(
      words().map((text) => text.split(' ')[0]),
      ['ID.LEASE', 'ID.RENEW', 'ID.LEASE'],
    )
  })

  test('that is refused for another reason stays, and the next request is sent all the same', async () => {
    const { service, lease, words } = leaseOf()
    service.answer = () => granted('x', 100, 200)
    await lease.secure('event')
    service.answer = () => {
      throw new FahaoError('WORKERID', 'the layout has no room; lease another')
    }
    await assert.rejects(lease.secure('small'), { code: 'WORKERID' })
    service.answer = () => granted('x', 100, 300)
    await lease.secure('event')
    assert.equal(words().at(-1), 'ID.RENEW event x UNTIL 200 TTL 60000')
  })

  test('that was dropped while a request was under way is not the one that is answered', async () => {
    const { service, lease, words } = leaseOf()
    service.answer = () => granted('x', 100, 200)
    await lease.secure('event')
    const renewal = Promise.withResolvers<unknown>()
    service.answer = ({ words: [verb] }) => (verb === 'ID.RENEW' ? renewal.promise : granted('y', 300, 400))
    const span = lease.secure('event')
    await settled()
    lease.drop()
    assert.equal(lease.isHeld, false)
    renewal.resolve(granted('x', 100, 500))
    assert.equal((await span).claim, 'y')
    assert.equal(words().at(-1), 'ID.LEASE event COUNT 1 TTL 60000')
  })

  test('counts from when the request was sent, after those before it, and not from its answer', async () => {
    const { service, lease } = leaseOf()
    service.answer = async () => {
      await service.clock.pass(700)
      return granted('x', 100, 200)
    }
    const spans = await Promise.all([lease.secure('a'), lease.secure('b')])
    assert.deepEqual(
      spans.map(({ sentUs }) => sentUs),
      [0, 700_000],
    )
  })

  test('that grants no worker id is an alteration', async () => {
    const { service, lease } = leaseOf()
    service.answer = () => ({ ...granted('x', 100, 200), worker: null })
    await assert.rejects(lease.secure('event'), { code: 'WRONGTYPE' })
    assert.equal(lease.isHeld, false)
  })

  test('goes on from what ID.LEASE has granted already', async () => {
    const { service, lease, words } = leaseOf()
    service.answer = () => granted('x', 100, 300)
    const answer = { ...granted('x', 100, 200), kind: 'snowflake', definition: {} } as const
    const none = {
      clock,
      drawnMax: undefined,
      format: undefined,
      orders: undefined,
      ttlMs: undefined,
      key: undefined,
    }
    const span = lease.adopt('event', { ...answer, ...none, ranges: [] }, 9)
    assert.deepEqual([span.untilUs, span.sentUs], [200, 9])
    await lease.secure('event')
    assert.deepEqual(words(), ['ID.RENEW event x UNTIL 200 TTL 60000'])
  })
})

describe('the rest of a span', () => {
  test('is returned from the newest time that a generator has used', async () => {
    const { service, lease, words } = leaseOf()
    service.answer = () => granted('x', 100, 200)
    const event = await lease.secure('event')
    const other = await lease.secure('other')
    event.used.use(150.2)
    other.used.use(120)
    lease.assertInvariants()
    service.answer = () => 1
    await lease.giveBack()
    assert.equal(words().at(-1), 'ID.RETURN other x FROM 151 UNTIL 200')
    await lease.giveBack()
    assert.equal(service.sent.length, 3)
    assert.equal(lease.isHeld, false)
  })

  test('comes with what each generator has drawn, where the service takes reports', async () => {
    const { service, lease, drawn, words } = leaseOf()
    service.answer = () => granted('x', 100, 200)
    await lease.secure('event')
    drawn.count('event', 5)
    await lease.secure('event')
    service.answer = () => ({ ...granted('x', 100, 200), drawnMax: 1000 })
    await lease.secure('other')
    drawn.count('other', 7)
    drawn.count('event', 1500)
    await lease.secure('event')
    service.answer = ({ words: [, name] }) => {
      if (name === 'other') throw new FahaoError('ERR', 'an older node does not know DRAWN')
      return 1
    }
    await lease.giveBack()
    assert.deepEqual(
      words().map((sent) => sent.replace(/ (?:COUNT 1 |UNTIL 200 )?TTL 60000/, '')),
      [
        'ID.LEASE event',
        'ID.RENEW event x',
        'ID.RENEW other x',
        'ID.RENEW event x DRAWN 1000',
        'ID.RETURN event x FROM 100 UNTIL 200 DRAWN 505',
        'ID.RETURN other x FROM 100 UNTIL 200 DRAWN 7',
      ],
    )
    assert.deepEqual([drawn.pending('event'), drawn.pending('other')], [0, 7])
  })

  test('is the whole of a span that no generator has used, also when another one was used before', async () => {
    const { service, lease, words } = leaseOf()
    service.answer = () => granted('x', 100, 900)
    const { used } = await lease.secure('event')
    used.use(850)
    service.answer = ({ words: [verb] }) => (verb === 'ID.RENEW' ? noLease() : granted('y', 300, 400))
    await lease.secure('other')
    service.answer = () => 1
    await lease.giveBack()
    assert.equal(words().at(-1), 'ID.RETURN other y FROM 300 UNTIL 400')
  })

  test('is not returned where a copy of this memory may use it', async () => {
    const { service, lease } = leaseOf()
    service.answer = () => granted('x', 100, 200)
    await lease.secure('event')
    lease.drop()
    await lease.giveBack()
    assert.equal(service.sent.length, 1)
  })

  test('is returned after the renewal that is under way, and its failure is no error', async () => {
    const { service, lease, words } = leaseOf()
    const first = Promise.withResolvers<unknown>()
    service.answer = ({ words: [verb] }) => (verb === 'ID.LEASE' ? first.promise : noLease())
    const span = lease.secure('event')
    const given = lease.giveBack()
    await settled()
    assert.equal(await stateOf(given.then(() => true)), undefined)
    first.resolve(granted('x', 100, 200))
    await Promise.all([span, given])
    assert.equal(words().at(-1), 'ID.RETURN event x FROM 100 UNTIL 200')
  })
})
