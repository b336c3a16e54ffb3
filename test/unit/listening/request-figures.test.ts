import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RequestFigures, requestBuckets } from '../../../src/listening/request-figures.ts'
import { Arrivals } from '../../../src/postgres/arrivals.ts'

test('the figures of requests have each request in the first bucket whose bound it does not exceed', () => {
  const figures = new RequestFigures()
  figures.took(100, 5)
  figures.took(101)
  figures.took(10_000_000)
  figures.took(10_000_001)
  assert.deepEqual([figures.counts[0], figures.counts[1]], [5, 1])
  assert.deepEqual(figures.counts.slice(-2), [1, 1])
  assert.equal(figures.counts.length, requestBuckets.length + 1)
  assert.ok(Math.abs(figures.seconds - 20.000602) < 1e-9, `${figures.seconds}`)
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
