/** For how long generators in use would go on without the engine, and what to set so that it is long enough. */
import { parseDurationMs } from '../base/units.ts'
import type { GeneratorAnswer } from '../http/native/shapes.ts'

/** One generator in use on a node. */
export type InUse = {
  readonly name: string
  readonly kind: string
  readonly ratePerSecond: number
  readonly peakPerSecond: number
  /** For how long the ids in hand last at the present rate, in seconds; null while idle. */
  readonly seconds: number | null
  /** The same at the highest rate since the node opened it. */
  readonly secondsAtPeak: number | null
  /** What to set, in the words of `alter` and of settings; empty: all is well. */
  readonly set: string
}

/** The largest step that is worth a default. */
const stepMin = 1000

/** @param goalSeconds for how long ids should go on. Undefined where the generator is not in use. */
export function adviseInUse(generator: GeneratorAnswer, goalSeconds: number): InUse | undefined {
  const { name, kind, mode, stats } = generator
  if (stats === null) return undefined
  const { ratePerSecond, peakPerSecond, inHand, inHandSeconds } = stats
  const timed = kind === 'snowflake' || kind === 'timestamp'
  const atPeak = peakPerSecond > 0 ? inHand / peakPerSecond : null
  return {
    name,
    kind,
    ratePerSecond,
    peakPerSecond,
    seconds: inHandSeconds,
    // Reserved time passes as fast at any rate that the layout has room for.
    secondsAtPeak: timed ? inHandSeconds : atPeak,
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
  // Refills follow the rate; a larger step is for a peak that comes out of a quiet time.
  const quiet = (stats?.ratePerSecond ?? 0) * 2 < (stats?.peakPerSecond ?? 0)
  if (quiet && Number(definition.step) < 2 * needed && needed > stepMin) changes.push(`step ${2 * needed}`)
  return changes.join(', ')
}

function forTime({ kind, definition, stats }: GeneratorAnswer, goalSeconds: number): string {
  if (kind === 'timestamp')
    return secondsOf(definition.horizon) < goalSeconds ? `horizon ${goalSeconds}s` : ''
  // A lead is extended when less than itself is ahead, so that this is what is in hand at least.
  const inHand = stats?.inHandSeconds ?? goalSeconds
  // An idle node extends nothing, and needs to extend nothing.
  return (stats?.ratePerSecond ?? 0) >= 1 && inHand < 0.9 * goalSeconds ? `--lead ${goalSeconds}s` : ''
}

function secondsOf(duration: string | number | boolean | undefined): number {
  return parseDurationMs(String(duration)) / 1000
}
