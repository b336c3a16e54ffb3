import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { turns } from '../../../src/listening/turns.ts'
import { listedWork } from '../../../src/operations/worker-ids.ts'
import { Desk } from './desk.ts'

const claim = ['ID.WORKER', 'CLAIM', 'payments', 'OWNER']
type Lease = { readonly lease: string } & Readonly<Record<string, unknown>>

describe('ID.WORKER', () => {
  test('claims, renews, lists and returns ids of a pool', async () => {
    const desk = new Desk()
    const options = ['SIZE', '2', 'TTL', '5000', 'REST', '0', 'SEEN', '99', 'STABLE']
    const { lease, nowUs, ttlMs, ...first } = (await desk.ask(...claim, 'host-1', ...options)) as Lease
    assert.deepEqual(first, { worker: 0, restMs: 0, lastSeenMs: -1 })
    assert.ok(Number(nowUs) > 0 && Number(ttlMs) > 0 && Number(ttlMs) <= 5000)
    const { worker } = (await desk.ask(...claim, 'host-2')) as Lease
    assert.equal(worker, 1)
    const renewed = await desk.ask('id.worker', 'renew', 'payments', lease, 'seen', '1000', 'ttl', '9000')
    assert.equal((renewed as Lease).lastSeenMs, 1000)
    const [listed] = (await desk.ask('ID.WORKER LIST payments')) as Lease[]
    const { untilUs, sinceUs, ...shown } = listed!
    const common = { worker: 0, state: 'held', owner: 'host-1', user: 'default', lastSeenMs: 1000, stable: 1 }
    assert.deepEqual(shown, common)
    assert.ok(Number(untilUs) > Number(sinceUs))
    assert.equal(await desk.ask('ID.WORKER', 'RETURN', 'payments', lease, 'SEEN', '2000'), 1)
    assert.equal(await desk.ask('ID.WORKER', 'RETURN', 'payments', lease), 0)
    assert.match(await desk.error('ID.WORKER', 'RENEW', 'payments', lease), /^NOLEASE /)
    assert.equal(((await desk.ask(...claim, 'host-1')) as Lease).lastSeenMs, 2000)
  })

  test('lists page by page', async () => {
    const desk = new Desk()
    for (const owner of ['a', 'b', 'c']) await desk.ask(...claim, owner)
    const page = async (...words: string[]) =>
      ((await desk.ask('ID.WORKER', 'LIST', 'payments', ...words)) as Lease[]).map(({ worker }) => worker)
    assert.deepEqual(await page('COUNT', '2'), [0, 1])
    assert.deepEqual(await page('COUNT', '2', 'AFTER', '1'), [2])
    assert.deepEqual(await page('AFTER', '2'), [])
    await desk.refuses([
      ['ID.WORKER LIST payments COUNT', 'ERR syntax error'],
      [
        'ID.WORKER LIST payments COUNT 1001',
        'LIMIT COUNT 1001 is above the limit of 1000; ask for fewer at a time',
      ],
      ['ID.WORKER LIST payments AFTER x', 'ERR value is not an integer or out of range'],
    ])
  })

  test('lists in a turn that has room for every id', async (t) => {
    const desk = new Desk()
    for (const owner of ['a', 'b', 'c']) await desk.ask(...claim, owner)
    const take = t.mock.method(turns, 'take')
    await desk.ask('ID.WORKER LIST payments')
    assert.deepEqual(
      take.mock.calls.map(({ arguments: [bytes] }) => bytes),
      [3 * listedWork],
    )
  })

  test('refuses what is malformed, and claims nothing', async () => {
    const desk = new Desk()
    await desk.refuses([
      [[...claim, 'a', 'SIZE'], 'ERR syntax error'],
      [[...claim, 'a', 'SIZE', '2', 'SIZE', '3'], 'ERR option SIZE is given twice; give it once'],
      [[...claim, 'a', 'STABLE', 'yes'], 'ERR syntax error'],
      [[...claim, 'a', 'TTL', '-1'], 'ERR value is not an integer or out of range'],
      [[...claim, 'a', 'TTL', '999'], 'ERR the TTL in ms must be a whole number from 1000 to 31622400000'],
      [[...claim, 'a', 'SIZE', '0'], 'ERR the size must be a whole number from 1 to 65536'],
      [[...claim, ''], 'ERR OWNER must have 1 to 256 bytes'],
      [[...claim, 'ö'.repeat(129)], 'ERR OWNER must have 1 to 256 bytes'],
      [
        [...claim, 'a\u202eb'],
        'ERR OWNER has the control or format character U+202E, and lists print it; leave the character out',
      ],
      ['ID.WORKER CLAIM payments SIZE 5', 'ERR OWNER is missing; name the holder'],
      [
        ['ID.WORKER', 'CLAIM', 'a b', 'OWNER', 'x'],
        'ERR the name of a pool cannot contain white space or control characters',
      ],
      ['ID.WORKER RENEW payments x REST 5', 'ERR syntax error'],
    ])
    assert.deepEqual(await desk.ask('ID.WORKER LIST payments'), [])
  })

  test('names its pool as a key, counted from the container', async () => {
    const desk = new Desk()
    assert.deepEqual(await desk.ask('COMMAND', 'GETKEYS', ...claim, 'a'), ['payments'])
    const [entry] = (await desk.ask('COMMAND INFO id.worker|claim')) as [unknown[]]
    assert.deepEqual(entry.slice(3, 6), [2, 2, 1])
  })
})
