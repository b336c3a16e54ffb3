/** Holes in numbers of GAPS none, on SQLite. */
import { test } from 'node:test'
import { killedWithoutGaps } from '../missing-numbers.ts'

test('a server that is killed loses one batch at most, and none of callers with keys', (t) =>
  killedWithoutGaps(t, 1))
