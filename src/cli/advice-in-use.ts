/** The arithmetic of `fahao advise --url`: how long generators in use can issue without the engine, and what to set. */
import { parseDurationMs } from '../base/units.ts'
import type { GeneratorAnswer } from '../operations/shapes.ts'

/** The advice for one generator in use on a node. */
export type InUse = NonNullable<ReturnType<typeof adviseInUse>>

/** The largest step that is worth a default. */
const stepMin = 1000

/** @param goalSeconds how long buffered ids should last. Undefined if the generator is not in use. */
export function adviseInUse(generator: GeneratorAnswer, goalSeconds: number) {
  const { name, kind, mode, stats } = generator
  if (stats === null) return undefined
  const { ratePerSecond, callersPerSecond, peakPerSecond, inHand, inHandSeconds } = stats
  const timed = kind === 'snowflake' || kind === 'timestamp'
  const atPeak = peakPerSecond > 0 ? inHand / peakPerSecond : null
  return {
    name,
    kind,
    ratePerSecond,
    /** What callers use up per second in their own processes, which buffer for themselves. */
    callersPerSecond,
    /** When its ids run out at both rates, as ISO 8601; null when not in sight. */
    exhaustedAt: generator.exhaustedAt,
    peakPerSecond,
    /** How long buffered ids last at the present rate, in seconds; null while idle. */
    seconds: inHandSeconds,
    /** The same at the highest rate since the node opened the generator; reserved time does not depend on the rate. */
    secondsAtPeak: timed ? inHandSeconds : atPeak,
    /** Options for `alter`, or settings, with which ids last long enough; empty: they do already. */
    set:
      mode === 'group commit'
        ? ''
        : timed
          ? forTime(generator, goalSeconds)
          : forCounter(generator, goalSeconds),
  }
}

function forCounter({ definition, stats }: GeneratorAnswer, goalSeconds: number): string {
  const needed = Math.ceil((stats?.peakPerSecond ?? 0) * goalSeconds)
  const changes: string[] = []
  if (secondsOf(definition.horizon) < goalSeconds) changes.push(`horizon ${goalSeconds}s`)
  if (Number(definition.stepMax) < needed) changes.push(`step-max ${2 * needed}`)
  // Refills follow the rate; a larger step helps against a peak after a quiet time.
  const quiet = (stats?.ratePerSecond ?? 0) * 2 < (stats?.peakPerSecond ?? 0)
  if (quiet && Number(definition.step) < 2 * needed && needed > stepMin) changes.push(`step ${2 * needed}`)
  return changes.join(', ')
}

function forTime({ kind, definition, stats }: GeneratorAnswer, goalSeconds: number): string {
  if (kind === 'timestamp')
    return secondsOf(definition.horizon) < goalSeconds ? `horizon ${goalSeconds}s` : ''
  // A lead is extended as soon as less than one lead is reserved, so a busy node has at least one lead buffered.
  const inHand = stats?.inHandSeconds ?? goalSeconds
  // An idle node extends nothing, and does not need to.
  return (stats?.ratePerSecond ?? 0) >= 1 && inHand < 0.9 * goalSeconds ? `--lead ${goalSeconds}s` : ''
}

function secondsOf(duration: string | number | boolean | undefined): number {
  return parseDurationMs(String(duration)) / 1000
}
