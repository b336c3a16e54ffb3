/** Long work of one statement lets others run. */
import { turnBytesMax, turns } from '../listening/turns.ts'
import type { Session } from './session.ts'
import { SqlError } from './sql-error.ts'

/** Calls carried out before others get their turn. */
const callsMax = 200

/** Bytes of a reply that take as long as a µs of work. */
const bytesPerUs = 32

/** The bytes of a reply that take as long as this work. */
export function workOf(elapsedUs: number): number {
  return elapsedUs * bytesPerUs
}

/** Each part of a long statement takes as long as a turn: several of them run in turns of their own. */
export function nextTurn(): Promise<void> {
  turns.spend(turnBytesMax)
  return new Promise((resolve) => {
    const takeTurn = () => {
      turns.spend(turnBytesMax)
      resolve()
    }
    turns.wait({ takeTurn }, false)
  })
}

/** What a statement does before each of its calls: from time to time it lets others run. Rejects with 57014 once it is cancelled. */
export function turnTaking({ caller }: Session): () => Promise<void> | undefined {
  const { signal } = caller.session
  let calls = 0
  return () => {
    if (++calls % callsMax !== 0) return undefined
    return nextTurn().then(() => {
      if (signal.aborted) throw new SqlError('57014', 'canceling statement due to user request')
    })
  }
}
