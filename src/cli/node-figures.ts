/** Figures of the nodes of an installation, for people: from the live stream of the node at `--url`, which tells of all. */
import type { ClusterAnswer } from '../operations/cluster.ts'
import { ask, askLines, askText, type ServerOptions } from './server-api.ts'

/** What was told of a generator since its node started, and what is so now. */
type GeneratorTick = Pick<
  GeneratorRow,
  'kind' | 'perSecond' | 'callersPerSecond' | 'buffered' | 'bufferedSeconds' | 'waiting' | 'endsSeconds'
> & { readonly issued: number; readonly left: number | null }

/** The lines of the stream, as far as they are read. */
type HistoryLine = { readonly type: 'history'; readonly node: string; readonly process: string }
type TickLine = {
  readonly type: 'tick'
  readonly node: string
  readonly atMs: number
  readonly state: string
  readonly reason?: string
  readonly version: string | null
  readonly cpuSeconds: number | null
  readonly memoryBytes: number | null
  readonly issued: number
  readonly errors: Readonly<Record<string, number>>
  readonly generators: Readonly<Record<string, GeneratorTick>>
}
type AwayLine = { readonly type: 'away'; readonly node: string; readonly reason: string }
type Line = HistoryLine | TickLine | AwayLine

/** The newest lines about a node. */
type Told = {
  readonly process?: string
  readonly before?: TickLine | undefined
  readonly tick?: TickLine | undefined
  /** Why no more is told of it. */
  readonly away?: string | undefined
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

/** What is shown: rates are per second. */
export type Figures = ReturnType<NodeFigures['figures']>

/** Asks the node at --url once for what it tells of all nodes. With one tick rates are those over about a minute. */
export async function lookAtNodes(options: ServerOptions, ticks: number): Promise<Figures> {
  const nodes = new NodeFigures(options)
  // Asked at once: a node that is away leaves the cluster.
  const [lines] = await Promise.all([
    askText(options, 'GET', '/v1/live', { query: { ticks: String(ticks) } }),
    nodes.name(),
  ])
  for (const line of lines.split('\n')) if (line !== '') nodes.take(line)
  return nodes.figures()
}

/** The figures of all nodes, told line by line. A node that goes away stays. */
export class NodeFigures {
  readonly #options: ServerOptions
  /** The address of the node that is asked, without what a URL may tell of a login. */
  readonly #asked: string
  /** By the ids of nodes, which are new at each start. */
  readonly #told = new Map<string, Told>()
  /** What people call them. */
  readonly #names = new Map<string, string>()
  #isFirst = true

  constructor(options: ServerOptions) {
    this.#options = options
    this.#asked = new URL(options.url).origin
  }

  /** Reads the stream until it ends, or `signal` ends it, and calls `show` when there is something new. Rejects as `ask`. */
  async follow(signal: AbortSignal, show: () => void): Promise<void> {
    this.#isFirst = true
    await askLines(this.#options, '/v1/live', signal, (text) => {
      const { type, node } = this.take(text)
      if (type !== 'history') show()
      else if (!this.#names.has(node)) void this.name()
    })
  }

  /** Takes a line. */
  take(text: string): Line {
    const line: Line = JSON.parse(text)
    const { type, node } = line
    const told = this.#told.get(node)
    // The first line is of the node that was asked.
    if (this.#isFirst) this.#names.set(node, this.#asked)
    this.#isFirst = false
    if (type === 'history') {
      // A process that joins its cluster again has another id.
      for (const [id, { process }] of this.#told)
        if (id !== node && process === line.process) this.#told.delete(id)
      this.#told.set(node, { ...told, process: line.process, away: undefined })
    } else if (type === 'away') this.#told.set(node, { ...told, away: line.reason })
    else this.#told.set(node, { ...told, before: told?.tick, tick: line, away: undefined })
    return line
  }

  /** Names nodes by their addresses, as far as this user may know these. */
  async name(): Promise<void> {
    const cluster = await ask<ClusterAnswer>(this.#options, 'GET', '/v1/cluster').catch(() => undefined)
    const { protocol } = new URL(this.#asked)
    for (const { id, http } of cluster?.nodes ?? [])
      if (http !== null && this.#names.get(id) !== this.#asked) this.#names.set(id, `${protocol}//${http}`)
  }

  /** The stream is over: no more is told of any node, until the next one begins. */
  lose(reason: string): void {
    for (const [id, told] of this.#told) {
      const isAsked = this.#names.get(id) === this.#asked
      this.#told.set(id, { ...told, away: isAsked ? reason : `no word of it without ${this.#asked}` })
    }
  }

  /** What is shown. */
  figures() {
    const byName = new Map<string, ReturnType<typeof rowOf> & { readonly node: string }>()
    for (const [id, told] of this.#told) {
      const node = this.#names.get(id) ?? id
      // A process that is started again, or that joins its cluster again, has another id.
      const isOther = told.away !== undefined && byName.has(node)
      if (!isOther && (told.tick ?? told.away) !== undefined) byName.set(node, { node, ...rowOf(told) })
    }
    const rows = [...byName.values()]
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
}

/** One node as it was told of, or why it was not. */
function rowOf({ before, tick, away }: Told) {
  const now = away === undefined ? tick : undefined
  const seconds = before && now && (now.atMs - before.atMs) / 1000
  /** Undefined: there is nothing to compare with. */
  const rate = (count = 0, then: number | undefined) =>
    seconds === undefined || then === undefined ? undefined : Math.max(0, count - then) / seconds
  const generators = Object.entries(now?.generators ?? {}).map(([name, told]): GeneratorRow => {
    const { issued, left, ...figures } = told
    const then =
      before && Object.hasOwn(before.generators, name) ? before.generators[name]!.issued : undefined
    return { name, ...figures, leftIds: left, perSecond: rate(issued, then) ?? figures.perSecond }
  })
  const errors = Object.entries(now?.errors ?? {}).map(([code, count]): [string, number] => {
    return [code, rate(count, before?.errors[code] ?? 0) ?? 0]
  })
  return {
    state: away === undefined ? now!.state : 'away',
    reason: away ?? now!.reason ?? null,
    version: now?.version ?? null,
    perSecond:
      rate(now?.issued, before?.issued) ?? generators.reduce((sum, { perSecond }) => sum + perSecond, 0),
    errors: Object.fromEntries(errors.filter(([, perSecond]) => perSecond > 0)),
    bufferedSeconds: least(generators.map(({ bufferedSeconds }) => bufferedSeconds)),
    cpu: now?.cpuSeconds ? (rate(now.cpuSeconds, before?.cpuSeconds ?? undefined) ?? null) : null,
    memoryBytes: now?.memoryBytes ?? null,
    generators,
  }
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
    kind: a.kind,
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
