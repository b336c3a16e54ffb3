import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Share, TurnQueue, type TurnTaker, turnBytesMax } from '../../../src/listening/turns.ts'

test('bytes of earlier turns do not end a turn', async () => {
  const turns = new TurnQueue()
  for (let each = 0; each < 10; each++) {
    turns.spend(turnBytesMax * 0.45)
    assert.equal(turns.over, false, `turn ${each}`)
    await nextTurn()
  }
})

test('a turn is over once it has spent its bytes, and the next one starts at zero', async () => {
  const turns = new TurnQueue()
  turns.spend(turnBytesMax)
  assert.equal(turns.over, true)
  await nextTurn()
  assert.equal(turns.over, false)
})

test('connections without a share go first, and one of the others continues in each turn', async () => {
  const turns = new TurnQueue()
  const taken: string[] = []
  const taker = (name: string, times: number, bytes: number): TurnTaker => ({
    takeTurn() {
      taken.push(name)
      turns.spend(bytes)
      if (--times > 0) turns.wait(this, false)
    },
  })
  turns.wait(taker('a', 3, 100_000), false)
  turns.wait(taker('b', 2, 100_000), false)
  turns.wait(taker('light', 1, 10), true)
  turns.wait(taker('c', 1, 200_000), true)
  turns.wait(taker('d', 1, 10), true)
  while (taken.length < 8) await nextTurn()
  assert.equal(taken.join(' '), 'light c a d b a b a')
})

test('a long task runs after connections that have had no share, and a short one with them', async () => {
  const turns = new TurnQueue()
  const done: string[] = []
  turns.run(turnBytesMax, () => done.push('at once'))
  turns.run(turnBytesMax, () => done.push('long'))
  turns.wait({ takeTurn: () => done.push('light') }, true)
  turns.run(100, () => done.push('short'))
  assert.deepEqual(done, ['at once'])
  while (done.length < 4) await nextTurn()
  assert.deepEqual(done, ['at once', 'light', 'short', 'long'])
})

test('a connection that has produced much waits once behind the others, and one that has not goes before them', async () => {
  const turns = new TurnQueue()
  const heavy = new Share(turns)
  const light = new Share(turns)
  const taken: string[] = []
  const taker = (name: string): TurnTaker => ({
    takeTurn() {
      taken.push(name)
      turns.spend(turnBytesMax)
    },
  })
  heavy.use(20_000)
  light.use(20)
  turns.wait(taker('other'), false)
  turns.wait(taker('heavy'), heavy.isFresh)
  turns.wait(taker('light'), light.isFresh)
  while (taken.length < 3) await nextTurn()
  assert.deepEqual(taken, ['light', 'other', 'heavy'])
  assert.equal(heavy.isFresh, true)
})

test('a connection that produces little in each turn goes before the others, however long it goes on', async () => {
  const turns = new TurnQueue()
  const share = new Share(turns)
  let turn = 0
  const heavy = (): TurnTaker => ({
    takeTurn() {
      turns.spend(turnBytesMax)
      if (turn < 200) turns.wait(this, false)
    },
  })
  for (let each = 0; each < 3; each++) turns.wait(heavy(), false)
  for (; turn < 200; turn++) {
    share.use(200)
    assert.equal(share.isFresh, true, `turn ${turn}`)
    await nextTurn()
  }
})

test('a connection that has produced much while no other waited goes before the others', async () => {
  const turns = new TurnQueue()
  const share = new Share(turns)
  share.use(10_000_000)
  turns.spend(turnBytesMax)
  await nextTurn()
  assert.equal(share.isFresh, true)
})

test('connections that rest together go on at different times', async () => {
  const turns = new TurnQueue()
  const starts = Array.from({ length: 20 }, (_, index) => index)
  const goneOn: number[] = []
  for (const index of starts) turns.wait({ takeTurn: () => goneOn.push(index) }, false, 40)
  while (goneOn.length < starts.length) await nextTurn()
  // Timers of one length end in the order of their starts, on a slow machine too.
  assert.notDeepEqual(goneOn, starts)
})
