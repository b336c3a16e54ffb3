/**
 * Counters: optimistic transactions on the value that this process saw last.
 *
 * Invariants
 *  1. One transaction of a counter is under way at a time in this process. What is asked meanwhile goes together
 *     into the next one, with what is asked of other counters; a counter for which others compete goes alone.
 *  2. What a call is answered follows from the very value that its transaction compared, refusals included.
 *  3. A call settles by its own deadline, whatever becomes of the transaction that it is in: as UNAVAILABLE if that
 *     has not left, as UNKNOWN if it has.
 *  4. Who loses against another process tries again at once; who wins lets the others go first for a moment. The
 *     other way round, a process that wins once would go on to win.
 *  5. No range that this process is given starts below what it holds: what it was given or has adopted, and has neither
 *     given back nor left. What is seen of a counter is from after its latest adoption, or nothing is.
 *  6. A revision is compared in the era only in which it was seen: in a restored etcd, another value may have it.
 */
import { type Clock, sleep, systemRandom, type Timer } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { max63 } from '../../ids/limits.ts'
import { lossOf, type ReleaseRequest, release, reserve, type Step } from '../counter.ts'
import type { Counter, Reservation, ReserveRequest } from '../engine.ts'
import { unchanged } from './api.ts'
import { encodeCounter } from './counter-value.ts'
import type { CallContext } from './members.ts'
import { isLater, type Seen, seenAs, unseen } from './seen.ts'
import { present } from './state.ts'
import type { Change, Store } from './store.ts'
import type { Transactions } from './transactions.ts'

type Answer = Reservation | boolean

type PendingStep = {
  readonly step: (counter: Counter) => Step<Answer>
  /** What a release gives back, and under which version: this process holds it no more, unless that is refused. */
  readonly givesBack: ReleaseRequest | undefined
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
  readonly deadlineUs: number
  open: boolean
  /** The transaction that it is in. */
  call: CallContext | undefined
  timer: Timer | undefined
}

/** What this process knows of a counter. */
type CounterQueue = {
  readonly name: string
  readonly key: Buffer
  readonly waiting: PendingStep[]
  /** What was asked for last. */
  newest: Promise<unknown>
  running: boolean
  seen: Seen
  /** When this process last lost against another one. */
  lostUs: number
  /** The end of what this process holds, and in which era. */
  held: bigint
  era: bigint
  /** How often something was adopted. */
  adoptions: number
}

/** Steps of one transaction; more wait for the next. */
const batchMax = 500
/** For how long after a loss others are taken to be reserving as well. */
const contendedUs = 1_000_000
/** A counter on which as many have been faster is left alone for a moment: they are many, and etcd is busy. */
const patience = 30
const pauseMaxMs = 50
/** So many that were read are remembered for the reserve that mostly follows. */
const cachedReadsMax = 1000
/** As often a counter goes along with one that has changed; then it goes alone. */
const companyMax = 3
/** See the invariants at the top of the file. */
export class Counters {
  readonly #store: Store
  readonly #transactions: Transactions
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #queues = new Map<string, CounterQueue>()
  /** Counters that were read and not reserved from. */
  readonly #cachedReads = new Map<string, Seen>()

  constructor(store: Store, transactions: Transactions, clock: Clock, timeoutMs: number) {
    this.#store = store
    this.#transactions = transactions
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** See `Engine.reserve`. */
  reserve(name: string, request: ReserveRequest): Promise<Reservation> {
    const step = (counter: Counter) => reserve(name, counter, request)
    return this.#ask(name, step, undefined) as Promise<Reservation>
  }

  /** See `Engine.release`. */
  release(name: string, request: ReleaseRequest): Promise<boolean> {
    return this.#ask(name, (counter) => release(counter, request), request) as Promise<boolean>
  }

  /** See `Engine.transfer`. */
  transfer(name: string, from: bigint): void {
    const queue = this.#queues.get(name)
    if (queue !== undefined && from < queue.held) queue.held = from
  }

  /** See `Engine.acquire`. What was seen of the counter may be older than what is held of it now. */
  acquire(name: string, end: bigint): void {
    const queue = this.#queue(name)
    if (end <= queue.held) return
    queue.held = end
    queue.era = present(this.#store.history.known.state).id
    queue.seen = unseen
    queue.adoptions++
  }

  /** See `Engine.counter`. */
  async read(name: string): Promise<Counter> {
    const call = this.#store.newCall(false)
    // What this process has asked for before comes first.
    await this.#queues.get(name)?.newest.catch(() => {})
    const adoptions = this.#queues.get(name)?.adoptions ?? 0
    const { state, kv } = await this.#transactions.read(this.#store.keys.counter(name), call)
    const seen = seenAs(name, kv, state)
    if (kv !== undefined && adoptions === (this.#queues.get(name)?.adoptions ?? 0))
      this.#cacheRead(name, seen)
    return seen.counter
  }

  /** What this process was given of each counter: no bound may be below it. */
  held(): Map<string, bigint> {
    return new Map(
      [...this.#queues].filter(([, { held }]) => held > 0n).map(([name, { held }]) => [name, held]),
    )
  }

  #ask(name: string, step: PendingStep['step'], givesBack: ReleaseRequest | undefined): Promise<Answer> {
    const queue = this.#queue(name)
    const asked = new Promise<Answer>((resolve, reject) => {
      const deadlineUs = this.#clock.monoUs() + this.#timeoutMs * 1000
      const waiting: PendingStep = {
        step,
        givesBack,
        resolve,
        reject,
        deadlineUs,
        open: true,
        call: undefined,
        timer: undefined,
      }
      waiting.timer = this.#clock.timer(this.#timeoutMs, () => this.#expire(queue, waiting))
      queue.waiting.push(waiting)
      if (!queue.running) {
        queue.running = true
        // What the same turn of the event loop asks for goes along.
        queueMicrotask(() => this.#run(queue))
      }
    })
    queue.newest = asked
    return asked
  }

  /** A read has shown what the next transaction had best compare: so the first reserve of a new leader is one. */
  #cacheRead(name: string, seen: Seen): void {
    const queue = this.#queues.get(name)
    if (queue === undefined) {
      if (this.#cachedReads.size >= cachedReadsMax) this.#cachedReads.clear()
      this.#cachedReads.set(name, seen)
    } else if (!queue.running && isLater(seen, queue.seen)) {
      queue.seen = seen
    }
  }

  #queue(name: string): CounterQueue {
    let queue = this.#queues.get(name)
    if (queue === undefined) {
      const key = this.#store.keys.counter(name)
      const seen = this.#cachedReads.get(name) ?? unseen
      this.#cachedReads.delete(name)
      queue = {
        name,
        key,
        waiting: [],
        newest: Promise.resolve(),
        running: false,
        seen,
        lostUs: Number.NEGATIVE_INFINITY,
        held: 0n,
        era: 0n,
        adoptions: 0,
      }
      this.#queues.set(name, queue)
    }
    return queue
  }

  /** One transaction after the other, until nobody waits. */
  async #run(queue: CounterQueue): Promise<void> {
    while (queue.waiting.length > 0) {
      const batch = queue.waiting.splice(0, batchMax)
      const deadlineUs = Math.max(...batch.map((each) => each.deadlineUs))
      const call: CallContext = { deadlineUs, writes: true, sent: false }
      for (const waiting of batch) waiting.call = call
      const { adoptions } = queue
      try {
        const roundUs = await this.#carryOut(queue, batch, call)
        if (this.#clock.monoUs() - queue.lostUs < contendedUs)
          await sleep(this.#clock, Math.min(pauseMaxMs, (systemRandom() * 2 * roundUs) / 1000))
      } catch (error) {
        for (const waiting of batch) {
          if (queue.adoptions === adoptions) this.#dropHeld(queue, waiting.givesBack)
          this.#settle(waiting, error)
        }
      }
    }
    queue.running = false
  }

  /** Resolves to how long the round trip took that succeeded, in µs. */
  async #carryOut(queue: CounterQueue, batch: readonly PendingStep[], call: CallContext): Promise<number> {
    for (let tries = 1; ; tries++) {
      const sentUs = this.#clock.monoUs()
      let outcome: Plan | undefined
      const { adoptions } = queue
      const plan = () => {
        outcome = this.#plan(queue, batch)
        return outcome.open.length > 0 ? outcome.change : undefined
      }
      const alone = tries > companyMax || sentUs - queue.lostUs < contendedUs
      const committed = await this.#transactions.commit(plan, call, alone)
      const nowUs = this.#clock.monoUs()
      const isOld = queue.adoptions !== adoptions
      if (committed?.done) {
        this.#carriedOut(queue, batch, outcome!, committed.revision, isOld)
        return nowUs - sentUs
      }
      // Nobody waits any more.
      if (committed === undefined) return 0
      const [found] = committed.found
      queue.seen = isOld ? unseen : seenAs(queue.name, found!.kvs[0], committed.state)
      // No contention: an attempt without a cached revision, or one that failed with another of its transaction.
      const { revision, era } = outcome!
      if (revision > 0n && (queue.seen.revision !== revision || queue.seen.era !== era)) queue.lostUs = nowUs
      if (nowUs >= call.deadlineUs) {
        const message = `others kept reserving from counter '${queue.name}'; retry`
        throw new FahaoError('UNAVAILABLE', message)
      }
      if (tries % patience === 0) await sleep(this.#clock, systemRandom() * pauseMaxMs)
    }
  }

  /** What the batch makes of the counter, as far as it is known. */
  #plan(queue: CounterQueue, batch: readonly PendingStep[]): Plan {
    const era = present(this.#store.history.known.state).id
    const seen = queue.seen.era === era ? queue.seen : unseen
    const { revision } = seen
    let { counter } = seen
    // What is held was adopted: nobody may take the at of a counter that is not there.
    const isLook = queue.seen === unseen && queue.held > 0n && era === queue.era
    if (counter.bound < queue.held) {
      // Bounds have been raised since then, perhaps by less than this process knows of; or it has not looked again.
      if (isLook || seen !== queue.seen || era !== queue.era) counter = { ...counter, bound: queue.held }
      else this.#forgotten(queue)
    }
    const answers: (Answer | FahaoError)[] = []
    const open = batch.filter((waiting) => waiting.open)
    for (const waiting of open) {
      const taken = waiting.step(counter)
      counter = taken.counter
      answers.push(taken.answer)
    }
    const change: Change = {
      // No key has the revision max63: the transaction reads and changes nothing.
      compare: [unchanged(queue.key, isLook ? max63 : revision)],
      writes: answers.some(changes) ? [{ put: { key: queue.key, value: encodeCounter(counter) } }] : [],
      otherwise: [{ key: queue.key }],
    }
    return { change, revision, counter, answers, open, era }
  }

  /** @param isOld whether something was adopted meanwhile. */
  #carriedOut(
    queue: CounterQueue,
    batch: readonly PendingStep[],
    plan: Plan,
    revision: bigint,
    isOld: boolean,
  ): void {
    const wrote = plan.change.writes.length > 0
    if (isOld) queue.seen = unseen
    else if (wrote) queue.seen = { counter: plan.counter, revision, era: plan.era }
    plan.open.forEach((waiting, index) => {
      const answer = plan.answers[index]!
      // Who was given nothing holds nothing.
      if (typeof answer === 'object' && 'end' in answer && answer.end > answer.start) {
        if (!isOld || answer.end > queue.held) Object.assign(queue, { held: answer.end, era: plan.era })
      } else if (answer === true && !isOld) queue.held = waiting.givesBack!.from
      this.#settle(waiting, answer)
    })
    for (const waiting of batch) waiting.call = undefined
  }

  /** A release may have been carried out, unless somebody has been at the counter since, as far as is known. */
  #dropHeld(queue: CounterQueue, givesBack: ReleaseRequest | undefined): void {
    if (givesBack === undefined || givesBack.version < queue.seen.counter.version) return
    if (givesBack.from < queue.held) queue.held = givesBack.from
  }

  #forgotten(queue: CounterQueue): void {
    const { bound } = queue.seen.counter
    this.#store.doubt(lossOf(queue.name, bound, queue.held))
  }

  #expire(queue: CounterQueue, waiting: PendingStep): void {
    const at = queue.waiting.indexOf(waiting)
    if (at >= 0) queue.waiting.splice(at, 1)
    const isSent = waiting.call?.sent === true
    const hindrance = isSent ? 'it does not answer' : this.#store.hindrance
    const message = `etcd confirmed nothing within ${this.#timeoutMs} ms (${hindrance}); look at the cluster`
    this.#settle(waiting, new FahaoError(isSent ? 'UNKNOWN' : 'UNAVAILABLE', message))
  }

  #settle(waiting: PendingStep, answer: Answer | unknown): void {
    if (!waiting.open) return
    waiting.open = false
    waiting.timer?.cancel()
    if (answer instanceof Error) waiting.reject(answer)
    else waiting.resolve(answer as Answer)
  }
}

type Plan = {
  readonly change: Change
  /** Which it compares. */
  readonly revision: bigint
  readonly counter: Counter
  readonly answers: readonly (Answer | FahaoError)[]
  readonly open: readonly PendingStep[]
  readonly era: bigint
}

function changes(answer: Answer | FahaoError): boolean {
  return answer !== false && !(answer instanceof FahaoError)
}
