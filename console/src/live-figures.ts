/**
 * What a live stream has told of all nodes: counts in steps of the last hour, and the figures of now.
 *
 * Invariants
 *  1. Every row of counts has one entry for each of `endsMs`; null where nothing is known. It is the sum of the rows of all nodes, also of
 *     those that are away.
 *  2. A total of a node that is smaller than the one before comes of a restart: it is a new beginning, and nothing is counted.
 *  3. At most `stepsMax` steps, and of the names only those that the stream tells of.
 *  4. A change of a leader that several nodes have seen is one event.
 */
import type { NodeEvent } from '../../src/metrics/node-events.ts'

/** The first line of a node. */
export type History = {
  readonly type: 'history'
  readonly node: string
  /** One that joins its cluster again has another id and the same process. Undefined: by a node of an earlier version. */
  readonly process?: string
  readonly stepSeconds: number
  readonly endMs: number
  readonly issued: readonly (number | null)[]
  readonly errors: Readonly<Record<string, readonly (number | null)[]>>
  readonly generators: Readonly<Record<string, readonly (number | null)[]>>
  readonly events?: readonly NodeEvent[]
}
/** The figures of a generator in a tick: totals since the start of the node, and what is buffered. */
export type Figures = {
  readonly issued: number
  readonly buffered: number
  readonly bufferedSeconds: number | null
  readonly refills: number
  readonly waits: number
  readonly kind: string
  /** The ids that are left; null: of kinds of the clock. */
  readonly left: number | null
  /** null: no end is in sight. */
  readonly endsSeconds: number | null
}
/** Each other line of a node. */
export type Tick = {
  readonly type: 'tick'
  readonly atMs: number
  readonly node: string
  readonly state: string
  readonly reason?: string
  readonly issued: number
  readonly errors: Readonly<Record<string, number>>
  readonly generators: Readonly<Record<string, Figures>>
  readonly events?: readonly NodeEvent[]
}
/** A node does not answer the one that is asked. */
export type Away = {
  readonly type: 'away'
  readonly node: string
  readonly atMs: number
  readonly reason: string
}
/** Counts by step. */
export type Counts = (number | null)[]

const stepsMax = 360
const eventsMax = 2000
/** Over how many ticks a rate of now is taken. */
const rateTicks = 3
const stepMs = 10_000
/** The node that is asked says again each ten seconds that another one is away, for as long as that is part of the cluster. */
const awayMs = 15_000

/** The figures of one stream. */
export class LiveFigures {
  readonly stepMs = stepMs
  readonly #nodes = new Map<string, NodeFigures>()
  readonly #events = new Map<string, NodeEvent>()
  #newestMs = 0
  #sums:
    | { endsMs: number[]; issued: Counts; errors: Map<string, Counts>; generators: Map<string, Counts> }
    | undefined

  /** Takes a line in. */
  take(line: History | Tick | Away): void {
    this.#sums = undefined
    const { type, node } = line
    if (type === 'history') {
      // It tells what it did under its earlier id, too.
      for (const { id, process } of this.#nodes.values())
        if (process !== undefined && process === line.process) this.#nodes.delete(id)
      this.#nodes.set(node, new NodeFigures(line))
    } else if (type === 'tick') this.#nodes.get(node)?.add(line)
    else {
      const known = this.#nodes.get(node) ?? new NodeFigures({ ...empty, node, endMs: ceiled(line.atMs) })
      this.#nodes.set(node, known)
      known.away = line
      known.ticks.length = 0
    }
    if (type !== 'history') this.#newestMs = Math.max(this.#newestMs, line.atMs)
    for (const event of (type === 'away' ? undefined : line.events) ?? []) {
      const known = this.#events.get(keyOf(event))
      if (known === undefined || event.atMs < known.atMs) this.#events.set(keyOf(event), event)
    }
    const [oldest] = this.#events.keys()
    if (this.#events.size > eventsMax) this.#events.delete(oldest!)
  }

  /** The nodes that are told of now. */
  get nodes(): NodeFigures[] {
    return [...this.#nodes.values()].filter(
      ({ away }) => away === undefined || this.#newestMs - away.atMs < awayMs,
    )
  }

  /** The changes of the last hour, the newest first. */
  get events(): NodeEvent[] {
    const since = (this.endsMs.at(-1) ?? 0) - stepsMax * stepMs
    return [...this.#events.values()].filter(({ atMs }) => atMs >= since).sort((a, b) => b.atMs - a.atMs)
  }

  /** When each step ends, in Unix ms. */
  get endsMs(): number[] {
    return this.#summed.endsMs
  }
  /** What all nodes have issued. */
  get issued(): Counts {
    return this.#summed.issued
  }
  /** The errors of all nodes by code. */
  get errors(): ReadonlyMap<string, Counts> {
    return this.#summed.errors
  }
  /** What all nodes have issued of each generator. */
  get generators(): ReadonlyMap<string, Counts> {
    return this.#summed.generators
  }

  /** The figures of each generator now, over all nodes that answer. Its buffers last as long as the one that is empty first. */
  get now(): ReadonlyMap<string, Figures> {
    const sums = new Map<string, Figures>()
    for (const { tick } of this.#nodes.values())
      for (const [name, figures] of Object.entries(tick?.generators ?? {})) {
        const before = sums.get(name)
        sums.set(name, before === undefined ? figures : added(before, figures))
      }
    return sums
  }

  /** Ids per second now, of a generator or of all, over all nodes that answer; undefined: not known yet. */
  rate(name?: string): number | undefined {
    const rates = [...this.#nodes.values()].flatMap((node) => node.rate(name) ?? [])
    return rates.length === 0 ? undefined : rates.reduce((sum, each) => sum + each)
  }

  /** Ids per second in each step; the newest step may be incomplete, and is left out. */
  rates(counts: Counts): Counts {
    return counts.slice(0, -1).map((each) => (each === null ? null : (each * 1000) / stepMs))
  }

  /** The moments at which the steps of `rates` end, in Unix seconds. */
  get times(): number[] {
    return this.endsMs.slice(0, -1).map((each) => each / 1000)
  }

  get #summed() {
    this.#sums ??= this.#sum()
    return this.#sums
  }

  #sum() {
    const nodes = [...this.#nodes.values()]
    const last = Math.max(0, ...nodes.map(({ endMs }) => endMs))
    const first = Math.min(last, ...nodes.map((node) => node.endMs - (node.issued.length - 1) * stepMs))
    const length = Math.min(stepsMax, (last - first) / stepMs + 1)
    const endsMs = Array.from({ length }, (_, index) => last - (length - 1 - index) * stepMs)
    const row = () => new Array<number | null>(length).fill(null)
    const addTo = (sum: Counts, counts: Counts, endMs: number) => {
      const shift = length - counts.length - (last - endMs) / stepMs
      for (const [index, count] of counts.entries())
        if (count !== null && index + shift >= 0) sum[index + shift] = (sum[index + shift] ?? 0) + count
    }
    const [issued, errors, generators] = [row(), new Map<string, Counts>(), new Map<string, Counts>()]
    for (const node of nodes) {
      addTo(issued, node.issued, node.endMs)
      for (const [sums, rows] of [
        [errors, node.errors],
        [generators, node.generators],
      ] as const)
        for (const [name, counts] of rows) {
          const sum = sums.get(name) ?? row()
          sums.set(name, sum)
          addTo(sum, counts, node.endMs)
        }
    }
    return { endsMs, issued, errors, generators }
  }
}

/** What one node has told. */
export class NodeFigures {
  readonly id: string
  readonly process: string | undefined
  /** The end of the newest step. */
  endMs: number
  readonly issued: Counts
  readonly errors = new Map<string, Counts>()
  readonly generators = new Map<string, Counts>()
  /** The newest ticks, the newest last. */
  readonly ticks: Tick[] = []
  /** The newest line that says that it does not answer; undefined: it does. */
  away: Away | undefined

  constructor(history: Omit<History, 'type' | 'stepSeconds' | 'events'>) {
    const { node, process, endMs, issued, errors, generators } = history
    this.id = node
    this.process = process
    this.endMs = endMs
    this.issued = issued.slice(-stepsMax)
    for (const [code, row] of Object.entries(errors)) this.errors.set(code, this.#row(row))
    for (const [name, row] of Object.entries(generators)) this.generators.set(name, this.#row(row))
  }

  /** The newest tick. */
  get tick(): Tick | undefined {
    return this.ticks.at(-1)
  }

  /** Takes a tick in. */
  add(tick: Tick): void {
    const last = this.tick
    this.away = undefined
    this.#addSteps(ceiled(tick.atMs))
    if (last !== undefined) {
      count(this.issued, last.issued, tick.issued)
      for (const [code, total] of Object.entries(tick.errors))
        count(this.#rowOf(this.errors, code), last.errors[code] ?? 0, total)
      for (const [name, { issued }] of Object.entries(tick.generators)) {
        const before = Object.hasOwn(last.generators, name) ? last.generators[name] : undefined
        if (before !== undefined) count(this.#rowOf(this.generators, name), before.issued, issued)
      }
    }
    this.ticks.push(tick)
    if (this.ticks.length > rateTicks + 1) this.ticks.shift()
  }

  /** Ids per second now, of a generator or of all; undefined: not known yet. */
  rate(name?: string): number | undefined {
    const of = (tick: Tick) => (name === undefined ? tick.issued : tick.generators[name]?.issued)
    const known = this.ticks.filter((tick) => of(tick) !== undefined)
    const [first, last] = [known[0], known.at(-1)]
    if (first === undefined || last === undefined || last.atMs <= first.atMs) return undefined
    const more = of(last)! - of(first)!
    return more < 0 ? undefined : (more * 1000) / (last.atMs - first.atMs)
  }

  #addSteps(endMs: number): void {
    // Of the steps of a pause nothing is known.
    const steps = Math.min(stepsMax, Math.max(0, (endMs - this.endMs) / stepMs))
    this.endMs = Math.max(this.endMs, endMs)
    for (const row of [this.issued, ...this.errors.values(), ...this.generators.values()]) {
      for (let step = 0; step < steps; step++) row.push(null)
      row.splice(0, row.length - stepsMax)
    }
  }

  #rowOf(rows: Map<string, Counts>, name: string): Counts {
    const row = rows.get(name) ?? this.#row([])
    rows.set(name, row)
    return row
  }

  /** The newest entries, with nulls in front where there are too few. */
  #row(counts: readonly (number | null)[]): Counts {
    const { length } = this.issued
    const newest = counts.slice(Math.max(0, counts.length - length))
    return [...new Array<null>(length - newest.length).fill(null), ...newest]
  }
}

const empty = { issued: [], errors: {}, generators: {} } as const

/** The end of the step in which a moment lies. */
function ceiled(atMs: number): number {
  return Math.ceil(atMs / stepMs) * stepMs
}

function keyOf(event: NodeEvent): string {
  return event.kind === 'lead' ? `lead ${event.shard} ${event.epoch}` : `health ${event.node} ${event.atMs}`
}

function added(one: Figures, other: Figures): Figures {
  return {
    kind: one.kind,
    issued: one.issued + other.issued,
    buffered: one.buffered + other.buffered,
    bufferedSeconds: least(one.bufferedSeconds, other.bufferedSeconds),
    left: least(one.left, other.left),
    endsSeconds: endOf(one, other),
    refills: one.refills + other.refills,
    waits: one.waits + other.waits,
  }
}

/** Nodes use one counter up together; the bits of a clock end when they end. */
function endOf({ left, endsSeconds: one }: Figures, { endsSeconds: other }: Figures): number | null {
  if (one === null || other === null || left === null) return least(one, other)
  return one + other === 0 ? 0 : (one * other) / (one + other)
}

function least(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other)
}

function count(row: Counts, before: number, after: number): void {
  if (after < before || row.length === 0) return
  row[row.length - 1] = (row.at(-1) ?? 0) + after - before
}

/** The sum of what is known of the last `steps`. */
export function sumOf(counts: Counts, steps = stepsMax): number {
  return counts.slice(-steps).reduce<number>((sum, each) => sum + (each ?? 0), 0)
}
