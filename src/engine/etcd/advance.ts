/**
 * Raises all bounds, page by page, while nobody else writes.
 *
 * Invariants
 *  1. It begins by changing the state to `advancing`, which every write of anybody else compares. Each page compares
 *     the state as the page before left it: of several who advance, one gets through.
 *  2. Begun again after a crash, it begins at the beginning. What is raised twice leaves a gap.
 *  3. The new era begins before the first record is mended, and the store opens after the last counter is raised.
 */
import { randomUUID } from 'node:crypto'
import { type Clock, sleep } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import type { Mend } from '../engine.ts'
import { endOf, type Header, type RangeRequest, type RequestOp } from './api.ts'
import { advanced, decodeCounter, encodeCounter, unused } from './counter-steps.ts'
import type { Known } from './history.ts'
import { next, type Records } from './records.ts'
import { present, type State } from './state.ts'
import type { Store } from './store.ts'

/** A transaction takes 128 steps and 1.5 MiB. */
const countersMax = 100
const mendedMax = 20
const tries = 5
const pauseMs = 50

/** The state as it stood when nobody else was advancing. */
type Turn = { readonly header: Header; readonly state: Known | undefined }

/** Advances one store. */
export class Advance {
  readonly #store: Store
  readonly #records: Records
  readonly #clock: Clock
  /** After which an advance of another process that makes no progress is taken over. */
  readonly #stalledMs: number
  readonly #id = randomUUID()

  constructor(store: Store, records: Records, clock: Clock, stalledMs: number) {
    this.#store = store
    this.#records = records
    this.#clock = clock
    this.#stalledMs = stalledMs
  }

  /** See `Engine.advance`. `held`: what no bound may be below. Undefined: there was no need to. */
  async run(
    gap: bigint,
    mend: Mend | undefined,
    held: ReadonlyMap<string, bigint>,
    ifRegressed: boolean,
  ): Promise<number | undefined> {
    for (let each = 0; each < tries; each++) {
      const begun = await this.#begin(ifRegressed)
      if (begun === 'sound') return undefined
      if (begun === undefined) continue
      const mended = mend === undefined ? begun : await this.#mend(begun, mend)
      if (mended === undefined) continue
      const raised = await this.#raise(mended, gap, held)
      if (raised === undefined) continue
      const done = await this.#change(raised.known, { ...raised.known.state, phase: 'open', note: '' }, [])
      if (done === undefined) continue
      this.#store.accept(done.known, done.header)
      return raised.count
    }
    throw new FahaoError('CONFLICT', 'others kept advancing this store at the same time; retry')
  }

  /** Closes the store to everybody else, and begins a new era. Undefined: somebody else was faster. */
  async #begin(ifRegressed: boolean): Promise<Known | 'sound' | undefined> {
    const { header, state } = await this.#takeTurn()
    // Whatever changes the state after this look makes what follows come too late.
    const isSound = this.#store.history.wrong === undefined && state?.state.phase === 'open'
    if (ifRegressed && isSound) return 'sound'
    const before = state?.state ?? this.#store.history.known.state
    const closed: State = { ...before, cluster: header.clusterId, phase: 'advancing', note: this.#id }
    const first = await this.#change({ state: closed, revision: state?.revision ?? 0n }, closed, [])
    if (first === undefined) return undefined
    const seconds = BigInt(Math.floor(this.#store.nowUs() / 1_000_000))
    const last = [present(before).id, present(this.#store.history.known.state).id].reduce(max)
    // Only now is it certain that nobody else will write at this revision or after it.
    const era = { id: max(last + 1n, seconds), after: first.known.revision }
    const eras = [...before.eras.filter(({ after }) => after < era.after), era]
    return (await this.#change(first.known, { ...closed, eras }, []))?.known
  }

  /** Waits while another process advances the store, as long as that makes progress. */
  async #takeTurn(): Promise<Turn> {
    let seen = -1n
    let sinceUs = 0
    for (;;) {
      const { header, state } = await this.#store.look([], this.#store.newCall(false))
      const isOthers = state?.state.phase === 'advancing' && state.state.note !== this.#id
      if (!isOthers) return { header, state }
      const nowUs = this.#clock.monoUs()
      if (state.revision !== seen) sinceUs = nowUs
      else if (nowUs - sinceUs > this.#stalledMs * 1000) return { header, state }
      seen = state.revision
      await sleep(this.#clock, pauseMs)
    }
  }

  async #mend(begun: Known, mend: Mend): Promise<Known | undefined> {
    let known: Known | undefined = begun
    let writes: RequestOp[] = []
    for (const record of await this.#records.list('', undefined)) {
      const value = mend(record)
      if (value === undefined) continue
      const key = this.#store.keys.record(record.key)
      writes.push({ put: { key, value: Buffer.from(value) } })
      if (writes.length < mendedMax) continue
      known = (await this.#change(known, known.state, writes))?.known
      if (known === undefined) return undefined
      writes = []
    }
    return writes.length === 0 ? known : (await this.#change(known, known.state, writes))?.known
  }

  async #raise(begun: Known, gap: bigint, held: ReadonlyMap<string, bigint>) {
    const { keys } = this.#store
    const missing = new Map(held)
    const rangeEnd = endOf(keys.counters)
    let known: Known | undefined = begun
    let count = 0
    for (let from: Buffer | undefined = keys.counters; from !== undefined; ) {
      const range: RangeRequest = { key: from, rangeEnd, limit: String(countersMax) }
      const { found } = await this.#store.look([range], this.#store.newCall(false))
      const { kvs, more } = found[0]!
      const writes = kvs.map(({ key, value }) => {
        const name = keys.counterOf(key)
        const counter = advanced(decodeCounter(name, value), gap, missing.get(name) ?? 0n)
        missing.delete(name)
        return { put: { key, value: encodeCounter(counter) } }
      })
      if (writes.length > 0) known = (await this.#change(known, known.state, writes))?.known
      if (known === undefined) return undefined
      count += kvs.length
      const last = kvs.at(-1)
      from = more && last !== undefined ? next(last.key) : undefined
    }
    return this.#bringBack(known, missing, gap, count)
  }

  /** Counters that this process was given ranges of, and that are not there any more. */
  async #bringBack(begun: Known, missing: ReadonlyMap<string, bigint>, gap: bigint, count: number) {
    const writes = [...missing].map(([name, held]) => {
      const value = encodeCounter(advanced({ ...unused, bound: held }, gap, held))
      return { put: { key: this.#store.keys.counter(name), value } }
    })
    let known: Known | undefined = begun
    for (let at = 0; at < writes.length; at += countersMax) {
      known = (await this.#change(known, known.state, writes.slice(at, at + countersMax)))?.known
      if (known === undefined) return undefined
    }
    return { known, count: count + writes.length }
  }

  #change({ revision }: Known, state: State, writes: readonly RequestOp[]) {
    return this.#store.changeState(revision, state, writes, this.#store.newCall(true))
  }
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
