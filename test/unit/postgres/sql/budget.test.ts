import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../../src/base/clock.ts'
import { Budget, SharedCells } from '../../../../src/postgres/sql/budget.ts'

import { errorOf, rowsOf } from './session.ts'

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

test('a text that a function makes is counted once, and is not made where it is too long', async () => {
  const calls = [
    "repeat('x', 900)",
    "lpad('', 900, 'x')",
    `replace('aaa', 'a', '${'x'.repeat(300)}')`,
    `concat('${'x'.repeat(900)}')`,
    `regexp_replace('a', 'a', '${'x'.repeat(900)}')`,
    `array_to_string('{${'x'.repeat(900)}}'::text[], '')`,
  ]
  for (const call of calls)
    assert.equal((await rowsOf(`SELECT ${call} FROM generate_series(1, 1000)`)).length, 1000, call)
  for (const call of ["repeat('xx', 1000000000)", "lpad('', 2000000000)", "rpad('', 2000000000)"])
    assert.match(await errorOf(`SELECT ${call}`), /^54000 /, call)
})
