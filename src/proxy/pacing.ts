/**
 * Long statements are read and filled in slices.
 *
 * Invariants
 *  1. All connections of this process together do one slice in a turn of the event loop.
 *  2. Once the signal is aborted, no further slice is done.
 */
import { FahaoError } from '../base/errors.ts'
import { type Taker, turnBytesMax, turns } from '../node/turns.ts'
import { atOnce, type Slices, sliceBytes } from './sql/slices.ts'

/** Texts of up to so many bytes are read and filled at once: a promise would cost more. */
export const shortBytes = 2 * sliceBytes

/** Does the work for a text of `bytes`: now, or in later turns. Rejects with ABORTED. */
export function paced<Result>(
  slices: Slices<Result>,
  bytes: number,
  signal: AbortSignal,
): Result | Promise<Result> {
  return bytes <= shortBytes ? atOnce(slices) : inTurns(slices, signal)
}

/** Does the work in later turns. Rejects with ABORTED. */
function inTurns<Result>(slices: Slices<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const taker: Taker = {
      takeTurn() {
        // A slice takes as long as the replies of a whole turn.
        turns.spend(turnBytesMax)
        if (signal.aborted) return reject(goneError())
        try {
          const step = slices.next()
          if (step.done) resolve(step.value)
          else turns.wait(taker, false)
        } catch (error) {
          reject(error)
        }
      },
    }
    turns.wait(taker, false)
  })
}

/** Resolves in a later turn, when others have been served. Rejects with ABORTED. */
export function laterTurn(signal: AbortSignal): Promise<void> {
  return inTurns(noWork(), signal)
}

function* noWork(): Slices<void> {}

/** The client is gone, so that its statement is not sent. */
export function goneError(): FahaoError {
  return new FahaoError('ABORTED', 'the client has ended the connection, so its statement was not sent')
}
