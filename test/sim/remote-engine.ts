/**
 * The engine as one machine reaches it: over a network that delays, loses and cuts, to a store that may forget.
 *
 * Invariants
 *  1. A write whose answer is lost rejects with UNKNOWN, and is carried out once at most; all else rejects with UNAVAILABLE.
 *  2. Every write carries what this machine knows of the store; one that the store has forgotten rejects with REGRESSED.
 *  3. Every reserve begins at or above what this machine holds.
 */
import { FahaoError } from '../../src/base/errors.ts'
import type {
  Commit,
  Committed,
  Counter,
  Engine,
  EngineStatus,
  LookedUp,
  LookUp,
  RecordChange,
  Reservation,
  ReserveRequest,
  StoredRecord,
  StoreOwnership,
  Watch,
} from '../../src/engine/engine.ts'
import type { EngineOptions } from '../../src/engine/engine-options.ts'
import { touch } from '../invariants.ts'
import type { Machine } from './machine.ts'
import type { Seen, SharedStore } from './store.ts'
import type { World } from './world.ts'

/** The way between a machine and the engine; changed as the simulation goes on. */
export type Link = {
  /** Nothing comes through. */
  cut: boolean
  /** Of each way, in ms. */
  delayMinMs: number
  delayMaxMs: number
  /** What answers and news take longer than that, in ms. */
  answerMs: number
  /** What news alone take longer at most, in ms. */
  newsMs: number
  /** Probabilities that a call gets lost, that its answer does, and that it is carried out after it was given up. */
  loseRequest: number
  loseReply: number
  late: number
}

/** Told of what a machine's engine learns. */
export type RemoteHooks = Partial<Pick<EngineOptions, 'onRegressed' | 'onAdvanced'>> & {
  /** A reserve was answered. */
  readonly onReserved?: (counter: string, fence: bigint) => void
  /** A write of a record was answered, whether or not it was carried out; `pauses` of the machine came before it was sent. */
  readonly onWritten?: (key: string, pauses: number) => void
}

/** What a machine's engine takes from the simulation. */
export type RemoteOptions = RemoteHooks & {
  readonly world: World
  readonly machine: Machine
  readonly store: SharedStore
  readonly link: Link
  /** Sees every write that the engine carries out, in its order. */
  readonly witness: Witness
  readonly ownership: StoreOwnership['state']
  /** See `Engine.watchDelayMs`. */
  readonly newsWithinMs: number
  /** How often it looks whether the store has gone back, in ms; undefined: only when it writes. */
  readonly lookMs?: number | undefined
}

/** Sees a write that the engine has carried out. */
export type Witness = (
  machine: Machine,
  method: 'reserve' | 'write' | 'remove',
  args: readonly unknown[],
) => void

type Method = 'reserve' | 'release' | 'write' | 'remove' | 'lookUp' | 'commit' | 'advance'
type Held = { readonly end: bigint; readonly lineage: number }

const unused: Counter = { bound: 0n, fence: 0n, incarnation: 0n, version: 1n }
const callTimeoutMs = 2000
const forgotten = 'the store has gone back'

export class RemoteEngine implements Engine {
  readonly name = 'remote'
  readonly location = 'remote:'
  readonly lastWriteUs = undefined
  /** Within what time news are here, where nothing is wrong. */
  readonly watchDelayMs: number
  readonly #options: RemoteOptions
  advances = 0
  #known: Seen
  readonly #held = new Map<string, Held>()
  #closed = false

  constructor(options: RemoteOptions) {
    this.#options = options
    this.watchDelayMs = options.newsWithinMs
    const { lineage, writes } = options.store
    this.#known = { lineage, writes }
    if (options.lookMs !== undefined) this.#look(options.lookMs)
  }

  async reserve(counter: string, request: ReserveRequest): Promise<Reservation> {
    const { engine } = this.#options.store
    const above = this.#aboveHeld({ name: counter, request })
    let lineage = 0
    const reservation = await this.#write('reserve', [counter, request], () => {
      lineage = this.#options.store.lineage
      return engine.reserve(counter, above.request)
    })
    if (request.size > 0n) this.#hold(counter, reservation.end, lineage)
    this.#options.onReserved?.(counter, request.fence ?? 0n)
    return reservation
  }

  release(...args: Parameters<Engine['release']>): Promise<boolean> {
    const [counter, { end }, from] = args
    const { store } = this.#options
    const held = this.#held.get(counter)
    const lineage = held?.lineage ?? this.#known.lineage
    if (held?.end === end) this.#held.set(counter, { end: from, lineage })
    return this.#write('release', args, () =>
      store.lineage === lineage ? store.engine.release(...args) : Promise.resolve(false),
    )
  }

  transfer(counter: string, from: bigint): void {
    const held = this.#held.get(counter)
    if (held !== undefined && from < held.end) this.#held.set(counter, { ...held, end: from })
  }

  acquire(counter: string, end: bigint): void {
    const { lineage } = this.#known
    if (end > (this.#held.get(counter)?.end ?? 0n)) this.#held.set(counter, { end, lineage })
  }

  async write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined> {
    const { engine } = this.#options.store
    const { pauses } = this.#options.machine
    const stored = await this.#write('write', [key, value, expected], () =>
      engine.write(key, value, expected),
    )
    this.#options.onWritten?.(key, pauses)
    return stored
  }

  async lookUp(lookUps: readonly LookUp[]): Promise<readonly (LookedUp | FahaoError)[]> {
    const { store, machine, witness } = this.#options
    const { pauses } = machine
    if (lookUps.every(({ first }) => first === undefined))
      return this.#call(false, () => store.engine.lookUp(lookUps))
    let lineage = 0
    const found = await this.#write('lookUp', [lookUps], async () => {
      lineage = store.lineage
      const outcomes = await store.engine.lookUp(lookUps)
      for (const [at, outcome] of outcomes.entries()) {
        if (outcome instanceof FahaoError || !outcome.isNew) continue
        const { key, first } = lookUps[at]!
        witness(machine, 'write', [key, first!.value, undefined])
        if (outcome.reservation !== undefined) witness(machine, 'reserve', [key, first!.reserve])
      }
      return outcomes
    })
    for (const [at, outcome] of found.entries()) {
      const { key, first } = lookUps[at]!
      if (first === undefined) continue
      this.#options.onWritten?.(key, pauses)
      const reserved = outcome instanceof FahaoError ? undefined : outcome.reservation
      if (reserved === undefined) continue
      this.#hold(key, reserved.end, lineage)
      this.#options.onReserved?.(key, first.reserve!.fence ?? 0n)
    }
    return found
  }

  async commit(commit: Commit): Promise<Committed | undefined> {
    const { store, machine, witness } = this.#options
    const { pauses } = machine
    const { records, counter } = commit
    let lineage = 0
    const committed = await this.#write('commit', [commit], async () => {
      lineage = store.lineage
      const done = await store.engine.commit({ records, counter: counter && this.#aboveHeld(counter) })
      if (done === undefined) return undefined
      for (const { key, value, expected } of records) witness(machine, 'write', [key, value, expected])
      if (counter !== undefined) witness(machine, 'reserve', [counter.name, counter.request])
      return done
    })
    for (const { key } of records) this.#options.onWritten?.(key, pauses)
    if (committed === undefined || counter === undefined) return committed
    const { name, request } = counter
    if (request.size > 0n) this.#hold(name, committed.reservation!.end, lineage)
    this.#options.onReserved?.(name, request.fence ?? 0n)
    return committed
  }

  remove(key: string, expected: bigint): Promise<boolean> {
    return this.#write('remove', [key, expected], () => this.#options.store.engine.remove(key, expected))
  }

  counter(name: string): Promise<Counter> {
    return this.#call(false, () => this.#options.store.engine.counter(name))
  }

  read(key: string): Promise<StoredRecord | undefined> {
    return this.#call(false, () => this.#options.store.engine.read(key))
  }

  list(...args: Parameters<Engine['list']>): Promise<StoredRecord[]> {
    return this.#call(false, () => this.#options.store.engine.list(...args))
  }

  async watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    const { world, machine, link, store } = this.#options
    const news: RecordChange[] = []
    let isOpen = false
    const deliver = () => {
      if (link.cut) return world.after(100_000, deliver)
      const change = news.shift()
      if (change !== undefined && isOpen) machine.reach(() => isOpen && listener(change))
    }
    const watch = await this.#call(false, () =>
      store.engine.watch(prefix, (change) => {
        news.push(change)
        const lateMs = link.answerMs + (link.newsMs > 0 ? world.between(0, link.newsMs) : 0)
        world.after(this.#delayUs() + lateMs * 1000, deliver)
      }),
    )
    isOpen = true
    return {
      close: () => {
        isOpen = false
        watch.close()
      },
    }
  }

  async advance(...[gap, repair, options]: Parameters<Engine['advance']>): Promise<number> {
    const { store } = this.#options
    let begun: Seen | undefined
    const raised = await this.#call(true, async () => {
      if (options?.ifRegressed && store.isSound(this.#known)) return 0
      const count = await store.engine.advance(gap, repair)
      // No bound is left below what this machine holds, and the gap.
      for (const [name, { end }] of this.#held) {
        const counter = store.counters.get(name) ?? unused
        if (counter.bound < end + gap) store.counters.set(name, { ...counter, bound: end + gap })
      }
      store.began()
      touch(store)
      begun = { lineage: store.lineage, writes: store.writes }
      return count
    })
    if (begun !== undefined && begun.lineage > this.#known.lineage) {
      this.#known = begun
      this.advances++
    }
    return raised
  }

  ownership(): Promise<StoreOwnership> {
    const state = this.#options.ownership
    return Promise.resolve(state === 'other' ? { state, holder: 'another machine' } : { state })
  }

  status(): EngineStatus {
    return { state: 'up' }
  }

  /** The store is everybody's and stays open. */
  close(): Promise<void> {
    this.#closed = true
    return Promise.resolve()
  }

  /** A reserve that begins at or above what this machine holds. */
  #aboveHeld<Asked extends Pick<NonNullable<Commit['counter']>, 'name' | 'request'>>(asked: Asked): Asked {
    const held = this.#held.get(asked.name)?.end ?? 0n
    const { floor = 0n } = asked.request
    return { ...asked, request: { ...asked.request, floor: held > floor ? held : floor } }
  }

  #hold(counter: string, end: bigint, lineage: number): void {
    const before = this.#held.get(counter)
    if (before === undefined || lineage > before.lineage || end > before.end)
      this.#held.set(counter, { end, lineage })
  }

  async #write<Value>(method: Method, args: readonly unknown[], call: () => Promise<Value>): Promise<Value> {
    const { machine, store, witness } = this.#options
    const known = this.#known
    let now: Seen | undefined
    try {
      const value = await this.#call(true, async () => {
        if (!store.isSound(known)) {
          store.isSuspect = true
          throw new FahaoError('REGRESSED', forgotten)
        }
        const done = await call()
        store.writes++
        touch(store)
        now = { lineage: store.lineage, writes: store.writes }
        const changed = done !== undefined && done !== false
        if (changed && (method === 'reserve' || method === 'write' || method === 'remove'))
          witness(machine, method, args)
        return done
      })
      if (now !== undefined) this.#learn(now)
      return value
    } catch (error) {
      if (!(error instanceof FahaoError) || error.code !== 'REGRESSED') throw error
      if (this.#known.lineage > known.lineage) throw new FahaoError('UNAVAILABLE', 'advanced meanwhile')
      this.#options.onRegressed?.(error.message)
      throw error
    }
  }

  #learn(now: Seen): void {
    const { lineage, writes } = this.#known
    if (now.lineage < lineage || (now.lineage === lineage && now.writes <= writes)) return
    this.#known = now
    if (now.lineage === lineage) return
    this.advances++
    this.#options.onAdvanced?.()
  }

  /** Asks for the state of the store now and then, as engines without pushed watches do. */
  #look(everyMs: number): void {
    const { machine, store } = this.#options
    machine.timer(everyMs, async () => {
      if (this.#closed) return
      const known = this.#known
      try {
        const { isSound, ...now } = await this.#call(false, async () => {
          const { lineage, writes } = store
          return { lineage, writes, isSound: store.isSound(known) }
        })
        if (isSound) this.#learn(now)
        else if (this.#known.lineage === known.lineage) this.#options.onRegressed?.(forgotten)
      } catch {
        // Asked again.
      }
      this.#look(everyMs)
    })
  }

  #call<Value>(changes: boolean, call: () => Promise<Value>): Promise<Value> {
    const { promise, resolve, reject } = Promise.withResolvers<Value>()
    const { world, machine, link } = this.#options
    const answer = (settle: () => void) => machine.reach(settle)
    const giveUp = () => {
      const code = changes ? 'UNKNOWN' : 'UNAVAILABLE'
      answer(() => reject(new FahaoError(code, 'no answer')))
    }
    const fate = this.#fate()
    const tooLateMs = world.chance(0.5) ? callTimeoutMs : world.between(1, 200)
    if (fate !== 'none') world.after(tooLateMs * 1000, giveUp)
    const arrive = () => {
      if (link.cut) return fate === 'none' && world.after(callTimeoutMs * 1000, giveUp)
      call().then(
        (value) => fate === 'none' && this.#back(() => answer(() => resolve(value)), giveUp),
        (error) => fate === 'none' && this.#back(() => answer(() => reject(error)), giveUp),
      )
      return undefined
    }
    if (fate === 'late') world.after((tooLateMs + world.between(0, 4000)) * 1000, arrive)
    else if (fate !== 'lose-request') world.after(this.#delayUs(), arrive)
    return promise
  }

  #back(answer: () => void, giveUp: () => void): void {
    const { world, link } = this.#options
    world.after(this.#delayUs() + link.answerMs * 1000, () => {
      if (link.cut) world.after(callTimeoutMs * 1000, giveUp)
      else answer()
    })
  }

  #fate(): 'none' | 'lose-request' | 'lose-reply' | 'late' {
    const { world, link } = this.#options
    const { loseRequest, loseReply, late } = link
    if (loseRequest + loseReply + late === 0) return 'none'
    const dice = world.random()
    if (dice < loseRequest) return 'lose-request'
    if (dice < loseRequest + loseReply) return 'lose-reply'
    return dice < loseRequest + loseReply + late ? 'late' : 'none'
  }

  #delayUs(): number {
    const { world, link } = this.#options
    return world.between(link.delayMinMs, link.delayMaxMs) * 1000
  }
}
