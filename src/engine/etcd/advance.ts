/**
 * Raises all bounds, page by page, while no other process writes.
 *
 * Invariants
 *  1. It begins by changing the state to `advancing`, which every write of other processes compares. Each page compares
 *     the state that the page before wrote: of several processes that advance, one succeeds.
 *  2. After a crash it begins again with the first page. A counter that is raised twice has a larger gap.
 *  3. The new history begins before the first record is repaired, and the store opens after the last counter is raised.
 */
import { randomUUID } from 'node:crypto'
import { type Clock, sleep } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { earlierStore, inTurns, larger, named, raised, widened } from '../advance-rules.ts'
import { unused } from '../counter-rules.ts'
import type { Counter, Repair, Repaired } from '../engine.ts'
import { endOf, type Header, type RequestOp } from './api.ts'
import { decodeCounter, encodeCounter } from './counter-value.ts'
import type { Known } from './history.ts'
import type { Records } from './records.ts'
import { present, type State } from './state.ts'
import type { Store } from './store.ts'

/** A transaction takes 128 steps and 1.5 MiB; a record takes up to 32 KiB. */
const stepsMax = 100
const bytesMax = 1_000_000
const tries = 5
const pauseMs = 50

type Put = Extract<RequestOp, { put: unknown }>

/** What an advance does to counters. */
type Raise = {
  readonly gap: bigint
  readonly repaired: Repaired['counters']
  /** The least that each bound may be. */
  readonly held: ReadonlyMap<string, bigint>
}

/** Another process has changed the state. */
class Outrun extends Error {}

/** The state as an advance last read or wrote it. */
class Turn {
  readonly #store: Store
  header: Header
  known: Known | undefined

  constructor(store: Store, header: Header, known: Known | undefined) {
    this.#store = store
    this.header = header
    this.known = known
  }

  /** Changes the state, and writes with it. Rejects with Outrun if another process was faster. */
  async change(state: State, writes: readonly RequestOp[] = []): Promise<Known> {
    const revision = this.known?.revision ?? 0n
    const done = await this.#store.changeState(revision, state, writes)
    if (done === undefined) throw new Outrun()
    Object.assign(this, done)
    return done.known
  }
}

/** Advances one store. */
export class Advance {
  readonly #store: Store
  readonly #records: Records
  readonly #clock: Clock
  /** An advance of another process without progress for longer than this is taken over. */
  readonly #stalledMs: number
  readonly #id = randomUUID()

  constructor(store: Store, records: Records, clock: Clock, stalledMs: number) {
    this.#store = store
    this.#records = records
    this.#clock = clock
    this.#stalledMs = stalledMs
  }

  /** See `Engine.advance`. `held`: the least that each bound may be. Undefined: nothing had to be raised. */
  async run(
    gap: bigint,
    repair: Repair,
    held: ReadonlyMap<string, bigint>,
    ifRegressed: boolean,
  ): Promise<number | undefined> {
    let times = 1n
    for (let each = 0; each < tries; each++) {
      try {
        const turn = await this.#takeTurn()
        const isSound = this.#store.history.wrong === undefined && turn.known?.state.status === 'open'
        if (ifRegressed && isSound) return undefined
        // A second attempt finds the history that the first has begun.
        times = larger(times, await this.#begin(turn, ifRegressed))
        const { records, counters } = await inTurns(repair(await this.#records.list('', undefined)))
        let puts = 0
        const raise = { gap: gap * times, repaired: widened(counters, times), held }
        for await (const part of parts(this.#writes(records, raise))) {
          await turn.change(turn.known!.state, part)
          puts += part.length
        }
        const known = await turn.change({ ...turn.known!.state, status: 'open', note: '' })
        this.#store.accept(known, turn.header)
        return puts - records.size
      } catch (error) {
        if (!(error instanceof Outrun)) throw error
      }
    }
    throw new FahaoError('CONFLICT', 'other processes kept advancing this store at the same time; retry')
  }

  /** Waits while another process advances the store, as long as that makes progress. */
  async #takeTurn(): Promise<Turn> {
    let seen = -1n
    let sinceUs = 0
    for (;;) {
      const { header, known } = await this.#store.read()
      const isOthers = known?.state.status === 'advancing' && known.state.note !== this.#id
      const nowUs = this.#clock.monoUs()
      if (known?.revision !== seen) sinceUs = nowUs
      if (!isOthers || nowUs - sinceUs > this.#stalledMs * 1000) return new Turn(this.#store, header, known)
      seen = known.revision
      await sleep(this.#clock, pauseMs)
    }
  }

  /**
   * Closes the store to all other processes, and begins a new history. Returns how often the gap counts: once more for each
   * advance that this process has accepted and the store lacks.
   */
  async #begin(turn: Turn, ifRegressed: boolean): Promise<bigint> {
    const { known, isEarlier } = this.#store.history
    const before = turn.known?.state ?? known.state
    const lost = known.state.histories.filter(({ id }) => id > present(before).id)
    if (ifRegressed && (lost.length > 0 || isEarlier)) throw earlierStore('etcd')
    const closed: State = { ...before, cluster: turn.header.clusterId, status: 'advancing', note: this.#id }
    const { revision } = await turn.change(closed)
    const seconds = BigInt(Math.floor(this.#store.nowUs() / 1_000_000))
    const last = larger(present(before).id, present(this.#store.history.known.state).id)
    // No other process writes at this revision or after it: the state has changed.
    const history = { id: larger(last + 1n, seconds), after: revision }
    const histories = [...before.histories.filter(({ after }) => after < history.after), history]
    await turn.change({ ...closed, histories })
    return BigInt(lost.length + 1)
  }

  /** The repaired records, and then each counter once. */
  async *#writes(records: Repaired['records'], raise: Raise): AsyncGenerator<Put> {
    const { keys } = this.#store
    for (const [key, value] of records) yield { put: { key: keys.record(key), value: Buffer.from(value) } }
    const missing = new Set(named(raise.repaired, raise.held))
    const range = { key: keys.counters, rangeEnd: endOf(keys.counters), limit: String(stepsMax) }
    for await (const { kvs } of this.#store.pages(range))
      for (const { key, value } of kvs) {
        const name = keys.counterOf(key)
        missing.delete(name)
        yield this.#raised(name, decodeCounter(name, value), raise)
      }
    for (const name of missing) yield this.#raised(name, unused, raise)
  }

  #raised(name: string, counter: Counter, { gap, repaired, held }: Raise): Put {
    const value = encodeCounter(raised(counter, gap, repaired.get(name), held.get(name)))
    return { put: { key: this.#store.keys.counter(name), value } }
  }
}

/** The writes, as many together as one transaction takes. */
async function* parts(writes: AsyncIterable<Put>): AsyncGenerator<Put[]> {
  let part: Put[] = []
  let bytes = 0
  for await (const write of writes) {
    const size = write.put.key.length + write.put.value.length
    if (part.length === stepsMax || (part.length > 0 && bytes + size > bytesMax)) {
      yield part
      part = []
      bytes = 0
    }
    part.push(write)
    bytes += size
  }
  if (part.length > 0) yield part
}
