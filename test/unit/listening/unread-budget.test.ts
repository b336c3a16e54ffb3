import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Sender, UnreadBudget } from '../../../src/listening/unread-budget.ts'
import { FakeClock } from '../fake-clock.ts'

/** A connection whose client reads when a test has it do so. */
class Connection implements Sender {
  bytesOut = 0
  unreadBytes = 0
  queuedBytes = 0
  isDropped = false

  write(bytes: number): this {
    this.bytesOut += bytes
    this.unreadBytes += bytes
    return this
  }

  read(bytes: number): this {
    this.unreadBytes -= bytes
    return this
  }

  drop(): void {
    this.isDropped = true
    this.unreadBytes = 0
    this.queuedBytes = 0
  }
}

function start() {
  const clock = new FakeClock()
  const budget = new UnreadBudget({ unreadTimeoutMs: 100, unreadTotalMaxBytes: 1000 }, clock)
  const sweepAfter = async (ms: number) => {
    await clock.pass(ms)
    budget.sweep(clock.monoUs())
  }
  return { budget, sweepAfter }
}

describe('a connection with unread replies', () => {
  test('is dropped if it has not read, in time, what was unread at the start of that time', async () => {
    const { budget, sweepAfter } = start()
    const [slow, partial, reading] = [new Connection(), new Connection(), new Connection()]
    for (const each of [slow, partial, reading]) budget.update(each.write(10))
    await sweepAfter(60)
    partial.read(5)
    reading.read(10).write(10)
    await sweepAfter(41)
    assert.deepEqual([slow.isDropped, partial.isDropped, reading.isDropped], [true, true, false])
    await sweepAfter(101)
    assert.ok(reading.isDropped)
  })

  test('is not dropped while only requests wait, for any time', async () => {
    const { budget, sweepAfter } = start()
    const waiting = new Connection()
    waiting.queuedBytes = 500
    budget.update(waiting)
    await sweepAfter(500)
    budget.update(waiting.write(10))
    await sweepAfter(99)
    assert.ok(!waiting.isDropped)
    await sweepAfter(2)
    assert.ok(waiting.isDropped)
  })
})

describe('connections that hold more than the total together', () => {
  test('lose the one that has read nothing for the longest time, even if it holds least', () => {
    const { budget } = start()
    const [first, second, third] = [new Connection(), new Connection(), new Connection()]
    budget.update(first.write(300))
    budget.update(second.write(100))
    first.read(300).write(300)
    budget.update(first)
    budget.update(third.write(600))
    assert.deepEqual([first.isDropped, second.isDropped, third.isDropped], [false, false, false])
    budget.update(third.write(10))
    assert.deepEqual([first.isDropped, second.isDropped, third.isDropped], [false, true, false])
  })

  test('keep one that has read since it was counted', () => {
    const { budget } = start()
    const [first, second] = [new Connection(), new Connection()]
    budget.update(first.write(600))
    first.read(600)
    budget.update(second.write(900))
    assert.deepEqual([first.isDropped, second.isDropped], [false, false])
  })

  test('lose those whose requests wait as well', () => {
    const { budget } = start()
    const connections = Array.from({ length: 5 }, () => new Connection())
    for (const connection of connections) {
      connection.queuedBytes = 300
      budget.update(connection)
    }
    assert.deepEqual(
      connections.map(({ isDropped }) => isDropped),
      [true, true, false, false, false],
    )
  })

  test('lose the one that holds the most, if none has replies to read', () => {
    const { budget } = start()
    const [small, largest, freed, last] = Array.from({ length: 4 }, () => new Connection())
    for (const [connection, bytes] of [
      [small, 100],
      [freed, 400],
      [largest, 300],
    ] as const) {
      connection!.queuedBytes = bytes
      budget.update(connection!)
    }
    // It has given back what it held.
    freed!.queuedBytes = 10
    last!.queuedBytes = 290
    budget.update(last!)
    assert.ok(!freed!.isDropped)
    last!.queuedBytes = 600
    budget.update(last!)
    assert.deepEqual(
      [small!.isDropped, largest!.isDropped, freed!.isDropped, last!.isDropped],
      [false, false, false, true],
    )
  })

  test('lose the one that holds the most, even if it leaves one byte unread', () => {
    const { budget } = start()
    const [idle, hog, other, last] = Array.from({ length: 4 }, () => new Connection())
    for (const [connection, bytes] of [
      [idle, 100],
      [hog, 700],
      [other, 100],
    ] as const) {
      connection!.queuedBytes = bytes
      budget.update(connection!)
    }
    budget.update(hog!.write(1))
    last!.queuedBytes = 150
    budget.update(last!)
    assert.deepEqual(
      [idle!.isDropped, hog!.isDropped, other!.isDropped, last!.isDropped],
      [false, true, false, false],
    )
  })
})
