/** A wall clock that jumps, or stands still, with the worker ids that short/clock.test.ts does not have. */
import { test } from 'node:test'
import { roundsOf } from './campaign.ts'
import { jumpsAtRestart, liveJumps } from './clock-jumps.ts'

test('a server with a worker id of its own issues in order while its clock jumps', (t) =>
  liveJumps(t, 'static:7', roundsOf(3, 0.25)))

test('a server with a pooled worker id repeats nothing when it crashes while its clock is wrong', (t) =>
  jumpsAtRestart(t, 'pool', roundsOf(4, 0.25)))
