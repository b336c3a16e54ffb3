import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SteppedBuffer } from '../../../src/buffers/stepped-buffer.ts'
import { longestStep, meanStep, RandomSteps, readIncrementRange } from '../../../src/ids/random-steps.ts'
import { Run } from '../../../src/ids/run.ts'
import { Dice } from '../dice.ts'
import { idsOf, startCounter } from './counter-process.ts'

const key = Uint8Array.from({ length: 16 }, (_, index) => index * 11)

function stepped(range = '1..9'): SteppedBuffer {
  return new SteppedBuffer(new RandomSteps(range, key))
}

/** All that is left, in one of the ways in which ids are taken. */
function takeAll(buffer: SteppedBuffer, dice = new Dice(1)): bigint[] {
  const ids: bigint[] = []
  const run = new Run()
  for (let left = buffer.available(); left > 0; left = buffer.available()) {
    if (dice.below(2) === 0 && buffer.take(left, run) > 0) ids.push(run.first)
    else ids.push(...idsOf(buffer.collect(1 + dice.below(left), false)!))
  }
  return ids
}

describe('the text of a random increment', () => {
  test('is two whole numbers, the first below the second', () => {
    assert.deepEqual(readIncrementRange('1..9'), { lowest: 1, highest: 9 })
    assert.deepEqual(readIncrementRange('50..100000'), { lowest: 50, highest: 100_000 })
    for (const text of [
      '',
      '1',
      '9..1',
      '3..3',
      '0..9',
      '1..100001',
      '01..9',
      '1...9',
      ' 1..9',
      '1..9 ',
      '-1..9',
      '1..9e9',
    ])
      assert.equal(readIncrementRange(text), undefined, text)
  })

  test('says how far ids are apart at most, and on average', () => {
    assert.deepEqual(
      [longestStep({ incrementRange: '2..9', increment: 1 }), meanStep({ incrementRange: '2..9' })],
      [9, 5.5],
    )
    assert.deepEqual([longestStep({ increment: 7 }), meanStep({ increment: 7 }), longestStep({})], [7, 7, 1])
  })
})

describe('random steps', () => {
  test('are each from the lowest to the highest, and all of them equally often', () => {
    const steps = new RandomSteps('3..8', key)
    const seen = new Map<number, number>()
    for (let id = 0; id < 60_000; id++) {
      const step = steps.after(id & 1, id)
      seen.set(step, (seen.get(step) ?? 0) + 1)
    }
    assert.deepEqual([...seen.keys()].toSorted(), [3, 4, 5, 6, 7, 8])
    for (const count of seen.values()) assert.ok(Math.abs(count - 10_000) < 500, String(count))
  })

  test('walk as single steps do, also past 2^32', () => {
    const steps = new RandomSteps('1..9', key)
    const first = 2n ** 32n - 200n
    const offsets = steps.walk(first, 100)
    const run = new Run()
    let id = first
    for (const offset of offsets) {
      assert.equal(first + BigInt(offset), id)
      run.setOne(id)
      id += BigInt(steps.after(run.hi, run.lo))
    }
    assert.ok(id > 2n ** 32n)
  })

  test('show no key', () => {
    const steps = new RandomSteps('1..9', key)
    assert.equal(JSON.stringify(steps), '{"highest":9}')
  })
})

describe('a buffer of ids at random distances', () => {
  test('issues a million ids of ranges with any boundaries: increasing, and 1 to 9 apart within a range', () => {
    const dice = new Dice(7)
    const buffer = stepped()
    let end = 1n
    let last = 0n
    let count = 0
    const steps = new Set<bigint>()
    const starts = new Set<bigint>()
    while (count < 1_000_000) {
      const isAdjacent = dice.below(3) > 0
      const start = isAdjacent ? end : end + BigInt(1 + dice.below(50))
      if (!isAdjacent) starts.add(start)
      end = start + BigInt(1 + dice.below(dice.below(10) === 0 ? 12 : 20_000))
      buffer.add({ start, end })
      if (dice.below(4) === 0) continue
      const promised = buffer.available()
      const ids = takeAll(buffer, dice)
      assert.ok(ids.length >= promised)
      for (const id of ids) {
        assert.ok(id > last && id < end, `${id} after ${last}`)
        if (!starts.has(id)) steps.add(id - last)
        last = id
      }
      count += ids.length
      buffer.assertInvariants()
    }
    assert.deepEqual([...steps].toSorted(), [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n])
  })

  test('keeps every distance from the lowest to the highest over adjacent ranges', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 30 }), fc.nat(), (sizes, seed) => {
        const buffer = stepped('5..9')
        const dice = new Dice(seed + 1)
        const ids: bigint[] = []
        let end = 1n
        for (const size of sizes) {
          // What is smaller than a step can be passed without an id.
          const start = end
          end += BigInt(size + 9)
          buffer.add({ start, end })
          if (dice.below(2) === 0) ids.push(...takeAll(buffer, dice))
        }
        ids.push(...takeAll(buffer, dice))
        for (const [at, id] of ids.entries())
          if (at > 0) assert.ok(id - ids[at - 1]! >= 5n && id - ids[at - 1]! <= 9n, `${ids}`)
      }),
    )
  })

  test('promises no more ids than there are, and one less at most for each that is taken', () => {
    const buffer = stepped('1..9')
    buffer.add({ start: 1n, end: 500n })
    const run = new Run()
    for (let before = buffer.available(); before > 0; ) {
      assert.equal(buffer.take(1, run), 1)
      const after = buffer.available()
      assert.ok(after >= before - 1)
      before = after
    }
    assert.equal(buffer.take(1, run), 0)
    assert.equal(buffer.collect(1, false), undefined)
  })

  test('gives all ids of a request or none, and none as a contiguous run', () => {
    const buffer = stepped('1..9')
    buffer.add({ start: 1n, end: 91n })
    assert.equal(buffer.available(), 10)
    assert.equal(buffer.collect(11, false), undefined)
    assert.equal(buffer.collect(2, true), undefined)
    assert.equal(idsOf(buffer.collect(10, false)!).length, 10)
  })

  test('tells the newest id, and the untouched rest behind its step', () => {
    const buffer = stepped('4..9')
    assert.equal(buffer.newest(1n, 1n), undefined)
    assert.equal(buffer.newest(50n, 1n), 49n)
    buffer.add({ start: 50n, end: 100n })
    assert.equal(buffer.newest(100n, 1n), 49n)
    const run = new Run()
    buffer.take(1, run)
    assert.equal(buffer.newest(100n, 1n), 50n)
    const untouched = buffer.untouchedUpTo(100n)!
    assert.ok(untouched >= 54n && untouched <= 59n)
    buffer.take(1, run)
    assert.equal(run.first, untouched)
  })

  test('begins at a floor that it is moved to', () => {
    const buffer = stepped('2..9')
    buffer.add({ start: 1n, end: 1000n })
    const run = new Run()
    buffer.take(1, run)
    buffer.dropBelow(500n)
    assert.equal(buffer.newest(1000n, 1n), 499n)
    buffer.take(1, run)
    assert.equal(run.first, 500n)
  })

  test('goes up to 2^63−1', () => {
    const buffer = stepped('1..9')
    buffer.add({ start: 2n ** 63n - 30n, end: 2n ** 63n })
    const ids = takeAll(buffer)
    assert.ok(ids.at(-1)! > 2n ** 63n - 11n && ids.at(-1)! < 2n ** 63n)
  })
})

describe('an issuer of ids at random distances', () => {
  test('gives back what it has not issued, and its successor continues behind it', async () => {
    const first = await startCounter({ buffer: stepped(), increment: 9 })
    const ids = idsOf(await first.reservoir.draw(20))
    await first.close()
    const bound = first.store.counters.get('generators/test')!.bound
    assert.ok(bound > ids.at(-1)! && bound <= ids.at(-1)! + 9n)
    const next = await startCounter({ buffer: stepped(), increment: 9 }, { store: first.store })
    const more = idsOf(await next.reservoir.draw(20))
    assert.equal(more[0], bound)
    await next.close()
  })

  test('does not issue a range whose reserve had no reply', async () => {
    const { engine, reservoir, clock, close } = await startCounter({ buffer: stepped(), increment: 9 })
    engine.next('reserve', 'lose-reply')
    const waiting = reservoir.draw(3)
    await clock.pass(50)
    const [first] = idsOf(await waiting)
    assert.ok(first! > 90n, `${first}`)
    await close()
  })

  test('never rests, because its next id is more than a number', async () => {
    const { reservoir, source, close } = await startCounter({ buffer: stepped(), increment: 9 })
    await reservoir.draw(1)
    assert.equal(source.buffer.rest(source.counter.bound), 0)
    await close()
  })

  test('ends with EXHAUSTED once no id is left below the maximum', async () => {
    const { reservoir, close } = await startCounter({ buffer: stepped(), increment: 9, max: 60n })
    const ids: bigint[] = []
    for (;;) {
      try {
        ids.push(...idsOf(await reservoir.draw(1)))
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'EXHAUSTED')
        break
      }
    }
    assert.ok(ids.at(-1)! > 51n && ids.at(-1)! <= 60n, `${ids}`)
    await close()
  })
})
