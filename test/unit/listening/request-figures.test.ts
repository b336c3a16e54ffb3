import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Times, timeBuckets } from '../../../src/base/times.ts'
import { RequestFigures } from '../../../src/listening/request-figures.ts'
import { Arrivals } from '../../../src/postgres/arrivals.ts'

test('each time is in the first bucket whose bound it does not exceed', () => {
  const times = new Times()
  times.add(100, 5)
  times.add(101)
  times.add(10_000_000)
  times.add(10_000_001)
  assert.deepEqual([times.counts[0], times.counts[1]], [5, 1])
  assert.deepEqual(times.counts.slice(-2), [1, 1])
  assert.equal(times.counts.length, timeBuckets.length + 1)
  assert.ok(Math.abs(times.seconds - 20.000602) < 1e-9, `${times.seconds}`)
})

test('errors are the outcomes of requests of their callback: by status, each of one, and never more than there are', () => {
  const figures = new RequestFigures()
  const counted = () =>
    Object.values(figures.times).map(({ counts }) => counts.reduce((sum, count) => sum + count))
  figures.failed('DRY')
  figures.failed('NOPERM', 2)
  figures.took(50, 5)
  assert.deepEqual(counted(), [2, 2, 1])
  figures.took(50)
  assert.deepEqual(counted(), [3, 2, 1])
  figures.failed('UNAVAILABLE', 3)
  figures.failed('ERR', 3)
  figures.took(50, 4)
  assert.deepEqual(counted(), [3, 3, 4])
  // What happened in another callback is no outcome of this one.
  figures.failed('ERR')
  figures.begin()
  figures.took(50)
  assert.deepEqual(counted(), [4, 3, 4])
})

describe('the arrival of what a connection has not carried out', () => {
  test('is that of its newest bytes, while it keeps up', () => {
    const arrivals = new Arrivals()
    arrivals.add(10, 100, false)
    arrivals.carriedOut(30)
    arrivals.add(20, 100, false)
    assert.equal(arrivals.oldestUs, 20)
  })

  test('is that of the oldest bytes while it is behind, and moves on with them', () => {
    const arrivals = new Arrivals()
    arrivals.add(10, 100, false)
    arrivals.add(20, 100, true)
    arrivals.add(30, 100, true)
    arrivals.carriedOut(201)
    assert.equal(arrivals.oldestUs, 10)
    arrivals.carriedOut(200)
    assert.equal(arrivals.oldestUs, 20)
    arrivals.add(40, 100, true)
    arrivals.carriedOut(101)
    assert.equal(arrivals.oldestUs, 20)
    arrivals.carriedOut(100)
    assert.equal(arrivals.oldestUs, 40)
    arrivals.carriedOut(0)
    assert.equal(arrivals.oldestUs, 40)
  })
})
