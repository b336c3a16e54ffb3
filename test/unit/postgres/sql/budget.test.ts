import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../../src/base/clock.ts'
import { Budget, SharedCells } from '../../../../src/postgres/sql/budget.ts'

const limits = { stepsMax: 1_000_000, cellsMax: 2_000_000 }

test('statements that run at the same time keep a limited number of cells together', () => {
  const shared = new SharedCells(1_000_000)
  const budgets = Array.from({ length: 3 }, () => new Budget(systemClock, limits, undefined, shared))
  const [first, second, third] = budgets as [Budget, Budget, Budget]
  first.keep(900_000)
  assert.throws(() => second.keep(900_000), { sqlState: '53200' })
  // A short statement runs all the same.
  third.keep(20_000)
  second.release()
  first.release()
  third.keep(900_000)
  third.release()
  new Budget(systemClock, limits, undefined, shared).keep(1_020_000)
})

test('a statement that is over takes nothing more of what all share', () => {
  const shared = new SharedCells(100_000)
  const over = new Budget(systemClock, limits, undefined, shared)
  over.keep(50_000)
  over.release()
  over.keep(50_000)
  new Budget(systemClock, limits, undefined, shared).keep(120_000)
})
