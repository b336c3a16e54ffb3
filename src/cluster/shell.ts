/**
 * The shell around the core of a cluster: it turns answers of the engine, changes of records and time into events, and
 * performs the effects that the core returns, in that order. `step` and `#perform` show the order; the methods below
 * perform each effect.
 *
 * Invariants
 *  1. The effects of a step are performed before anything else runs. An event that a listener causes meanwhile (by a check of
 *     the lease, for example) is a nested step.
 *  2. The moment that an event carries was read before its effects are performed: a renewal counts from before it is sent,
 *     a list from before it is requested.
 *  3. Every call of the engine is answered after `renewMs`, by UNKNOWN if need be; a later answer is ignored.
 *  4. After `end` the core receives no event.
 */
import { type Clock, sleep, type Timer } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Engine, Watch } from '../engine/engine.ts'
import { listAll } from '../engine/pages.ts'
import type { ClusterCore } from './core.ts'
import type { Answer, Call, ClusterEvent, Effect, Event, LeaderTerm } from './events.ts'
import { clusterPrefix, type LeftoverRange, type NodeRecord, readRecord, shardKey } from './records.ts'
import type { Moment } from './timing.ts'

/** Callbacks for changes of this node's leaderships: synchronous unless they say otherwise; they must not throw. */
export type ClusterListener = {
  /** This node leads the shard from now on, and may continue `term.leftovers`, or forget them. */
  readonly onWon?: (term: LeaderTerm) => void
  /**
   * The shard is being handed over: stop issuing before returning. Add to `leftovers` the ranges that the
   * successor may continue; it is undefined if there is no successor. Resolve when that is done and all other releases have been sent to the
   * engine. `releaseMs` limits the time; ranges that are not released by then are lost.
   */
  readonly onLosing?: (
    term: LeaderTerm,
    leftovers: LeftoverRange[] | undefined,
    releaseMs: number,
  ) => Promise<void>
  /** Another node leads the shard, without a hand-over: discard buffered ids; they cannot be released. */
  readonly onLost?: (term: LeaderTerm) => void
  /** Nothing may be issued until `onResume`; after it, buffered ids are valid again. */
  readonly onLapse?: () => void
  readonly onResume?: () => void
  /** The node has been declared dead: replies that still come from it are out of date. May be called more than once. */
  readonly onDead?: (node: NodeRecord) => void
}

/** Feeds the core with events, and performs its effects. One per process. */
export class Shell {
  readonly core: ClusterCore
  readonly clock: Clock
  readonly listeners = new Set<ClusterListener>()
  /** This process is about to end: every wait ends at once. */
  isEnding = false
  readonly #engine: Engine
  readonly #onEvent: (event: ClusterEvent) => void
  readonly #ending = Promise.withResolvers<void>()
  #isOver = false
  /** Calls of the engine that have not been answered. */
  readonly #calls = new Set<Promise<void>>()
  /** Waits for a state of the core, and for a change of a shard's leader. */
  readonly #waits = new Set<() => void>()
  readonly #lookups: readonly Set<() => void>[]
  #watch: Watch | undefined
  #isWatching = false
  #timer: Timer | undefined
  /** When the planned tick is due, in monotonic µs; NaN: none is planned. */
  #tickUs = Number.NaN

  constructor(engine: Engine, clock: Clock, core: ClusterCore, onEvent: (event: ClusterEvent) => void) {
    this.#engine = engine
    this.clock = clock
    this.core = core
    this.#onEvent = onEvent
    this.#lookups = Array.from({ length: core.state.shards }, () => new Set())
  }

  /** The only way into the core. */
  step(event: Event): void {
    if (this.#isOver) return
    for (const effect of this.core.step(event, this.now())) this.#perform(effect)
    for (const look of this.#waits) look()
    this.#planTick()
  }

  #perform(effect: Effect): void {
    switch (effect.do) {
      case 'onWon':
      case 'onLost':
        for (const listener of this.listeners) listener[effect.do]?.(effect.term)
        break
      case 'onLapse':
      case 'onResume':
        for (const listener of this.listeners) listener[effect.do]?.()
        break
      case 'onDead':
        for (const listener of this.listeners) listener.onDead?.(effect.node)
        break
      case 'release':
        void this.#release(effect)
        break
      case 'wake':
        this.#wake(effect.shard)
        break
      case 'report':
        this.#onEvent(effect.event)
        break
      default:
        this.#call(effect)
    }
  }

  /** See `Cluster.check`. */
  check(): boolean {
    const { lease } = this.core.state
    if (lease.isValid(this.clock.monoUs(), this.clock.wallUs())) return true
    if (lease.isHeld) this.step({ type: 'tick' })
    return false
  }

  /** Both clocks, now. */
  now(): Moment {
    return { monoUs: this.clock.monoUs(), wallUs: this.clock.wallUs() }
  }

  /** The answer of the engine, or UNKNOWN after `renewMs`. */
  answer<Value>(promise: Promise<Value>): Promise<Value> {
    return withTimeout(this.clock, this.core.state.timing.renewMs, promise)
  }

  /** Reads the record of a shard; the view holds it when this resolves. Rejects as the engine does. */
  async read(shard: number): Promise<void> {
    const key = shardKey(shard)
    const record = await this.answer(this.#engine.read(key))
    if (record !== undefined) this.step({ type: 'changed', change: { key, record } })
  }

  /** Resolves when the core's state meets a condition, or this process is about to end. */
  until(isMet: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!isMet() && !this.isEnding) return
        this.#waits.delete(look)
        resolve()
      }
      this.#waits.add(look)
      look()
    })
  }

  /** Resolves when the shard's leader may have changed, or after `waitMs`. */
  leaderChange(shard: number, waitMs: number): Promise<void> {
    const lookups = this.#lookups[shard]!
    return new Promise((resolve) => {
      const wake = () => {
        timer.cancel()
        lookups.delete(wake)
        resolve()
      }
      const timer = this.clock.timer(waitMs, wake)
      lookups.add(wake)
    })
  }

  /** Resolves after `delayMs`, or when this process is about to end. */
  pause(delayMs: number): Promise<void> {
    return Promise.race([sleep(this.clock, delayMs), this.#ending.promise])
  }

  /** Ends the lease and every wait. Resolves when no call of the engine is under way. */
  async leave(): Promise<void> {
    this.isEnding = true
    this.#ending.resolve()
    this.step({ type: 'leave' })
    await Promise.all(this.#calls)
  }

  /** Ends everything. */
  async end(): Promise<void> {
    this.#isOver = true
    this.#timer?.cancel()
    this.#watch?.close()
    await Promise.all(this.#calls)
  }

  /** Plans the tick for the moment that the core names. A tick that is due now runs after the events of this turn. */
  #planTick(): void {
    const { nextUs } = this.core
    if (nextUs === this.#tickUs) return
    this.#timer?.cancel()
    this.#tickUs = nextUs
    const tick = () => {
      this.#tickUs = Number.NaN
      this.step({ type: 'tick' })
    }
    const leftMs = (nextUs - this.clock.monoUs()) / 1000
    if (leftMs <= 0) queueMicrotask(tick)
    else if (nextUs < Number.POSITIVE_INFINITY) this.#timer = this.clock.timer(Math.ceil(leftMs), tick)
  }

  #call(call: Call): void {
    const answered = this.answer(this.#request(call))
      .catch((error: unknown): Answer => ({ error }))
      .then((answer) => {
        this.#calls.delete(answered)
        this.step({ type: 'answered', call, answer })
      })
    this.#calls.add(answered)
  }

  async #request(call: Call): Promise<Answer> {
    switch (call.do) {
      case 'list':
        this.#watchIfNot()
        return { records: await listAll(this.#engine, clusterPrefix) }
      case 'read': {
        const stored = await this.#engine.read(call.key)
        // A record that cannot be read is an answer that failed.
        if (stored !== undefined) readRecord(stored)
        return { stored }
      }
      case 'write':
        return { stored: await this.#engine.write(call.key, call.value, call.expected) }
      case 'remove':
        await this.#engine.remove(call.key, call.expected)
        return {}
    }
  }

  /** Lists alone suffice, so nothing waits for the watch. If it cannot begin, the next list tries again. */
  #watchIfNot(): void {
    if (this.#isWatching) return
    this.#isWatching = true
    this.#engine
      .watch(clusterPrefix, (change) => this.step({ type: 'changed', change }))
      .then((watch) => {
        this.#watch = watch
        if (this.#isOver) watch.close()
      })
      .catch(() => {
        this.#isWatching = false
      })
  }

  async #release({ change, term, hasSuccessor }: Effect & { do: 'release' }): Promise<void> {
    const { releaseMs } = this.core.state.timing
    const leftovers: LeftoverRange[] = []
    const releases = [...this.listeners].map(async ({ onLosing }) =>
      onLosing?.(term, hasSuccessor ? leftovers : undefined, releaseMs),
    )
    const error = await withTimeout(this.clock, releaseMs, Promise.all(releases)).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    // A copy: leftover ranges that a listener adds later reach no successor.
    this.step({ type: 'released', change, leftovers: [...leftovers], error })
  }

  #wake(shard: number | undefined): void {
    const woken = shard === undefined ? this.#lookups : [this.#lookups[shard]!]
    for (const lookups of woken) for (const wake of [...lookups]) wake()
  }
}

/** The promise, or UNKNOWN when it has not settled after `waitMs`: the call may still be carried out. */
export function withTimeout<Value>(clock: Clock, waitMs: number, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = clock.timer(waitMs, () => {
      reject(new FahaoError('UNKNOWN', `the engine has not answered within ${Math.round(waitMs)} ms`))
    })
    promise.then(resolve, reject).finally(() => timer.cancel())
  })
}
