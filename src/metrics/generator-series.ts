/** Figures per generator. They are read by a survey or a scrape, and cost an id nothing. */
import type { Sample } from '../catalogue/catalogue.ts'
import type { EndedFigures } from '../catalogue/ended-figures.ts'
import { isBatched } from '../catalogue/issuing-right.ts'
import type { IssuerStats } from '../issuing/issuer.ts'

/** One metric with a series per generator. */
export type GeneratorMetric = {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  readonly value: (sample: Sample) => number | undefined
  /** The count of generators that were closed; undefined: it is of open ones alone. */
  readonly figure?: keyof EndedFigures
  /** How the gauges of generators without series of their own are merged. */
  readonly merge: 'sum' | 'min'
}

function counter(name: string, help: string, figure: keyof EndedFigures): GeneratorMetric {
  return { name, type: 'counter', help, value: ({ stats }) => stats[figure], figure, merge: 'sum' }
}

function gauge(name: string, help: string, figure: keyof IssuerStats): GeneratorMetric {
  return { name, type: 'gauge', help, value: ({ stats }) => stats[figure], merge: 'sum' }
}

/** Every metric that has a series per generator. Counters start at 0 when a node opens the generator. */
export const generatorMetrics: readonly GeneratorMetric[] = [
  counter('fahao_issued_ids_total', 'Ids issued.', 'issued'),
  gauge(
    'fahao_issued_ids_per_second',
    'Ids issued per second, smoothed over about a minute.',
    'ratePerSecond',
  ),
  counter('fahao_callers_leased_ids_total', 'Ids in ranges that callers have leased.', 'leased'),
  counter(
    'fahao_callers_drawn_ids_total',
    'Ids that callers have issued in their own processes, as they report.',
    'drawn',
  ),
  counter(
    'fahao_callers_returned_ids_total',
    'Ids in ranges that callers have given back unused.',
    'returned',
  ),
  counter(
    'fahao_callers_gap_ids_total',
    'Ids that callers have given back and no caller gets: another range had followed, or the store had moved on.',
    'gap',
  ),
  gauge(
    'fahao_callers_ids_per_second',
    'Ids that callers use up per second in their own processes, over the last minute or longer.',
    'callersPerSecond',
  ),
  counter('fahao_reserved_values_total', 'Raw values reserved from the engine.', 'reserved'),
  counter('fahao_released_values_total', 'Raw values given back to the engine.', 'released'),
  counter(
    'fahao_dropped_ids_total',
    'Ids of batches that no caller gets: those that had asked for them had left, or this node might not issue them any more.',
    'dropped',
  ),
  counter(
    'fahao_lost_ids_total',
    'Ids of batches that no caller gets, at most: their reserve has had no known outcome.',
    'lost',
  ),
  counter('fahao_refills_total', 'Reserves that succeeded.', 'refills'),
  counter('fahao_refill_failures_total', 'Reserves that failed.', 'refillFailures'),
  gauge(
    'fahao_refills_failing',
    'Whether the newest reserve has failed, in the last five minutes: 1 or 0; of a family, how many of its sections.',
    'refillsFailing',
  ),
  counter('fahao_waits_total', 'Requests that had to wait for a refill.', 'waits'),
  counter('fahao_dry_seconds_total', 'Time during which a request was waiting.', 'drySeconds'),
  gauge('fahao_waiting', 'Requests waiting now.', 'waiting'),
  gauge(
    'fahao_in_hand_ids',
    'Buffered ids; for clock kinds, the ids that fit into the reserved time.',
    'inHand',
  ),
  {
    ...gauge(
      'fahao_in_hand_seconds',
      'How long the buffered ids last at this rate; +Inf when idle. Without the engine, ids end then.',
      'inHandSeconds',
    ),
    merge: 'min',
  },
  {
    name: 'fahao_left_ids',
    type: 'gauge',
    help: 'Ids that are left of the space of the generator, as this node knows it; absent for clock kinds, and with periods.',
    value: ({ leftIds }) => leftIds,
    merge: 'min',
  },
  {
    name: 'fahao_exhaustion_seconds',
    type: 'gauge',
    help: 'How long the ids of the generator last at this rate, that of callers of this node included, or until its time field is full; with periods, those of the present one, where they end before it; 0 when they have run out, absent when no end is in sight.',
    value: ({ endsSeconds }) => endsSeconds,
    merge: 'min',
  },
]

/** The metrics of a generator that are counts. */
export const counted = generatorMetrics.filter(
  (metric): metric is GeneratorMetric & { readonly figure: keyof EndedFigures } =>
    metric.figure !== undefined,
)

/** The others. */
export const gauges = generatorMetrics.filter(({ figure }) => figure === undefined)

/** A generator whose ids end within this time, in seconds, is in need. */
const endsSoonSeconds = 365 * 86_400

/** How much a generator needs someone to look at it: its ids end soon (3), callers wait (2), reserves fail (1), or not at all (0). */
export function needOf({ definition, mode, stats, endsSeconds }: Sample): number {
  if (endsSeconds !== undefined && endsSeconds < endsSoonSeconds) return 3
  // Callers of batches always wait.
  return stats.waiting > 0 && !isBatched(mode, definition) ? 2 : Number(stats.refillsFailing > 0)
}

/** The first one has more ids used now, here and by callers; where both have equally many, it had more in all. */
export function byUse(a: Sample, b: Sample): number {
  return useOf(b) - useOf(a) || usedIds(b) - usedIds(a)
}

/** The first one is more in need: of those that end soon, the one that ends next. What has ended follows them. */
export function byNeed(a: Sample, b: Sample): number {
  return needOf(b) - needOf(a) || (needOf(a) === 3 ? endOf(a) - endOf(b) : 0) || byUse(a, b)
}

function endOf({ endsSeconds }: Sample): number {
  return endsSeconds || endsSoonSeconds
}

function useOf({ stats }: Sample): number {
  return stats.ratePerSecond + stats.callersPerSecond
}

/** What was issued here and what callers have used up. */
function usedIds({ stats }: Sample): number {
  return stats.issued + Math.max(stats.leased - stats.returned + stats.gap, stats.drawn)
}
