/** The judge of all fault runs, judged. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { figuresOf } from './figures.ts'
import { type Acknowledged, Journal } from './journal.ts'

function journalOf(
  ...replies: [ids: number[], sentUs: number, receivedUs: number, connection?: number][]
): Journal {
  const journal = new Journal()
  for (const [ids, sentUs, receivedUs, connection = 1] of replies)
    journal.add({ ids: ids.map(BigInt), sentUs, receivedUs, connection })
  return journal
}

describe('a journal', () => {
  test('keeps every reply as it was, however many', () => {
    const reply = fc.record(
      {
        ids: fc.array(fc.bigInt(0n, 2n ** 64n - 1n), { maxLength: 5 }),
        sentUs: fc.double({ min: 0, max: 1e15, noNaN: true }),
        receivedUs: fc.double({ min: 0, max: 1e15, noNaN: true }),
        connection: fc.nat(),
      },
      { noNullPrototype: true },
    )
    fc.assert(
      fc.property(fc.array(reply, { maxLength: 50 }), fc.integer({ min: 1, max: 60 }), (replies, times) => {
        const journal = new Journal()
        const all: Acknowledged[] = Array.from({ length: times }, () => replies).flat()
        for (const each of all) journal.add(each)
        assert.deepEqual([...journal.replies], all)
        assert.deepEqual(journal.replies.at(-1), all.at(-1))
        assert.equal(
          journal.count,
          all.reduce((sum, { ids }) => sum + ids.length, 0),
        )
      }),
      { numRuns: 50 },
    )
  })

  test('finds what was acknowledged twice', () => {
    assert.deepEqual(journalOf([[1, 2], 0, 1], [[3, 2], 2, 3]).repeated(), [2n])
    assert.deepEqual(journalOf([[1, 2], 0, 1], [[3, 4], 2, 3]).repeated(), [])
  })

  test('finds what breaks order in real time, and nothing where replies overlap', () => {
    assert.equal(journalOf([[5], 0, 10], [[4], 11, 12]).outOfOrder().length, 1)
    assert.equal(journalOf([[5], 0, 10], [[4], 9, 12]).outOfOrder().length, 0)
  })

  test('finds what breaks order on a connection', () => {
    assert.equal(journalOf([[5], 0, 1, 1], [[4], 2, 3, 2], [[4], 4, 5, 1]).notIncreasing().length, 1)
  })

  test('counts what is missing, and how often', () => {
    const journal = journalOf([[1, 2], 0, 1], [[9, 5], 2, 3])
    assert.equal(journal.gaps(), 5n)
    assert.equal(journal.jumps(), 2)
  })
})

test('figures are nearest ranks', () => {
  const hundred = Array.from({ length: 100 }, (_, at) => at + 1)
  assert.equal(figuresOf(hundred), 'median 50, p99 99, most 100')
  assert.equal(figuresOf([7]), 'median 7, p99 7, most 7')
  assert.equal(figuresOf([]), 'median 0, p99 0, most 0')
})
