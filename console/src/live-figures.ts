/**
 * What a live stream has told: counts in steps of the last hour, and the figures of now.
 *
 * Invariants
 *  1. Every row of counts has one entry for each of `endsMs`; null where nothing is known.
 *  2. A total that is smaller than the one before comes of a restart: it is a new beginning, and nothing is counted.
 *  3. At most `stepsMax` steps, and of the names only those that the stream tells of.
 */

/** The first line of the stream. */
export type History = {
  readonly type: 'history'
  readonly stepSeconds: number
  readonly endMs: number
  readonly issued: readonly (number | null)[]
  readonly errors: Readonly<Record<string, readonly (number | null)[]>>
  readonly generators: Readonly<Record<string, readonly (number | null)[]>>
}
/** The figures of a generator in a tick: totals since the start of the node, and what is buffered. */
export type Figures = {
  readonly issued: number
  readonly buffered: number
  readonly bufferedSeconds: number | null
  readonly refills: number
  readonly waits: number
}
/** Each other line. */
export type Tick = {
  readonly type: 'tick'
  readonly atMs: number
  readonly node: string
  readonly state: string
  readonly reason?: string
  readonly issued: number
  readonly errors: Readonly<Record<string, number>>
  readonly generators: Readonly<Record<string, Figures>>
}
/** Counts by step. */
export type Counts = (number | null)[]

const stepsMax = 360
/** Over how many ticks a rate of now is taken. */
const rateTicks = 3

/** The figures of one stream. */
export class LiveFigures {
  readonly stepMs: number
  readonly endsMs: number[]
  readonly issued: Counts
  readonly errors = new Map<string, Counts>()
  readonly generators = new Map<string, Counts>()
  /** The newest ticks, the newest last. */
  readonly ticks: Tick[] = []

  constructor({ stepSeconds, endMs, issued, errors, generators }: History) {
    this.stepMs = stepSeconds * 1000
    const length = Math.min(issued.length, stepsMax)
    this.endsMs = Array.from({ length }, (_, index) => endMs - (length - 1 - index) * this.stepMs)
    this.issued = this.#row(issued)
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
    while (tick.atMs > (this.endsMs.at(-1) ?? 0)) this.#addStep(tick.atMs)
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

  /** Ids per second in each step; the newest step may be incomplete, and is left out. */
  rates(counts: Counts): Counts {
    return counts.slice(0, -1).map((each) => (each === null ? null : (each * 1000) / this.stepMs))
  }

  /** The moments at which the steps of `rates` end, in Unix seconds. */
  get times(): number[] {
    return this.endsMs.slice(0, -1).map((each) => each / 1000)
  }

  #addStep(atMs: number): void {
    const end = this.endsMs.at(-1)
    // After a pause of the page the steps between are not known: at most an hour of them is kept.
    const next = end === undefined || atMs - end > stepsMax * this.stepMs ? atMs : end + this.stepMs
    this.endsMs.push(next)
    const rows = [this.issued, ...this.errors.values(), ...this.generators.values()]
    for (const row of rows) row.push(null)
    if (this.endsMs.length <= stepsMax) return
    this.endsMs.shift()
    for (const row of rows) row.shift()
  }

  #rowOf(rows: Map<string, Counts>, name: string): Counts {
    const row = rows.get(name) ?? this.#row([])
    rows.set(name, row)
    return row
  }

  /** The newest entries, with nulls in front where there are too few. */
  #row(counts: readonly (number | null)[]): Counts {
    const { length } = this.endsMs
    const newest = counts.slice(Math.max(0, counts.length - length))
    return [...new Array<null>(length - newest.length).fill(null), ...newest]
  }
}

function count(row: Counts, before: number, after: number): void {
  if (after < before || row.length === 0) return
  row[row.length - 1] = (row.at(-1) ?? 0) + after - before
}

/** The sum of what is known of the last `steps`. */
export function sumOf(counts: Counts, steps = stepsMax): number {
  return counts.slice(-steps).reduce<number>((sum, each) => sum + (each ?? 0), 0)
}
