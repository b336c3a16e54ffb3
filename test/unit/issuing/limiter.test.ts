import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Limiter, Ticket } from '../../../src/issuing/limiter.ts'
import { settled } from '../fake-clock.ts'

/** Sends `names` to the gate, and returns in which order they are let in, as far as they are. */
function queue(
  gate: Limiter,
  names: readonly string[],
  entered: string[],
  urgent = false,
): Map<string, Ticket> {
  const tickets = new Map<string, Ticket>()
  for (const name of names) {
    const ticket = new Ticket()
    tickets.set(name, ticket)
    const turn = gate.enter(ticket, urgent)
    if (turn === true) entered.push(name)
    else void turn.then((admitted) => entered.push(admitted ? name : `${name} sent home`))
  }
  return tickets
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`)

/** A gate that is full. */
function full(): Limiter {
  const gate = new Limiter()
  queue(gate, names('first', 64), [])
  return gate
}

describe('the gate before the engine', () => {
  it('lets 64 in at once, and the others as these come out, first come first served', async () => {
    const gate = new Limiter()
    const entered: string[] = []
    queue(gate, names('g', 100), entered)
    assert.deepEqual(entered, names('g', 64))
    gate.leave(false)
    gate.leave(false)
    await settled()
    assert.deepEqual(entered, names('g', 66))
  })

  it('lets those in first for whom somebody waits, from the beginning or since', async () => {
    const gate = full()
    const entered: string[] = []
    const tickets = queue(gate, ['calm', 'hurried', 'calm too'], entered)
    queue(gate, ['urgent'], entered, true)
    gate.hurry(tickets.get('hurried')!)
    for (let each = 0; each < 4; each++) gate.leave(false)
    await settled()
    assert.deepEqual(entered, ['urgent', 'hurried', 'calm', 'calm too'])
  })

  it('lets four in after a failure, and with each success twice as many', async () => {
    const gate = full()
    const entered: string[] = []
    queue(gate, names('g', 200), entered)
    for (let each = 0; each < 64; each++) gate.leave(true)
    await settled()
    assert.equal(entered.length, 4)
    gate.leave(false)
    await settled()
    assert.equal(entered.length, 4 + 5)
    gate.leave(false)
    await settled()
    assert.equal(entered.length, 4 + 5 + 9)
  })

  it('sends home whom it is told to forget, and counts nobody twice', async () => {
    const gate = full()
    const entered: string[] = []
    const tickets = queue(gate, ['a', 'b'], entered)
    gate.forget(tickets.get('a')!)
    gate.forget(tickets.get('a')!)
    await settled()
    assert.deepEqual(entered, ['a sent home'])
    gate.leave(false)
    await settled()
    assert.deepEqual(entered, ['a sent home', 'b'])
    gate.forget(tickets.get('b')!)
    assert.equal(gate.waiting, 0)
  })
})
