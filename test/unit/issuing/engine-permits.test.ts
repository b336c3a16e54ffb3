import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Limiter, Ticket } from '../../../src/issuing/engine-permits.ts'
import { settled } from '../fake-clock.ts'

/** Requests a permit for each of `names`, and records in `entered` the order in which permits are granted. */
function queue(
  limiter: Limiter,
  names: readonly string[],
  entered: string[],
  urgent = false,
): Map<string, Ticket> {
  const tickets = new Map<string, Ticket>()
  for (const name of names) {
    const ticket = new Ticket()
    tickets.set(name, ticket)
    const turn = limiter.acquire(ticket, urgent)
    if (turn === true) entered.push(name)
    else void turn.then((admitted) => entered.push(admitted ? name : `${name} cancelled`))
  }
  return tickets
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`)

/** A limiter that has granted all its permits. */
function full(): Limiter {
  const limiter = new Limiter()
  queue(limiter, names('first', 64), [])
  return limiter
}

describe('a limiter', () => {
  test('grants 64 permits at once, and the others as these are released, in the order of the requests', async () => {
    const limiter = new Limiter()
    const entered: string[] = []
    queue(limiter, names('g', 100), entered)
    assert.deepEqual(entered, names('g', 64))
    limiter.release(false)
    limiter.release(false)
    await settled()
    assert.deepEqual(entered, names('g', 66))
  })

  test('grants urgent requests first, those that become urgent later too', async () => {
    const limiter = full()
    const entered: string[] = []
    const tickets = queue(limiter, ['calm', 'hurried', 'calm too'], entered)
    queue(limiter, ['urgent'], entered, true)
    limiter.prioritize(tickets.get('hurried')!)
    for (let each = 0; each < 4; each++) limiter.release(false)
    await settled()
    assert.deepEqual(entered, ['urgent', 'hurried', 'calm', 'calm too'])
  })

  test('grants four permits after a failure, and with each success twice as many', async () => {
    const limiter = full()
    const entered: string[] = []
    queue(limiter, names('g', 200), entered)
    for (let each = 0; each < 64; each++) limiter.release(true)
    await settled()
    assert.equal(entered.length, 4)
    limiter.release(false)
    await settled()
    assert.equal(entered.length, 4 + 5)
    limiter.release(false)
    await settled()
    assert.equal(entered.length, 4 + 5 + 9)
  })

  test('rejects a cancelled request, and counts it once', async () => {
    const limiter = full()
    const entered: string[] = []
    const tickets = queue(limiter, ['a', 'b'], entered)
    limiter.cancel(tickets.get('a')!)
    limiter.cancel(tickets.get('a')!)
    await settled()
    assert.deepEqual(entered, ['a cancelled'])
    limiter.release(false)
    await settled()
    assert.deepEqual(entered, ['a cancelled', 'b'])
    limiter.cancel(tickets.get('b')!)
    assert.equal(limiter.waiting, 0)
  })
})
