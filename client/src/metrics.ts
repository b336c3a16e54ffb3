/** Figures of a client for a metrics library, without a dependency on one. */
import type { GeneratorStats } from './generator.ts'

/** One figure, in the naming of OpenTelemetry. */
export type Metric = {
  /** `fahao.client.ids.issued`, … */
  readonly name: string
  /** A counter only grows; a gauge is the value now. */
  readonly kind: 'counter' | 'gauge'
  /** In UCUM: `{id}`, `{request}`, `s`. */
  readonly unit: string
  readonly value: number
  readonly attributes: { readonly 'fahao.generator': string }
}

const figures: readonly (readonly [keyof GeneratorStats, string, Metric['kind'], string])[] = [
  ['issued', 'ids.issued', 'counter', '{id}'],
  ['buffered', 'ids.buffered', 'gauge', '{id}'],
  ['lastsMs', 'buffer.duration', 'gauge', 's'],
  ['requests', 'requests', 'counter', '{request}'],
  ['failures', 'requests.failed', 'counter', '{request}'],
  ['waits', 'calls.waited', 'counter', '{call}'],
  ['waiting', 'calls.waiting', 'gauge', '{call}'],
]

/** The metrics of a generator. */
export function metricsOf(generator: string, stats: GeneratorStats): Metric[] {
  return figures.map(([figure, name, kind, unit]) => ({
    name: `fahao.client.${name}`,
    kind,
    unit,
    value: unit === 's' ? stats[figure] / 1000 : stats[figure],
    attributes: { 'fahao.generator': generator },
  }))
}
