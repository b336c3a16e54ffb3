/** What a log says of a step of the wall clock. */
import type { LogEvent } from '../base/events.ts'
import type { ClockStep } from '../base/timeline.ts'
import { formatDuration } from '../base/units.ts'

/** The event of a step. */
export function stepEvent({ state, aheadUs }: ClockStep): LogEvent {
  const ahead = formatDuration(Math.round(aheadUs / 1_000_000) * 1000)
  const text = {
    held: `the wall clock stands ${ahead} ahead; waiting to see whether it stays there`,
    taken: `the wall clock stayed ${ahead} ahead and is followed now`,
    gone: 'the wall clock came back by itself; nothing was issued from where it had been',
  }
  return { level: state === 'gone' ? 'info' : 'warn', message: text[state] }
}
