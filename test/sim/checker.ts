/**
 * Judges a simulation by the replies to clients and operators, and their times. It reads nothing else: no clock but the
 * true one, no record, no counter.
 *
 *  1. No id of a generator is in two replies, whatever its kinds and incarnations were.
 *  2. While a generator is strict, an id that was asked for after a reply had come is larger than all in that reply. It
 *     is strict from the reply to the operator on, until another change of it may have been carried out.
 *  3. The node on which a generator was changed issues above all ids that clients had received before the change was sent.
 *  4. A request for one range gets one range.
 *  5. Values of a counter, taken for blocks of as many ids as its increment was, have no id in common (blocks.ts).
 *  6. What is asked for, or leased, after a floor for every node was acknowledged lies at or above it.
 *  7. Leased values of a counter are above those of every earlier incarnation.
 *  8. With periods, the order is that of the ids of one period, and every id is of a period that the clock of a node has shown.
 */
import { AssertionError } from 'node:assert/strict'
import type { Periods } from '../../src/ids/period.ts'
import { type Run, two32 } from '../../src/ids/run.ts'
import type { Kind } from '../../src/issuing/issuer.ts'
import { Blocks } from './blocks.ts'
import type { Now } from './program.ts'
import type { World } from './world.ts'

/** An advance raises every incarnation by far, without a change of the generator. */
const advanced = 2n ** 19n

/** One reply to a client. */
export type Reply = {
  readonly sentUs: number
  readonly by: string
  readonly runs: readonly Run[]
  readonly count: number
  readonly contiguous: boolean
  /** By a machine that had been paused and could not know: nothing is expected of its order. */
  readonly isUnaware: boolean
}

/** What an operator has asked for, until it is told what became of it. */
export type Change = {
  readonly sentUs: number
  readonly before: Kind | undefined
  readonly strictly: boolean
}

/** What was received, in order. */
type Order = { readonly received: number[]; readonly largest: bigint[] }

/** What is known of one generator. */
type Known = {
  readonly ids: Set<number | bigint>
  /** By period: when replies had come, and the largest id that had been received by then. Without periods there is one. */
  orders: Map<number, Order>
  /** Since when it is strict. */
  strictUs: number | undefined
  /** Its kind, as operators were told; undefined: not known, or there is none. */
  kind: Kind | undefined
  /** What it was when it last was anything. */
  last: Kind | undefined
  /** The life in which operators have seen it last; undefined: an advance may have begun another since. */
  incarnation: bigint | undefined
  /** The last floor for every node, since when. */
  floor: { readonly sinceUs: number; readonly least: bigint } | undefined
  /** By incarnation of a counter, what was given of its leases. */
  leased: Map<bigint, { least: bigint; most: bigint }>
  /** Changes that are under way, and all that operators have asked for. */
  changes: number
  asked: number
  /** The outcome of a change is unknown. */
  isUnclear: boolean
  /** A change was forgotten: nodes may go on for a while with what it had made. */
  isForgotten: boolean
  /** Where it was changed last: by which node, when it was done, and above what its ids are. */
  since: { readonly by: string; readonly doneUs: number; readonly above: bigint } | undefined
}

export class Checker {
  /** Ids that clients were given. */
  ids = 0
  replies = 0
  /** The first thing found wrong. Kept, not thrown: whatever is judged might catch it. */
  wrong: Error | undefined
  /** The generator that it is about. */
  suspect: string | undefined
  readonly #world: World
  readonly #known = new Map<string, Known>()
  readonly #blocks = new Blocks()
  /** Of every generator that counts in periods. */
  readonly #periods: Periods | undefined
  readonly #kept: number
  /** The latest moment that a clock has shown, and the earliest, in Unix µs. */
  shown = { fromUs: Number.POSITIVE_INFINITY, untilUs: 0 }

  /** @param kept how many periods before the present one are numbered. */
  constructor(world: World, periods?: Periods, kept = 0) {
    this.#world = world
    this.#kept = kept
    this.#periods = periods
  }

  /** The generator is strict and always was. */
  strict(generator: string): void {
    this.#of(generator).strictUs = 0
  }

  /** A clock of a machine shows this. */
  readonly noteWall = (wallUs: number): void => {
    if (wallUs < this.shown.fromUs) this.shown.fromUs = wallUs
    if (wallUs > this.shown.untilUs) this.shown.untilUs = wallUs
  }

  /** A client has its ids, just now. */
  reply(generator: string, reply: Reply): void {
    const known = this.#of(generator)
    const { runs, contiguous, count } = reply
    this.replies++
    if (contiguous && !isRange(runs, count)) this.fail(generator, `a range of ${count} came as ${text(runs)}`)
    const period = this.#periodOf(generator, runs[0]!.first)
    const least = this.#least(known, reply, period)
    let largest = known.orders.get(period)?.largest.at(-1) ?? -1n
    for (const run of runs) {
      for (let at = 0; at < run.count; at++) {
        const id = keyOf(run, at)
        if (known.ids.has(id)) this.fail(generator, `${run.at(at)} was issued twice, now by ${reply.by}`)
        known.ids.add(id)
        this.ids++
      }
      const first = run.first
      if (!reply.isUnaware) this.askedFor(generator, first, reply.sentUs)
      if (first <= least) this.fail(generator, this.#disorder(first, least, reply))
      const last = run.at(run.count - 1)
      if (last > largest) largest = last
    }
    this.#receive(known, largest, period)
  }

  /** The period of an id; 0: of none. Fails for one that no clock has shown. */
  #periodOf(generator: string, id: bigint): number {
    const periods = this.#periods
    const ordinal = periods?.split(id)?.ordinal
    if (periods === undefined || ordinal === undefined) return 0
    const { fromUs, untilUs } = this.shown
    // A timeline goes on from the latest moment that its clock has shown. Documents of earlier periods are numbered too.
    const latest = periods.ordinalOfMoment(untilUs + this.#world.nowUs * 1.1)
    if (ordinal < periods.ordinalOfMoment(fromUs) - this.#kept || ordinal > latest)
      this.fail(generator, `${id} is of a period that no clock has shown`)
    return ordinal
  }

  /** A value of a counter, issued with this increment, is the block of a caller. */
  block(generator: string, value: bigint, increment: number): void {
    const what = this.#blocks.take(generator, value, increment)
    if (what !== undefined) this.fail(generator, what)
  }

  /** A caller was given a value that was leased of this incarnation of a counter. */
  counted(generator: string, value: bigint, incarnation: bigint): void {
    const { leased } = this.#of(generator)
    const own = leased.get(incarnation) ?? { least: value, most: value }
    leased.set(incarnation, own)
    if (value < own.least) own.least = value
    if (value > own.most) own.most = value
    for (const [other, { least, most }] of leased)
      if (other < incarnation ? most >= own.least : other > incarnation && least <= own.most)
        this.fail(generator, `${value} of incarnation ${incarnation} is among those of incarnation ${other}`)
  }

  /** An operator was told that no node issues an id below this one any more. */
  floored(generator: string, least: bigint): void {
    const known = this.#of(generator)
    if (known.changes === 0 && known.kind === 'segment') known.floor = { sinceUs: this.#world.nowUs, least }
  }

  /** A caller has a value that was asked for, or leased, at this time. */
  askedFor(generator: string, value: bigint, sentUs: number): void {
    const { floor } = this.#of(generator)
    if (floor !== undefined && sentUs >= floor.sinceUs && value < floor.least)
      this.fail(generator, `${value} was issued below ${floor.least}, the floor of every node`)
  }

  /** An operator asks for something that may change the generator's kind or incarnation. */
  change(generator: string, kinds: { readonly strictly: boolean; readonly keepsFloor: boolean }): Change {
    const known = this.#of(generator)
    if (!kinds.keepsFloor) known.floor = undefined
    known.changes++
    known.asked++
    known.since = undefined
    const strictly = kinds.strictly && known.strictUs !== undefined
    if (!strictly) known.strictUs = undefined
    return { sentUs: this.#world.nowUs, before: known.kind, strictly }
  }

  /**
   * The operator is told what became of it `by` a node. 'refused': nothing has changed. 'unclear': anything.
   * `calmly`: nothing has gone wrong meanwhile, so that every node has heard of it.
   */
  changed(
    generator: string,
    change: Change,
    by: string,
    done: Now | 'refused' | 'unclear',
    calmly: boolean,
  ): void {
    const known = this.#of(generator)
    known.changes--
    if (done === 'refused') {
      if (isStrict(known.kind) && !known.isUnclear && known.changes === 0)
        known.strictUs ??= this.#world.nowUs
      return
    }
    if (done === 'unclear') {
      known.isUnclear ||= !change.strictly
      known.kind = undefined
      known.last = undefined
      return
    }
    const renewals = known.incarnation === undefined ? 0n : done.incarnation - known.incarnation
    // The answer comes late: another change has been made, and answered, since this one was.
    if (renewals < 0n) return
    const isRenewed = renewals > 0n && renewals < advanced
    const { last } = known
    known.kind = done.kind
    // A change with an unknown outcome can still be carried out after this answer.
    known.last = known.isUnclear ? undefined : (done.kind ?? last)
    known.incarnation = done.incarnation
    // A node that was out of reach goes on with what it had in order per node.
    if (isStrict(done.kind) && !change.strictly && !calmly) known.isUnclear = true
    if (known.changes > 0 || known.isUnclear) return
    if (isStrict(done.kind)) known.strictUs ??= this.#world.nowUs
    const above = this.#largestBefore(known, change.sentUs, this.#newestPeriod(known))
    // Worker ids keep snowflakes of one layout apart, whichever incarnation issues them.
    if (isRenewed && last !== undefined && (last !== 'snowflake' || done.kind !== 'snowflake'))
      known.since = { by, doneUs: this.#world.nowUs, above }
  }

  /** How many changes had been asked for, when an operator begins to look; undefined: one is under way. */
  looks(generator: string): number | undefined {
    const { changes, asked } = this.#of(generator)
    return changes > 0 ? undefined : asked
  }

  /**
   * All is well for long enough that nothing is on its way any more, and the generator is found to be of this kind.
   * @param asked what `looks` said: an answer from before a change says nothing.
   */
  found(generator: string, { kind, incarnation }: Now, asked: number | undefined): void {
    const known = this.#of(generator)
    if (asked !== known.asked) return
    if (known.isForgotten) this.#startAnew(known)
    known.isForgotten = false
    known.isUnclear = false
    known.kind = kind
    known.last = kind ?? known.last
    known.incarnation = incarnation
    known.strictUs = isStrict(kind) ? (known.strictUs ?? this.#world.nowUs) : undefined
  }

  /** What it is, as operators were told last. */
  kind(generator: string): Kind | undefined {
    return this.#of(generator).kind
  }

  /** The largest id that a client received, or that the generator was moved to. */
  largest(generator: string): bigint {
    const known = this.#of(generator)
    return known.orders.get(this.#newestPeriod(known))?.largest.at(-1) ?? 0n
  }

  /** An operator was told that the next id is above this one, which was issued or will never be. */
  moved(generator: string, newest: bigint): void {
    const known = this.#of(generator)
    if (known.strictUs === undefined) return
    const period = this.#periodOf(generator, newest)
    const largest = known.orders.get(period)?.largest.at(-1) ?? -1n
    this.#receive(known, newest > largest ? newest : largest, period)
  }

  /** The store has forgotten what was written last: incarnations begin anew above what was forgotten. */
  lost(): void {
    for (const known of this.#known.values()) {
      known.incarnation = undefined
      known.since = undefined
    }
  }

  /** The store has forgotten a change of the generator: its ids are still distinct, and that is all. */
  forgot(generator: string): void {
    const known = this.#of(generator)
    known.strictUs = undefined
    known.since = undefined
    known.kind = undefined
    known.last = undefined
    known.isUnclear = true
    known.isForgotten = true
    known.floor = undefined
    known.leased.clear()
    this.#blocks.forget(generator)
    this.#startAnew(known)
  }

  /** What was received says nothing about the order of what will be. */
  #startAnew(known: Known): void {
    known.orders.clear()
  }

  #of(generator: string): Known {
    const known = this.#known.get(generator)
    if (known !== undefined) return known
    const fresh: Known = {
      ids: new Set(),
      orders: new Map(),
      strictUs: undefined,
      kind: undefined,
      last: undefined,
      incarnation: 0n,
      floor: undefined,
      leased: new Map(),
      changes: 0,
      asked: 0,
      isUnclear: false,
      isForgotten: false,
      since: undefined,
    }
    this.#known.set(generator, fresh)
    return fresh
  }

  /** What all ids of this reply must be larger than. */
  #least(known: Known, { sentUs, by, isUnaware }: Reply, period: number): bigint {
    const { strictUs, since } = known
    if (isUnaware) return -1n
    if (strictUs !== undefined && sentUs >= strictUs) return this.#largestBefore(known, sentUs, period)
    // Ids of an earlier period than that may come from a node with a slow clock.
    const isOfPeriod = period === 0 || this.#periods?.split(since?.above ?? 0n)?.ordinal === period
    return isOfPeriod && since !== undefined && since.by === by && sentUs >= since.doneUs ? since.above : -1n
  }

  /** The largest id that a client had received before this moment. */
  #largestBefore({ orders }: Known, us: number, period: number): bigint {
    const { received, largest } = orders.get(period) ?? { received: [], largest: [] }
    let from = 0
    let to = received.length
    while (from < to) {
      const middle = (from + to) >> 1
      if (received[middle]! < us) from = middle + 1
      else to = middle
    }
    return from === 0 ? -1n : largest[from - 1]!
  }

  #newestPeriod({ orders }: Known): number {
    return Math.max(0, ...orders.keys())
  }

  #receive({ orders }: Known, id: bigint, period: number): void {
    const order = orders.get(period) ?? { received: [], largest: [] }
    orders.set(period, order)
    order.received.push(this.#world.nowUs)
    order.largest.push(id)
  }

  #disorder(id: bigint, least: bigint, { by, sentUs }: Reply): string {
    return `${by} issued ${id}, asked for at ${(sentUs / 1000).toFixed(1)} ms, after ${least} had been received`
  }

  /** Keeps what is wrong first. */
  fail(generator: string, what: string): void {
    if (this.wrong !== undefined) return
    this.suspect = generator
    this.wrong = new AssertionError({ message: `${generator}: ${what}` })
  }
}

function isStrict(kind: Kind | undefined): boolean {
  return kind === 'sequence' || kind === 'timestamp'
}

function isRange(runs: readonly Run[], count: number): boolean {
  const [run, ...more] = runs
  return run !== undefined && more.length === 0 && run.count === count && (count === 1 || run.stride === 1)
}

/** An id as a number where that is exact: sets of those are faster. */
function keyOf(run: Run, at: number): number | bigint {
  return run.hi < 0x10_0000 && run.stride > 0 ? run.hi * two32 + run.lo + at * run.stride : run.at(at)
}

function text(runs: readonly Run[]): string {
  return runs.map((run) => `${run.first} to ${run.at(run.count - 1)}`).join(', ')
}
