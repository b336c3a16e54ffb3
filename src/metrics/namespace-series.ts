/** Figures per namespace, bounded in number: those that have issued most have series of their own, one series has the rest. */
import type { Quota, QuotaFigures } from '../quotas/quotas.ts'
import { otherGenerators } from './generator-survey.ts'

/** One metric with a series per namespace. */
export type NamespaceMetric = {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  readonly figure: keyof QuotaFigures
}

/** Every metric that has a series per namespace. Counters start at 0 when a node first knows the namespace. */
export const namespaceMetrics: readonly NamespaceMetric[] = [
  {
    name: 'fahao_namespace_issued_ids_total',
    type: 'counter',
    help: 'Ids issued that a namespace counts.',
    figure: 'issued',
  },
  {
    name: 'fahao_namespace_refused_total',
    type: 'counter',
    help: 'Requests refused because of a quota of a namespace.',
    figure: 'refused',
  },
  {
    name: 'fahao_namespace_waiting',
    type: 'gauge',
    help: 'Requests waiting now that a namespace counts.',
    figure: 'waiting',
  },
  {
    name: 'fahao_namespace_day_share',
    type: 'gauge',
    help: 'The share of the ids of a UTC day that is used up on this node; absent without such a quota.',
    figure: 'shareOfDay',
  },
]

/** The values of one metric with their labels. */
export function namespaceSeries(
  { figure }: NamespaceMetric,
  quotas: readonly Quota[],
  seriesMax: number,
  nowUs: number,
): (readonly [labels: Record<string, string>, value: number])[] {
  const byIssued = [...quotas].sort((a, b) => b.issued - a.issued)
  const read = (quota: Quota) => quota.figures(nowUs)[figure]
  const shown = byIssued.slice(0, seriesMax).flatMap((quota) => {
    const { name, owner = '' } = quota.namespace
    const value = read(quota)
    return value === undefined ? [] : [[{ namespace: name, owner }, value] as const]
  })
  const others = byIssued.slice(seriesMax).flatMap((quota) => read(quota) ?? [])
  if (others.length === 0) return shown
  const merged = figure === 'shareOfDay' ? Math.max(...others) : others.reduce((a, b) => a + b)
  return [...shown, [{ namespace: otherGenerators, owner: '' }, merged]]
}
