/**
 * Figures per generator, bounded in number: those that have issued most have series of their own, one series has the
 * rest. They are read by a scrape, and cost an id nothing.
 */
import type { Access } from '../auth/access.ts'
import type { Turns } from '../base/turns.ts'
import type { GeneratorInUse } from '../catalogue/catalogue.ts'
import type { EndedFigures } from '../catalogue/ended-figures.ts'
import { exhaustionUs, leftIds } from '../catalogue/info.ts'
import type { IssuerStats } from '../issuing/issuer.ts'

/** The label of all generators without series of their own. No generator has it: names have no white space. */
export const otherGenerators = '(all others)'

/** One generator at the moment of a scrape. */
export type Sample = {
  readonly generator: GeneratorInUse
  readonly stats: IssuerStats
  /** The ids that are left of its space, as far as this node knows; undefined for clock kinds. */
  readonly leftIds: number | undefined
  /** How long its ids last, in seconds; undefined if no end is in sight. */
  readonly exhaustionSeconds: number | undefined
}

/** One metric with a series per generator. */
export type GeneratorMetric = {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  readonly value: (sample: Sample) => number | undefined
  /** The count of generators that were closed; undefined: it is of open ones alone. */
  readonly figure?: keyof EndedFigures
  /** How the generators without series of their own are merged. */
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
  counter('fahao_refills_total', 'Reserves that succeeded.', 'refills'),
  counter('fahao_refill_failures_total', 'Reserves that failed.', 'refillFailures'),
  gauge(
    'fahao_refills_failing',
    'Whether the newest reserve has failed: 1 or 0; of a family, how many of its sections.',
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
    help: 'Ids that are left of the space of the generator, as this node knows it; absent for clock kinds.',
    value: ({ leftIds }) => leftIds,
    merge: 'min',
  },
  {
    name: 'fahao_exhaustion_seconds',
    type: 'gauge',
    help: 'How long the ids of the generator last at this rate, that of callers of this node included, or until its time field is full; absent when no end is in sight.',
    value: ({ exhaustionSeconds }) => exhaustionSeconds,
    merge: 'min',
  },
]

/** A value and the generator it is of. */
type SeriesValue = { readonly generator: string; readonly value: number }

/** The samples that have series of their own, `seriesMax` at most, and the merged figures of all other generators. */
export type Selection = {
  readonly shown: readonly Sample[]
  readonly others: ReadonlyMap<GeneratorMetric, number>
}

/** The time to sample a generator, as the bytes of a reply that take as long. */
const sampleWork = 512

/**
 * Samples every generator in parts that let others run; those with the most used ids come first; `access`: shows the names that
 * it reaches. `nowUs`: Unix µs.
 */
export async function sampleGenerators(
  generators: Iterable<GeneratorInUse>,
  access: Access,
  seriesMax: number,
  { nowUs, turns, ended }: { readonly nowUs: number; readonly turns: Turns; readonly ended: EndedFigures },
): Promise<Selection> {
  const others = countsOf(ended)
  const shown: Sample[] = []
  const keepMost = () => {
    shown.sort((a, b) => usedIds(b) - usedIds(a))
    for (const each of shown.splice(seriesMax)) merge(others, each)
  }
  for (const generator of generators) {
    await turns.take(sampleWork + access.work)
    const each = sample(generator, nowUs)
    if (access.reaches(generator.name)) shown.push(each)
    else merge(others, each)
    if (shown.length > 2 * seriesMax + 100) keepMost()
  }
  if (shown.length > seriesMax) keepMost()
  return { shown, others }
}

/** The counts of generators that have left memory, which those of all others never fall below. */
function countsOf(ended: EndedFigures): Map<GeneratorMetric, number> {
  const others = new Map<GeneratorMetric, number>()
  for (const metric of generatorMetrics) {
    const value = metric.figure === undefined ? undefined : ended[metric.figure]
    if (value !== undefined && value > 0) others.set(metric, value)
  }
  return others
}

function merge(others: Map<GeneratorMetric, number>, sample: Sample): void {
  for (const metric of generatorMetrics) {
    const value = metric.value(sample)
    if (value === undefined) continue
    const before = others.get(metric)
    if (before === undefined) others.set(metric, value)
    else others.set(metric, metric.merge === 'sum' ? before + value : Math.min(before, value))
  }
}

/** The values of one metric. */
export function seriesOf(metric: GeneratorMetric, { shown, others }: Selection): SeriesValue[] {
  const series: SeriesValue[] = []
  for (const sample of shown) {
    const own = metric.value(sample)
    if (own !== undefined) series.push({ generator: sample.generator.name, value: own })
  }
  const merged = others.get(metric)
  return merged === undefined ? series : [...series, { generator: otherGenerators, value: merged }]
}

/** What was issued here and what callers have used up. */
function usedIds({ stats }: Sample): number {
  return stats.issued + Math.max(stats.leased - stats.returned + stats.gap, stats.drawn)
}

function sample(generator: GeneratorInUse, nowUs: number): Sample {
  const stats = generator.stats()
  const issued = generator.lastIssued() ?? generator.definition.start ?? 0n
  const { leasedUpTo = 0n } = generator
  const perSecond = stats.ratePerSecond + stats.callersPerSecond
  const { definition } = generator
  const bound = leasedUpTo > issued ? leasedUpTo : issued
  const endUs = exhaustionUs(definition, bound, perSecond, nowUs)
  return {
    generator,
    stats,
    leftIds: leftIds(definition, bound),
    exhaustionSeconds: endUs === undefined ? undefined : (endUs - nowUs) / 1_000_000,
  }
}
