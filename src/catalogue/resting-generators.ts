/**
 * Generators at rest: counters that have nothing to do but to issue the ids of their rows. Such a one is an entry of the table of
 * names, a row of ids, and a row of numbers (issuing/counter-rows.ts), and has no object. One is put to rest when nothing was asked
 * of it between two looks, or at once where many are awake. It is refilled at rest (resting-refills.ts), and made again of its rows
 * when anything is asked of it that its row of ids cannot answer.
 *
 * Why this is safe: rest and waking are one step each, between which no other code runs. What has rested issues nothing any more:
 * it has left its row, its `take` finds nothing, and its `draw` rejects with STALE, which callers follow to the generator that the
 * table has (`OpenGenerator`). So a row has one issuer at a time, and what the row issues meanwhile is under its gate (P5).
 *
 * Invariants
 *  1. A row belongs to one object or to none. Of one that belongs to none the entry of its name is at rest.
 *  2. Nothing is at rest for which a caller waits, or that pauses after a failure.
 *  3. What was issued, reserved and counted before is known when it is woken, and so is what may be released.
 */
import type { Clock, Timer } from '../base/clock.ts'
import { emptyRow } from '../buffers/fast-runs.ts'
import type { Engine, Reservation } from '../engine/engine.ts'
import { nextTurn } from '../engine/next-turn.ts'
import { firstFrom } from '../ids/run.ts'
import {
  CounterRows,
  holdsSpareAtRest,
  leftAtRest,
  nothingAtRest,
  statsAtRest,
} from '../issuing/counter-rows.ts'
import { idleStats } from '../issuing/issuer.ts'
import { ReservedCounter } from '../issuing/reserved-counter.ts'
import type { GeneratorInUse } from './catalogue.ts'
import { closeInTime, valuableFirst } from './closings.ts'
import type { NameTable, Waker } from './name-table.ts'
import { OpenGenerator, type OpenGeneratorDeps } from './open-generator.ts'
import type { SharedAtRest } from './open-issuer.ts'
import { RestingRefills } from './resting-refills.ts'
import { generatorKey } from './stored-generator.ts'
import type { Seen } from './survey.ts'

/** How many generators and empty places are looked at before others run: about a millisecond. */
const [lookedAtTogether, placesTogether] = [500, 50_000] as const
/** Each look reads one in this number of those at rest. */
const rowLooks = 10
/** The most different ones that are kept, each an object. A generator beyond that stays awake. */
const sharedMax = 10_000

/** The most generators that stay awake while they are used. */
const awakeMax = 1000

/** How many generators give back what they hold at a time. An engine writes what comes together in one transaction. */
const givingBack = { lanes: 2, together: 5000 }
/** The most generators that are sorted by their names at a stop: there is hardly time to give back what more of them hold. */
const reachedMax = 200_000

/** A generator at rest that could give ids back. */
type HeldAtRest = { readonly entry: number; readonly buffered: number }

type Counted = SharedAtRest & { readonly key: string; uses: number }

/** Puts generators to rest, and wakes them. */
export class RestingGenerators implements Waker<OpenGenerator> {
  readonly #names: NameTable<OpenGenerator>
  readonly #rows: CounterRows
  readonly #deps: OpenGeneratorDeps
  readonly #state = nothingAtRest()
  /** What those at rest share, and its numbers. */
  readonly #shared: (Counted | undefined)[] = []
  readonly #freeShared: number[] = []
  /** The numbers of `#shared` by what differs. */
  readonly #byKey = new Map<string, number>()
  /** Plans and gates have numbers in keys. */
  readonly #numbers = new WeakMap<object, number>()
  #newestNumber = 0
  readonly #refills: RestingRefills
  #looks = 0
  #timer: Timer | undefined
  #stopped = false

  constructor(names: NameTable<OpenGenerator>, deps: OpenGeneratorDeps) {
    this.#names = names
    this.#rows = new CounterRows(names.runs)
    names.waker = this
    this.#deps = deps
    this.#refills = new RestingRefills(this, deps)
    this.#lookLater()
  }

  /** Puts no generator to rest any more. */
  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  /** See `Waker`. */
  wake(name: string, row: number): OpenGenerator {
    this.#rows.look(row, this.#nowSeconds())
    const state = this.#rows.read(row, this.#state)
    state.refill = this.#refills.leave(row)
    const shared = this.#shared[state.shared]!
    this.#release(state.shared)
    const { incarnation: number, floor, advances } = shared
    const incarnation = { name, counter: generatorKey(name), incarnation: number, floor, advances }
    return OpenGenerator.woken(incarnation, state, row, shared, this.#deps)
  }

  /** Passes a generator to who asks for something. */
  serve<Result>(
    generator: OpenGenerator,
    use: (generator: OpenGenerator) => Result | Promise<Result>,
  ): Promise<Result> {
    const used = new Promise<Result>((resolve) => resolve(use(generator)))
    this.served(generator)
    return used
  }

  /** What was asked of a generator has begun: it rests if there are many. */
  served(generator: OpenGenerator): void {
    if (this.#isCrowded && !this.#stopped && this.#deps.restAfterMs !== undefined)
      this.rest(this.#names.entryNamed(generator.name), generator)
  }

  /** Puts the generator of an entry to rest, if it can. */
  rest(entry: number, generator: OpenGenerator): void {
    const { name } = generator
    const shared = generator.sharedAtRest
    if (shared === undefined || generator.counter !== generatorKey(name)) return
    const number = this.#share(shared)
    if (number === undefined) return
    const row = generator.rest(this.#state)
    if (row === emptyRow) return this.#release(number)
    this.#state.shared = number
    this.#rows.write(row, this.#state)
    this.#names.rest(entry)
  }

  /** See `Waker`. Of one that has issued nothing yet the row is empty, because a row that has ids tells the one before them. */
  extend(entry: number): boolean {
    this.#rows.look(entry, this.#nowSeconds())
    const state = this.#rows.read(entry, this.#state)
    const { gate, plan } = this.#sharedOf(entry)
    if (state.issued === 0 || !gate.isOpen) return false
    const before = this.#names.runs.count(entry)
    this.#rows.fill(entry, state, plan.definition.increment!, 0)
    this.#refills.add(entry)
    return this.#names.runs.count(entry) > before
  }

  /** What is shown of the generator of an entry, which is not woken. Undefined: it is not at rest here. */
  shown(entry: number): GeneratorInUse | undefined {
    if (!this.#names.isAtRest(entry)) return undefined
    const { mode, plan } = this.#sharedOf(entry)
    const { definition } = plan
    const name = this.#names.nameOf(entry)
    const here = () => this.#names.entryNamed(name)
    const awake = () => this.#names.awakeAt(here())
    const stats = () => this.seenAt(here())?.stats ?? awake()?.stats() ?? idleStats
    const lastIssued = () => {
      const seen = this.seenAt(here())
      return seen === undefined ? awake()?.lastIssued() : seen.lastIssued
    }
    return { name, mode, definition, kind: definition.kind, stats, lastIssued }
  }

  /** The generator of an entry in this moment. Undefined: it is not at rest. */
  seenAt(entry: number): Seen | undefined {
    if (!this.#names.isAtRest(entry)) return undefined
    const { mode, plan, floor } = this.#sharedOf(entry)
    const { definition } = plan
    const nowUs = this.#deps.clock.monoUs()
    const state = this.#rows.read(entry, this.#state)
    this.#rows.lookAtRate(entry, state, nowUs)
    const stats = statsAtRest(state, definition.increment!, nowUs)
    const newest = BigInt(state.next - definition.increment!)
    return { mode, definition, stats, lastIssued: newest < floor ? undefined : newest }
  }

  /** The version of the record of a generator, at rest or not. Undefined: it is not open. */
  versionOf(name: string): bigint | undefined {
    const entry = this.#names.entryNamed(name)
    if (!this.#names.isAtRest(entry)) return this.#names.awakeAt(entry)?.version
    return this.#rows.read(entry, this.#state).recordVersion
  }

  /** Whether the right of the generator of an entry has ended. */
  isOver(entry: number): boolean {
    if (!this.#names.isAtRest(entry)) return this.#names.awakeAt(entry)?.isOver === true
    return this.#sharedOf(entry).gate.ended !== undefined
  }

  /** See `OpenGenerator`. False: it does not, or is not at rest. */
  keepsIds(entry: number): boolean {
    return this.#names.isAtRest(entry) && this.#sharedOf(entry).plan.definition.step !== 0
  }

  /** Whether the generator of an entry is at rest, and was not used for a time, or holds much more than is used. */
  isIdle(entry: number, idleAfterUs: number): boolean {
    if (!this.#names.isAtRest(entry)) return false
    const nowUs = this.#deps.clock.monoUs()
    this.#rows.look(entry, this.#nowSeconds())
    const state = this.#rows.read(entry, this.#state)
    const { step, increment, horizon } = this.#sharedOf(entry).plan.definition
    const isSpare = step === 0 && holdsSpareAtRest(state, increment!, horizon! * 1000, nowUs)
    return isSpare || nowUs - state.usedSeconds * 1_000_000 >= idleAfterUs
  }

  /** For a stop: gives back what those at rest hold, the most valuable first. Resolves to those for which there was no time. */
  giveBackAll(reason: Error): Promise<HeldAtRest[]> {
    const held = valuableFirst(this.#held())
    // A store keeps counters in the order of their names: those that are neighbours are written together.
    const named = held
      .splice(0, reachedMax)
      .map((each) => ({ ...each, name: this.#names.nameOf(each.entry) }))
    named.sort((a, b) => (a.name < b.name ? -1 : 1))
    // Looked up once: the engine of a node is a proxy, which makes a new function at each look-up.
    const engine = { release: this.#deps.engine.release.bind(this.#deps.engine) }
    const giveBack = (each: HeldAtRest) => this.#giveBack(each, engine, reason)
    return closeInTime([...named, ...held], this.#deps.clock, giveBack, givingBack)
  }

  *#held(): IterableIterator<HeldAtRest> {
    for (const entry of this.#names.entries()) {
      if (!this.#names.isAtRest(entry)) continue
      const { gate, plan } = this.#sharedOf(entry)
      const buffered = leftAtRest(this.#rows.read(entry, this.#state), plan.definition.increment!)
      if ((buffered > 0 || this.#refills.has(entry)) && !gate.isDropped) yield { entry, buffered }
    }
  }

  /** See `RefilledAtRest`. */
  refill(entry: number): Promise<Reservation> | 'awake' | undefined {
    const shared = this.#sharedOf(entry)
    const { plan, gate, advances } = shared
    if (gate.ended !== undefined) return undefined
    if (this.#deps.engine.advances !== advances) return 'awake'
    this.#rows.look(entry, this.#nowSeconds())
    const state = this.#rows.read(entry, this.#state)
    const request = plan.issuers.refillAtRest(state, shared)
    if (request === 'awake') return 'awake'
    this.#rows.fill(entry, state, plan.definition.increment!, request === undefined ? state.lowMark : 0)
    if (request === undefined) return undefined
    const name = this.#names.nameOf(entry)
    return plan.issuers.reserveAtRest(name, generatorKey(name), request)
  }

  /** See `RefilledAtRest`. */
  refilled(entry: number, range: Reservation, seconds: number): boolean {
    const { plan, gate, advances } = this.#sharedOf(entry)
    // What was reserved is a gap: a copy of this memory may issue it.
    if (gate.isDropped) return true
    const { increment, offset } = plan.definition
    this.#rows.look(entry, this.#nowSeconds())
    const state = this.#rows.read(entry, this.#state)
    const isNext = Number(range.start) === state.bound
    const isOneRun = isNext || leftAtRest(state, increment!) === 0
    if (this.#deps.engine.advances !== advances || !isOneRun) return false
    if (!ReservedCounter.followAtRest(state, range)) return false
    if (!isNext) state.next = Number(firstFrom(range.start, increment!, offset!))
    state.refills++
    state.refillSeconds += seconds
    this.#rows.fill(entry, state, increment!, state.lowMark)
    return true
  }

  /** See `RefilledAtRest`. */
  wakeUp(entry: number): void {
    this.#names.ownAt(entry)
  }

  /** Gives back what the generator of an entry holds, whose gate has ended; it remains at rest. */
  async #giveBack({ entry }: HeldAtRest, engine: Pick<Engine, 'release'>, reason: Error): Promise<void> {
    await this.#refills.idle(entry)
    // An object that was woken meanwhile has its row, and gives back what that holds.
    if (!this.#names.isAtRest(entry)) return this.#names.awakeAt(entry)?.close(reason)
    const { gate, incarnation } = this.#sharedOf(entry)
    this.#deps.copies?.check()
    if (gate.isDropped) return
    const of = { counter: generatorKey(this.#names.nameOf(entry)), incarnation }
    await ReservedCounter.releaseAtRest(engine, of, this.#rows.read(entry, this.#state))
  }

  #sharedOf(row: number): SharedAtRest {
    return this.#shared[this.#rows.sharedOf(row)]!
  }

  #nowSeconds(): number {
    return Math.floor(this.#deps.clock.monoUs() / 1_000_000)
  }

  #lookLater(): void {
    const { clock, restAfterMs } = this.#deps
    if (this.#stopped || restAfterMs === undefined) return
    this.#timer = clock.timer(restAfterMs, () => void this.#look(clock))
  }

  /** Whether more generators are awake than may stay so: their objects cost more than to rest and to wake does. */
  get #isCrowded(): boolean {
    return this.#names.awakeCount > awakeMax
  }

  async #look(clock: Clock): Promise<void> {
    let looked = 0
    this.#looks++
    for (let entry = 1; entry < this.#names.end && !this.#stopped; entry++) {
      const generator = this.#names.awakeAt(entry)
      if (generator === undefined) this.#refillIfBusy(entry)
      // To look at a family reads the rows of all its names, and it never rests.
      else if (!generator.definition.family && (!generator.noteUse(clock.monoUs()) || this.#isCrowded))
        this.rest(entry, generator)
      looked += generator === undefined ? lookedAtTogether / placesTogether : 1
      if (looked < lookedAtTogether) continue
      looked = 0
      await nextTurn()
    }
    this.#lookLater()
  }

  /** Has a generator refilled whose ids would not last the horizon, since more are taken from its row than before (P6). */
  #refillIfBusy(entry: number): void {
    if ((entry + this.#looks) % rowLooks !== 0 || !this.#names.isAtRest(entry)) return
    const taken = this.#rows.look(entry, this.#nowSeconds())
    if (taken === 0) return
    const { step, increment, horizon } = this.#sharedOf(entry).plan.definition
    const lookMs = rowLooks * this.#deps.restAfterMs!
    const wanted = (taken * horizon!) / lookMs / (step === 0 ? 2 : 1)
    if (leftAtRest(this.#rows.read(entry, this.#state), increment!) < wanted) this.#refills.add(entry)
  }

  /** The number of what a generator shares; undefined: there are too many. */
  #share(wanted: SharedAtRest): number | undefined {
    const { plan, gate, mode, incarnation, floor, advances } = wanted
    const key = `${this.#numberOf(plan)} ${this.#numberOf(gate)} ${mode} ${incarnation} ${floor} ${advances}`
    const number = this.#byKey.get(key)
    if (number !== undefined) {
      this.#shared[number]!.uses++
      return number
    }
    const free = this.#freeShared.pop() ?? this.#shared.length
    if (free === sharedMax) return undefined
    this.#shared[free] = { ...wanted, key, uses: 1 }
    this.#byKey.set(key, free)
    return free
  }

  #numberOf(part: object): number {
    const known = this.#numbers.get(part)
    if (known !== undefined) return known
    this.#numbers.set(part, ++this.#newestNumber)
    return this.#newestNumber
  }

  #release(number: number): void {
    const shared = this.#shared[number]!
    if (--shared.uses > 0) return
    this.#shared[number] = undefined
    this.#freeShared.push(number)
    this.#byKey.delete(shared.key)
  }
}
