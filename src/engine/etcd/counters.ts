/**
 * Counters: optimistic transactions on the cached value of each counter.
 *
 * Invariants
 *  1. One transaction of a counter is in flight at a time in this process. Steps that arrive meanwhile share the next one,
 *     with changes of other keys.
 *  2. The answer of a call follows from the very value that its transaction compared, refusals included.
 *  3. A call settles by its own deadline, whatever the outcome of its transaction: as UNAVAILABLE if the transaction was
 *     not sent, as UNKNOWN if it was.
 *  4. After losing against another process, a process retries at once; after winning, it pauses for a moment. The other
 *     way round, a process that wins once would win each time.
 *  5. No reserved range starts below what this process holds: ranges reserved or acquired, and neither released nor
 *     transferred. The cached value of a counter is from after the latest acquisition, or absent.
 *  6. A revision is compared only within the history in which it was read: in a restored etcd, another value may have it.
 */
import { type Clock, sleep, systemRandom } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { max63 } from '../../ids/limits.ts'
import type { Range } from '../../ids/run.ts'
import { lossOf, type ReleaseRequest, release, reserve, type Step } from '../counter-rules.ts'
import { Deadlines } from '../deadlines.ts'
import type { Committed, Counter, Reservation, ReserveRequest } from '../engine.ts'
import { type KeyValue, unchanged } from './api.ts'
import {
  type Along,
  type Answer,
  type CounterQueue,
  changes,
  newQueue,
  type PendingStep,
  type Plan,
} from './counter-queue.ts'
import { encodeCounter, isLater, type Seen, seenAs, unseen } from './counter-value.ts'
import type { CallContext } from './members.ts'
import { present, type State } from './state.ts'
import type { Change, Store } from './store.ts'
import type { Transactions } from './transactions.ts'

/** The maximum number of steps in one transaction; more wait for the next. */
const batchMax = 500
/** The time after a loss during which the counter counts as contended. */
const contendedUs = 1_000_000
/** After this many losses in a row, the process pauses: there are many competitors, and etcd is busy. */
const patience = 30
const pauseMaxMs = 50
/** The maximum number of cached reads, each kept for the reserve that mostly follows. */
const cachedReadsMax = 1000

/** The counters of one store. */
export class Counters {
  readonly #store: Store
  readonly #transactions: Transactions
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #deadlines: Deadlines
  readonly #queues = new Map<string, CounterQueue>()
  /** Counters that were read and not reserved from. */
  readonly #cachedReads = new Map<string, Seen>()

  constructor(store: Store, transactions: Transactions, clock: Clock, timeoutMs: number) {
    this.#store = store
    this.#transactions = transactions
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#deadlines = new Deadlines(clock, timeoutMs)
  }

  /** See `Engine.reserve`. */
  reserve(name: string, request: ReserveRequest): Promise<Reservation> {
    const step = (counter: Counter) => reserve(name, counter, request)
    return this.#ask(name, step) as Promise<Reservation>
  }

  /** See `Engine.commit`. */
  commit(name: string, request: ReserveRequest, along: Along): Promise<Committed | undefined> {
    const step = (counter: Counter): Step<Answer> =>
      counter.version === along.version ? reserve(name, counter, request) : { counter, answer: undefined }
    return this.#ask(name, step, { along }) as Promise<Committed | undefined>
  }

  /** See `Engine.release`. */
  release(name: string, request: ReleaseRequest): Promise<boolean> {
    const step = (counter: Counter) => release(counter, request)
    return this.#ask(name, step, { givesBack: request }) as Promise<boolean>
  }

  /** See `Engine.transfer`. */
  transfer(name: string, from: bigint): void {
    const queue = this.#queues.get(name)
    if (queue === undefined || from >= queue.held) return
    queue.held = from
    this.#drop(queue)
  }

  /** Drops a queue of which nothing is held, and that no step waits in: there may be millions, those of past moments. */
  #drop(queue: CounterQueue): void {
    const { name, held, running, seen } = queue
    if (held > 0n || running || this.#queues.get(name) !== queue) return
    this.#queues.delete(name)
    if (seen !== unseen) this.#cacheRead(name, seen)
  }

  /** See `Engine.acquire`. The cached value may be older than the acquired range, so it is dropped. */
  acquire(name: string, end: bigint): void {
    const queue = this.#queue(name)
    if (end <= queue.held) return
    queue.held = end
    queue.history = present(this.#store.history.known.state).id
    queue.seen = unseen
    queue.adoptions++
  }

  /** See `Engine.counter`. */
  async read(name: string): Promise<Counter> {
    const queue = this.#queues.get(name)
    let call: CallContext | undefined
    if (queue !== undefined) {
      call = this.#store.newCall(false)
      // Earlier steps of this process come first.
      await queue.newest.catch(() => {})
    }
    const adoptions = this.#queues.get(name)?.adoptions ?? 0
    const { state, kv } = await this.#transactions.read(this.#store.keys.counter(name), call)
    const seen = seenAs(name, kv, state)
    if (kv !== undefined && adoptions === (this.#queues.get(name)?.adoptions ?? 0))
      this.#cacheRead(name, seen)
    return seen.counter
  }

  /** Whether this process has reserved from a counter, or acquired a range of it. */
  uses(name: string): boolean {
    return this.#queues.has(name)
  }

  /** A range was reserved from a counter that was never used, and left it as `seen`. */
  begun(name: string, seen: Seen, { start, end }: Range): void {
    // A step that has come meanwhile may have cached an older value.
    if (this.#queues.has(name)) this.acquire(name, end)
    else Object.assign(this.#queue(name), { seen, ...(end > start && { held: end, history: seen.history }) })
  }

  /** A counter as a look-up of its name has read it. */
  found(name: string, kv: KeyValue | undefined, state: State): Counter {
    const seen = seenAs(name, kv, state)
    if (kv !== undefined && !this.#queues.has(name)) this.#cacheRead(name, seen)
    return seen.counter
  }

  /** The end of what this process holds of each counter: no bound may be below it. */
  held(): Map<string, bigint> {
    return new Map(
      [...this.#queues].filter(([, { held }]) => held > 0n).map(([name, { held }]) => [name, held]),
    )
  }

  #ask(
    name: string,
    step: PendingStep['step'],
    { along, givesBack }: Partial<Pick<PendingStep, 'along' | 'givesBack'>> = {},
  ): Promise<Answer | Committed> {
    const queue = this.#queue(name)
    const asked = new Promise<Answer | Committed>((resolve, reject) => {
      const deadlineUs = this.#clock.monoUs() + this.#timeoutMs * 1000
      const waiting: PendingStep = {
        step,
        along,
        givesBack,
        resolve,
        reject,
        deadlineUs,
        open: true,
        call: undefined,
        timer: undefined,
      }
      waiting.timer = this.#deadlines.begin(() => this.#expire(queue, waiting))
      queue.waiting.push(waiting)
      if (!queue.running) {
        queue.running = true
        // The transaction includes the steps of the same turn of the event loop.
        queueMicrotask(() => this.#run(queue))
      }
    })
    queue.newest = asked
    return asked
  }

  /** Caches a read value, so that the first reserve of a new leader takes one transaction. */
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
      const seen = this.#cachedReads.get(name)
      this.#cachedReads.delete(name)
      queue = newQueue(name, key, seen)
      this.#queues.set(name, queue)
    }
    return queue
  }

  /** Runs one transaction after another until no step is pending. */
  async #run(queue: CounterQueue): Promise<void> {
    while (queue.waiting.length > 0) {
      const commit = queue.waiting.findIndex(({ along }) => along !== undefined)
      const batch = queue.waiting.splice(0, commit < 0 ? batchMax : Math.min(batchMax, Math.max(1, commit)))
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
    this.#drop(queue)
  }

  /** Resolves to the duration of the successful round trip, in µs. */
  async #carryOut(queue: CounterQueue, batch: readonly PendingStep[], call: CallContext): Promise<number> {
    for (let tries = 1; ; tries++) {
      const sentUs = this.#clock.monoUs()
      let outcome: Plan | undefined
      const { adoptions } = queue
      const plan = () => {
        outcome = this.#plan(queue, batch)
        return outcome.open.length > 0 ? outcome.change : undefined
      }
      const { along } = batch[0]!
      const change = { name: queue.name, plan, bytes: along?.bytes ?? 0, isAlone: along !== undefined }
      const committed = await this.#transactions.commit(change, call)
      const nowUs = this.#clock.monoUs()
      const isOld = queue.adoptions !== adoptions
      if (committed?.done) {
        this.#carriedOut(queue, batch, outcome!, committed.revision, isOld)
        return nowUs - sentUs
      }
      // Every step has settled.
      if (committed === undefined) return 0
      const [found] = committed.found
      queue.seen = isOld ? unseen : seenAs(queue.name, found!.kvs[0], committed.state)
      // An attempt without a cached revision shows no contention.
      const { revision, history } = outcome!
      const isChanged = queue.seen.revision !== revision || queue.seen.history !== history
      if (revision > 0n && isChanged) queue.lostUs = nowUs
      if (along !== undefined && !isChanged) {
        // The counter is as it was compared: one of the records is not.
        this.#settle(batch[0]!, undefined)
        return 0
      }
      if (nowUs >= call.deadlineUs) {
        const message = `other processes kept reserving from counter '${queue.name}'; retry`
        throw new FahaoError('UNAVAILABLE', message)
      }
      if (tries % patience === 0) await sleep(this.#clock, systemRandom() * pauseMaxMs)
    }
  }

  /** Applies the batch to the cached value of the counter. */
  #plan(queue: CounterQueue, batch: readonly PendingStep[]): Plan {
    const history = present(this.#store.history.known.state).id
    const seen = queue.seen.history === history ? queue.seen : unseen
    const { revision } = seen
    let { counter } = seen
    // An acquired range shows that the counter exists: read it first, and never create it.
    const isRead = queue.seen === unseen && queue.held > 0n && history === queue.history
    if (counter.bound < queue.held) {
      // An advance has raised bounds since, perhaps not above this range; or the counter has not been read again.
      if (isRead || seen !== queue.seen || history !== queue.history)
        counter = { ...counter, bound: queue.held }
      else this.#suspectLoss(queue)
    }
    const answers: (Answer | FahaoError)[] = []
    const open = batch.filter((waiting) => waiting.open)
    for (const waiting of open) {
      const taken = waiting.step(counter)
      counter = taken.counter
      answers.push(taken.answer)
    }
    const records = open[0]?.along?.plan(this.#store.history.known.state)
    if (open[0]?.along !== undefined && records === undefined && answers[0] !== undefined) {
      counter = seen.counter
      answers[0] = undefined
    }
    const put = { put: { key: queue.key, value: encodeCounter(counter) } }
    const change: Change = {
      // No key has the revision max63: the transaction reads and changes nothing.
      compare: [unchanged(queue.key, isRead ? max63 : revision), ...(records?.compare ?? [])],
      writes: answers.some(changes) ? [put, ...(records?.writes ?? [])] : [],
      otherwise: [{ key: queue.key }],
    }
    return { change, revision, counter, answers, open, history }
  }

  /** @param isOld whether a range was acquired meanwhile. */
  #carriedOut(
    queue: CounterQueue,
    batch: readonly PendingStep[],
    plan: Plan,
    revision: bigint,
    isOld: boolean,
  ): void {
    const wrote = plan.change.writes.length > 0
    if (isOld) queue.seen = unseen
    else if (wrote) queue.seen = { counter: plan.counter, revision, history: plan.history }
    plan.open.forEach((waiting, index) => {
      const answer = plan.answers[index]!
      // A reserve of size 0 opens no range.
      if (typeof answer === 'object' && 'end' in answer && answer.end > answer.start) {
        if (!isOld || answer.end > queue.held)
          Object.assign(queue, { held: answer.end, history: plan.history })
      } else if (answer === true && !isOld) queue.held = waiting.givesBack!.from
      const records = wrote ? waiting.along?.written(revision) : undefined
      this.#settle(waiting, records ? { records, reservation: answer } : answer)
    })
    for (const waiting of batch) waiting.call = undefined
  }

  /** Ends the hold of a range whose release has an unknown outcome, unless a later version is known. */
  #dropHeld(queue: CounterQueue, givesBack: ReleaseRequest | undefined): void {
    if (givesBack === undefined || givesBack.version < queue.seen.counter.version) return
    if (givesBack.from < queue.held) queue.held = givesBack.from
  }

  #suspectLoss(queue: CounterQueue): void {
    const { bound } = queue.seen.counter
    this.#store.suspect(lossOf(queue.name, bound, queue.held))
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
    else waiting.resolve(answer as Answer | Committed)
  }
}
