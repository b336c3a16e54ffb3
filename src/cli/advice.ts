/** The arithmetic of `fahao advise`: step, horizon and lifetime of layouts for a rate, and what generators in use should change. */
import { parseDurationMs } from '../base/units.ts'
import type { Layout } from '../ids/layout.ts'
import { counterLifetime, firstPastUs, lifetime } from '../ids/lifetime.ts'
import { max63, readerLimits } from '../ids/limits.ts'
import { momentText } from '../ids/moment.ts'
import type { GeneratorAnswer } from '../operations/shapes.ts'

/** The load and the layout that the advice is for. */
export type AdviceRequest = {
  /** Ids per second at peak, over all nodes. */
  readonly rate: number
  readonly nodes: number
  /** How long ids should last without the engine, in ms. */
  readonly horizonMs: number
  readonly layout: Layout
  /** Now, in Unix µs. */
  readonly nowUs: number
}

/** Expected figures, and the step to set. */
export type Advice = ReturnType<typeof advise>

/** Computes the advice. Refills keep between one and two horizons of ids buffered. */
export function advise({ rate, nodes, horizonMs, layout, nowUs }: AdviceRequest) {
  const perNode = rate / nodes
  const horizonIds = Math.ceil((perNode * horizonMs) / 1000)
  const until = (max: bigint) => counterLifetime({ bound: 1n, max, ratePerSecond: rate, nowUs }).ends
  const { idsPerSecondPerNode, nodes: room, ends, endsUs } = lifetime(layout)
  const ended = endsUs <= BigInt(nowUs)
  return {
    /** For sequences and segments. */
    counter: {
      /** Ids that each node buffers at peak, at least and at most. */
      inHand: [horizonIds, 2 * horizonIds],
      /** The most ids that a crash of a node leaves unused. */
      lostByCrash: 2 * horizonIds,
      /** A step that buffers one horizon of ids even after a time of little traffic. */
      step: Math.max(1000, 2 * horizonIds),
      /** When a counter that starts at 1 has larger ids, at this rate without a pause, than readers hold. */
      outgrows: readerLimits.map(({ name, most }) => ({ name, at: until(most) })),
      ends: until(max63),
    },
    /** For timestamps and snowflakes. */
    clock: {
      idsPerSecondPerNode,
      /** Whether now lies beyond the last moment that the time field can hold. */
      ended,
      /** Whether the layout has room for this rate and these nodes now. */
      enough: !ended && perNode <= idsPerSecondPerNode && nodes <= room,
      nodes: room,
      ends,
      /** When ids can be too large for a reader; undefined: never. */
      outgrows: readerLimits.map(({ name, most }) => ({
        name,
        ...passing(firstPastUs(layout, most), nowUs),
      })),
    },
  } as const
}

function passing(us: bigint | undefined, nowUs: number) {
  return {
    at: us === undefined ? undefined : momentText(us),
    isPast: us !== undefined && us <= BigInt(nowUs),
  }
}

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
      mode === 'group commit' || generator.definition.gaps === 'none'
        ? ''
        : timed
          ? forTime(generator, goalSeconds)
          : forCounter(generator, goalSeconds),
  }
}

function forCounter({ definition, stats }: GeneratorAnswer, goalSeconds: number): string {
  const needed = Math.ceil((stats?.peakPerSecond ?? 0) * goalSeconds)
  const changes: string[] = []
  // Without a step, ids last for half a horizon at least.
  const isAdaptive = definition.step === 'adaptive'
  const horizonSeconds = isAdaptive ? 2 * goalSeconds : goalSeconds
  if (secondsOf(definition.horizon) < horizonSeconds) changes.push(`horizon ${horizonSeconds}s`)
  if (Number(definition.stepMax) < needed) changes.push(`step-max ${2 * needed}`)
  // Refills follow the rate; a larger step helps against a peak after a quiet time.
  const quiet = (stats?.ratePerSecond ?? 0) * 2 < (stats?.peakPerSecond ?? 0)
  const step = isAdaptive ? 0 : Number(definition.step)
  if (quiet && step < 2 * needed && needed > stepMin) changes.push(`step ${2 * needed}`)
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
