/** Figures of the nodes of an installation, for people: read from their metrics, and compared with those of a moment before. */
import { systemClock } from '../base/clock.ts'
import { describe } from '../base/errors.ts'
import type { ClusterAnswer } from '../operations/cluster.ts'
import { ask, askText, type ServerOptions } from './server-api.ts'

/** The metrics that are read. */
export const metricNames = Object.freeze({
  issued: 'fahao_issued_ids_total',
  perSecond: 'fahao_issued_ids_per_second',
  callers: 'fahao_callers_ids_per_second',
  buffered: 'fahao_in_hand_ids',
  lasts: 'fahao_in_hand_seconds',
  lastsLeast: 'fahao_in_hand_seconds_min',
  waiting: 'fahao_waiting',
  left: 'fahao_left_ids',
  ends: 'fahao_exhaustion_seconds',
  info: 'fahao_generator_info',
  build: 'fahao_build_info',
  errors: 'fahao_errors_total',
  cluster: 'fahao_cluster_nodes',
  cpu: 'process_cpu_seconds_total',
  memory: 'process_resident_memory_bytes',
})

/** A labelled value. */
type Series = { readonly labels: Readonly<Record<string, string>>; readonly value: number }

/** The metrics of one node at one moment. */
export class Scrape {
  readonly #series: Map<string, Series[]>

  /** @param text in Prometheus's format. */
  constructor(text: string) {
    const found = [...text.matchAll(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/gm)]
    const series = found.map(([, name, labels = '', value]) => ({
      name: name!,
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, given]) => [
          label!,
          given!.replaceAll(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped)),
        ]),
      ),
      value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value),
    }))
    this.#series = Map.groupBy(series, ({ name }) => name) as Map<string, Series[]>
  }

  /** All series of a metric. */
  of(metric: keyof typeof metricNames): readonly Series[] {
    return this.#series.get(metricNames[metric]) ?? []
  }

  /** The values of a metric, added up for each value of a label. */
  by(metric: keyof typeof metricNames, label: string): Map<string, number> {
    return added(this.of(metric).map(({ labels, value }) => [labels[label] ?? '', value]))
  }

  /** The sum of all series of a metric; undefined without any. */
  sum(metric: keyof typeof metricNames): number | undefined {
    const series = this.of(metric)
    return series.length === 0 ? undefined : series.reduce((sum, { value }) => sum + value, 0)
  }
}

/** One node as it answered, or why it did not. */
export type NodeLook = {
  readonly node: string
  readonly state: string
  readonly reason: string | null
  readonly scrape: Scrape | undefined
}

/** All nodes at one moment. */
export type Look = { readonly atUs: number; readonly nodes: readonly NodeLook[] }

/**
 * Asks the node at --url and, in a cluster, those that it knows; while it is away, those that it knew `before`. Rejects as
 * `ask` if it does not answer the first time.
 */
export async function lookAtNodes(options: ServerOptions, before?: Look): Promise<Look> {
  const away = (node: string) => (error: unknown) => ({
    node,
    state: 'away',
    reason: describe(error),
    scrape: undefined,
  })
  const first = await lookAt(options).catch((error) => {
    if (before === undefined) throw error
    return away(nameOf(options.url))(error)
  })
  const known = before?.nodes.slice(1).map(({ node }) => node) ?? []
  // This user may not be permitted to look at the cluster.
  const others =
    first.scrape === undefined ? known : await addressesOf(options, first.scrape).catch(() => known)
  const looks = others.map((url) =>
    mayBeAsked(options, url)
      ? lookAt({ ...options, url }).catch(away(url))
      : away(url)(
          new Error('credentials are not sent to another machine over http; ask it by --url, or use https'),
        ),
  )
  return { nodes: [first, ...(await Promise.all(looks))], atUs: systemClock.monoUs() }
}

/** How long a node may take, in ms: it is away then. */
const timeoutMs = 5000

type HealthAnswer = { readonly state: string; readonly reason: string | null }

/** Whether an announced address may be sent the credentials: over http only on the machine that `--url` names, or on this one. */
function mayBeAsked({ url, user, tokenFile }: ServerOptions, announced: string): boolean {
  const { protocol, hostname } = new URL(announced)
  const hasCredentials = user !== undefined || tokenFile !== undefined || !!process.env.FAHAO_TOKEN
  const isHere = /^(localhost|127\..*|\[::1\])$/.test(hostname) || hostname === new URL(url).hostname
  return protocol === 'https:' || !hasCredentials || isHere
}

async function lookAt(options: ServerOptions): Promise<NodeLook> {
  const { state, reason } = await ask<HealthAnswer>(options, 'GET', '/healthz', { timeoutMs })
  const scrape = new Scrape(await askText(options, 'GET', '/metrics', { timeoutMs }))
  return { node: nameOf(options.url), state, reason, scrape }
}

/** Without what a URL may tell of a login. */
function nameOf(url: string): string {
  return new URL(url).origin
}

/** The URLs of the other nodes of its cluster. */
async function addressesOf(options: ServerOptions, scrape: Scrape): Promise<string[]> {
  if (scrape.of('cluster').length === 0) return []
  const { nodes, self } = await ask<ClusterAnswer>(options, 'GET', '/v1/cluster', { timeoutMs })
  const { protocol } = new URL(options.url)
  return nodes.flatMap(({ id, http }) => (id === self || http === null ? [] : [`${protocol}//${http}`]))
}

/** What is shown: rates are per second. */
export type Figures = ReturnType<typeof figuresOf>

/** Figures from a look and, for rates of just now, the look before; without one, rates are those over about a minute. */
export function figuresOf({ atUs, nodes }: Look, before?: Look) {
  const seconds = before === undefined ? undefined : (atUs - before.atUs) / 1_000_000
  const rows = nodes.map(({ node, state, reason, scrape }) => {
    const earlier = before?.nodes.find((each) => each.node === node)?.scrape
    const rate = (metric: 'issued' | 'cpu') => {
      const [now, then] = [scrape?.sum(metric), earlier?.sum(metric)]
      return now === undefined || then === undefined ? undefined : Math.max(0, now - then) / seconds!
    }
    const errors = [...(scrape?.by('errors', 'code') ?? [])].map(([code, count]) => {
      const then = earlier?.by('errors', 'code').get(code) ?? 0
      return [code, earlier === undefined ? 0 : Math.max(0, count - then) / seconds!] as const
    })
    return {
      node,
      state,
      reason,
      version: scrape?.of('build')[0]?.labels.version ?? null,
      perSecond: rate('issued') ?? scrape?.sum('perSecond') ?? 0,
      errors: Object.fromEntries(errors.filter(([, perSecond]) => perSecond > 0)),
      bufferedSeconds: finite(scrape?.sum('lastsLeast')),
      cpu: rate('cpu') ?? null,
      memoryBytes: scrape?.sum('memory') ?? null,
      generators: generatorsOf(scrape, earlier, seconds),
    }
  })
  const all = rows.flatMap(({ generators }) => generators)
  const generators = [...Map.groupBy(all, ({ name }) => name).values()]
    .map((same) => same.reduce(merged))
    .sort((a, b) => b.perSecond + b.callersPerSecond - a.perSecond - a.callersPerSecond)
  const ending = generators.filter(({ endsSeconds }) => endsSeconds !== null)
  return {
    perSecond: rows.reduce((sum, { perSecond }) => sum + perSecond, 0),
    errors: Object.fromEntries(added(rows.flatMap(({ errors }) => Object.entries(errors)))),
    bufferedSeconds: least(rows.map(({ bufferedSeconds }) => bufferedSeconds)),
    endsFirst: ending.toSorted((a, b) => a.endsSeconds! - b.endsSeconds!)[0]?.name ?? null,
    nodes: rows.map(({ generators: _, ...row }) => row),
    generators,
  }
}

/** A generator, on one node or over all. */
type GeneratorRow = {
  readonly name: string
  readonly kind: string
  readonly perSecond: number
  /** What callers use up in their own processes. */
  readonly callersPerSecond: number
  readonly buffered: number
  /** How long its ids last without the store, on the node where they end first; null while idle. */
  readonly bufferedSeconds: number | null
  readonly waiting: number
  readonly leftIds: number | null
  /** When it ends; null when not in sight. */
  readonly endsSeconds: number | null
}

function generatorsOf(
  scrape: Scrape | undefined,
  earlier: Scrape | undefined,
  seconds: number | undefined,
): GeneratorRow[] {
  if (scrape === undefined) return []
  const of = (metric: keyof typeof metricNames) => scrape.by(metric, 'generator')
  const [issued, then] = [of('issued'), earlier?.by('issued', 'generator')]
  const [smooth, callers, buffered, lasts] = [of('perSecond'), of('callers'), of('buffered'), of('lasts')]
  const [waiting, left, ends] = [of('waiting'), of('left'), of('ends')]
  const kinds = new Map(scrape.of('info').map(({ labels }) => [labels.generator, labels.kind]))
  return [...issued].map(([name, count]) => {
    // A generator that has just got a series of its own has none to compare with.
    const grown = then?.has(name) ? count - then.get(name)! : -1
    return {
      name,
      kind: kinds.get(name) ?? '',
      perSecond: grown < 0 ? (smooth.get(name) ?? 0) : grown / seconds!,
      callersPerSecond: callers.get(name) ?? 0,
      buffered: buffered.get(name) ?? 0,
      bufferedSeconds: finite(lasts.get(name)),
      waiting: waiting.get(name) ?? 0,
      leftIds: left.get(name) ?? null,
      endsSeconds: ends.get(name) ?? null,
    }
  })
}

function merged(a: GeneratorRow, b: GeneratorRow): GeneratorRow {
  const perSecond = a.perSecond + b.perSecond
  const callersPerSecond = a.callersPerSecond + b.callersPerSecond
  const leftIds = least([a.leftIds, b.leftIds])
  // Each node knows only its own rate.
  const rate = perSecond + callersPerSecond
  const ends = leftIds === null || rate === 0 ? null : leftIds / rate
  return {
    name: a.name,
    kind: a.kind || b.kind,
    perSecond,
    callersPerSecond,
    buffered: a.buffered + b.buffered,
    bufferedSeconds: least([a.bufferedSeconds, b.bufferedSeconds]),
    waiting: a.waiting + b.waiting,
    leftIds,
    endsSeconds: least([a.endsSeconds, b.endsSeconds, ends]),
  }
}

function added(pairs: readonly (readonly [string, number])[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const [key, value] of pairs) sums.set(key, (sums.get(key) ?? 0) + value)
  return sums
}

function least(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : Math.min(...known)
}

function finite(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : value
}
