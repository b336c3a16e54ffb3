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
import { earlierStore, named, raised, widened } from '../advance.ts'
import { unused } from '../counter.ts'
import type { Counter, Repair, Repaired } from '../engine.ts'
import { endOf, type Header, type RangeRequest, type RequestOp, successorOf } from './api.ts'
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

/** The state while no other process was advancing. */
type Turn = { readonly header: Header; readonly state: Known | undefined }

type Begun = { readonly known: Known; readonly times: bigint }

type Put = Extract<RequestOp, { put: unknown }>

/** What an advance does to counters. */
type Raise = {
  readonly gap: bigint
  readonly mended: Repaired['counters']
  /** The least that each bound may be. */
  readonly held: ReadonlyMap<string, bigint>
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
    mend: Repair,
    held: ReadonlyMap<string, bigint>,
    ifRegressed: boolean,
  ): Promise<number | undefined> {
    let times = 1n
    for (let each = 0; each < tries; each++) {
      const begun = await this.#begin(ifRegressed)
      if (begun === 'sound') return undefined
      if (begun === undefined) continue
      // A second attempt finds the history that the first has begun.
      times = max(times, begun.times)
      const { records, counters } = mend(await this.#records.list('', undefined))
      const mended = await this.#putAll(begun.known, this.#recordWrites(records))
      if (mended === undefined) continue
      const raise = await this.#raise(mended, { gap: gap * times, mended: widened(counters, times), held })
      if (raise === undefined) continue
      const done = await this.#change(raise.known, { ...raise.known.state, status: 'open', note: '' }, [])
      if (done === undefined) continue
      this.#store.accept(done.known, done.header)
      return raise.count
    }
    throw new FahaoError('CONFLICT', 'others kept advancing this store at the same time; retry')
  }

  /**
   * Closes the store to all other processes, and begins a new history. Undefined: another process was faster. `times`: the
   * gap counts once more for each advance that this process has accepted and the store lacks.
   */
  async #begin(ifRegressed: boolean): Promise<Begun | 'sound' | undefined> {
    const { header, state } = await this.#takeTurn()
    // The next change fails if the state has changed since this read.
    const isSound = this.#store.history.wrong === undefined && state?.state.status === 'open'
    if (ifRegressed && isSound) return 'sound'
    const known = this.#store.history.known.state
    const before = state?.state ?? known
    const lost = known.histories.filter(({ id }) => id > present(before).id)
    if (ifRegressed && (lost.length > 0 || this.#store.history.isEarlier)) throw earlierStore('etcd')
    const closed: State = { ...before, cluster: header.clusterId, status: 'advancing', note: this.#id }
    const first = await this.#change({ state: closed, revision: state?.revision ?? 0n }, closed, [])
    if (first === undefined) return undefined
    const seconds = BigInt(Math.floor(this.#store.nowUs() / 1_000_000))
    const last = [present(before).id, present(this.#store.history.known.state).id].reduce(max)
    // No other process writes at this revision or after it: the state has changed.
    const history = { id: max(last + 1n, seconds), after: first.known.revision }
    const histories = [...before.histories.filter(({ after }) => after < history.after), history]
    const second = await this.#change(first.known, { ...closed, histories }, [])
    return second && { known: second.known, times: BigInt(lost.length + 1) }
  }

  /** Waits while another process advances the store, as long as that makes progress. */
  async #takeTurn(): Promise<Turn> {
    let seen = -1n
    let sinceUs = 0
    for (;;) {
      const { header, state } = await this.#store.look([], this.#store.newCall(false))
      const isOthers = state?.state.status === 'advancing' && state.state.note !== this.#id
      if (!isOthers) return { header, state }
      const nowUs = this.#clock.monoUs()
      if (state.revision !== seen) sinceUs = nowUs
      else if (nowUs - sinceUs > this.#stalledMs * 1000) return { header, state }
      seen = state.revision
      await sleep(this.#clock, pauseMs)
    }
  }

  #recordWrites(records: Repaired['records']): Put[] {
    return [...records].map(([key, value]) => ({
      put: { key: this.#store.keys.record(key), value: Buffer.from(value) },
    }))
  }

  /** Writes in transactions of a size that etcd takes. Undefined: another process was faster. */
  async #putAll(begun: Known, writes: readonly Put[]): Promise<Known | undefined> {
    let known: Known | undefined = begun
    for (const part of parts(writes)) {
      known = (await this.#change(known, known.state, part))?.known
      if (known === undefined) return undefined
    }
    return known
  }

  async #raise(begun: Known, raise: Raise) {
    const { keys } = this.#store
    const missing = new Set(named(raise.mended, raise.held))
    const rangeEnd = endOf(keys.counters)
    let known: Known | undefined = begun
    let count = missing.size
    for (let from: Buffer | undefined = keys.counters; from !== undefined; ) {
      const range: RangeRequest = { key: from, rangeEnd, limit: String(stepsMax) }
      const { found } = await this.#store.look([range], this.#store.newCall(false))
      const { kvs, more } = found[0]!
      const writes = kvs.map(({ key, value }) => {
        const name = keys.counterOf(key)
        if (!missing.delete(name)) count++
        return this.#raised(name, decodeCounter(name, value), raise)
      })
      known = await this.#putAll(known, writes)
      if (known === undefined) return undefined
      const last = kvs.at(-1)
      from = more && last !== undefined ? successorOf(last.key) : undefined
    }
    known = await this.#putAll(
      known,
      [...missing].map((name) => this.#raised(name, unused, raise)),
    )
    return known && { known, count }
  }

  #raised(name: string, counter: Counter, { gap, mended, held }: Raise): Put {
    const value = encodeCounter(raised(counter, gap, mended.get(name), held.get(name)))
    return { put: { key: this.#store.keys.counter(name), value } }
  }

  #change({ revision }: Known, state: State, writes: readonly RequestOp[]) {
    return this.#store.changeState(revision, state, writes, this.#store.newCall(true))
  }
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

/** The writes, as many together as one transaction takes. */
function parts(writes: readonly Put[]): Put[][] {
  const all: Put[][] = []
  let bytes = 0
  for (const write of writes) {
    const size = write.put.key.length + write.put.value.length
    const part = all.at(-1)
    if (part === undefined || part.length === stepsMax || bytes + size > bytesMax) {
      all.push([write])
      bytes = size
    } else {
      part.push(write)
      bytes += size
    }
  }
  return all
}
