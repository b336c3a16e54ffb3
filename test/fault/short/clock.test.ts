/** A wall clock that jumps, or stands still. */
import { test } from 'node:test'
import { roundsOf } from '../campaign.ts'
import { jumpsAtRestart, liveJumps } from '../clock-jumps.ts'

test('a server issues in order while its clock jumps', (t) => liveJumps(t, 'pool', roundsOf(3, 0.25)))

test('a server repeats nothing when it crashes while its clock is wrong', (t) =>
  jumpsAtRestart(t, 'static:7', roundsOf(2, 0.25)))
