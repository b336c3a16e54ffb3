/** A wall clock that jumps or stands still, while the server runs and across its crashes. */
import { describe, test } from 'node:test'
import { roundsOf } from './campaign.ts'
import { jumpsAtRestart, liveJumps } from './clock-jumps.ts'

describe('a server whose clock is wrong', () => {
  for (const workerId of ['pool', 'static:7']) {
    test(`issues in order while its clock jumps, worker id ${workerId}`, (t) =>
      liveJumps(t, workerId, roundsOf(3, 0.25)))
    test(`repeats nothing when it crashes while its clock is wrong, worker id ${workerId}`, (t) =>
      jumpsAtRestart(t, workerId, roundsOf(4, 0.25)))
  }
})
