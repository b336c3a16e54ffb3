/**
 * Reads and conditional writes of one store.
 *
 * Invariants
 *  1. Every transaction that writes compares the revision of the state key: it fails in a history that is suspect or being
 *     advanced, and in a process that has not accepted the latest advance.
 *  2. Every answer is checked for lost writes.
 */
import { type Clock, sleep } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { Timeline } from '../../base/timeline.ts'
import type { EngineOptions } from '../engine-options.ts'
import { describeRegression, regressed } from '../regression.ts'
import {
  type Compare,
  type Header,
  methods,
  type NestedResponse,
  type RangeRequest,
  type RangeResponse,
  type RequestOp,
  successorOf,
  type TxnRequest,
  type TxnResponse,
  unchanged,
} from './api.ts'
import type { History, Known, Sent } from './history.ts'
import type { Keys } from './keys.ts'
import type { CallContext, Members } from './members.ts'
import { decodeState, encodeState, type State } from './state.ts'

/** Writes, and the comparisons on which they are conditional. */
export type Change = {
  readonly compare: readonly Compare[]
  readonly writes: readonly RequestOp[]
  /** The ranges to read if a comparison fails. */
  readonly otherwise: readonly RangeRequest[]
}

/** Whether a change was carried out, and its revision; if not, the ranges read instead, and the state at that moment. */
export type ChangeOutcome =
  | { readonly done: true; readonly revision: bigint }
  | { readonly done: false; readonly state: State; readonly found: readonly RangeResponse[] }

const subject = 'the store'
const advancingPauseMs = 20
/** The interval of storing the time of the last write, and of reporting a regression again. */
const reportEveryUs = 1_000_000

/** One store. */
export class Store {
  readonly keys: Keys
  readonly history: History
  readonly #members: Members
  readonly #clock: Clock
  readonly #options: EngineOptions
  readonly #timeline: Timeline
  #timeStoredUs = Number.NEGATIVE_INFINITY
  #reported: string | undefined
  #reportedUs = Number.NEGATIVE_INFINITY
  /** The advance in progress as last seen, and the time of its last progress. */
  #advancing: { readonly revision: bigint; readonly sinceUs: number } | undefined

  constructor(
    members: Members,
    keys: Keys,
    history: History,
    lastWriteUs: number | undefined,
    options: EngineOptions,
  ) {
    this.keys = keys
    this.history = history
    this.#members = members
    this.#clock = options.clock
    this.#options = options
    this.#timeline = new Timeline(options.clock, { lastWriteUs })
    this.#report()
  }

  /** The present trouble; undefined: none. */
  get trouble(): string | undefined {
    return this.#members.trouble ?? this.history.wrong
  }

  /** The reason for which writes wait now. */
  get hindrance(): string {
    return this.trouble ?? (this.#advancing ? 'another process is raising all bounds' : 'it does not answer')
  }

  /** See `Members.newCall`. */
  newCall(writes: boolean): CallContext {
    return this.#members.newCall(writes)
  }

  /** Reads ranges and the state at one revision. `known`: the state as stored; `state`: the accepted one if none is stored. */
  async read(ranges: readonly RangeRequest[] = [], call = this.newCall(false)) {
    const sent = this.history.check
    const success = [{ key: this.keys.state }, ...ranges].map((range) => ({ range }))
    const response = await this.#members.call(methods.txn, { compare: [], success, failure: [] }, call)
    const [stored, ...found] = rangesOf(response)
    const { header } = response
    const known = knownOf(stored!)
    this.#check(header, known, sent)
    const state = known?.state ?? this.history.known.state
    return { header, known, state, revision: BigInt(header.revision), found }
  }

  /** Reads a range a page at a time, each of `range.limit` keys, and the state that belongs to each page. */
  async *pages(range: RangeRequest) {
    for (let key: Buffer | undefined = range.key; key !== undefined; ) {
      const { state, found } = await this.read([{ ...range, key }])
      const { kvs, more } = found[0]!
      yield { state, kvs }
      const last: Buffer | undefined = kvs.at(-1)?.key
      key = more && last !== undefined ? successorOf(last) : undefined
    }
  }

  /**
   * Carries out the changes that `plan` returns in one transaction, each if its own comparisons hold, and calls `plan` again
   * whenever the state has changed. Resolves to their outcomes: undefined for each that `plan` leaves out. Rejects with
   * REGRESSED, UNAVAILABLE, UNKNOWN.
   */
  async commit(
    plan: () => readonly (Change | undefined)[],
    call = this.newCall(true),
  ): Promise<(ChangeOutcome | undefined)[]> {
    if (this.history.wrong !== undefined) await this.read([], { ...call, writes: false })
    for (;;) {
      this.#refuse()
      const planned = plan()
      const changes = planned.filter((change) => change !== undefined)
      if (changes.length === 0) return planned.map(() => undefined)
      const storesTime = this.#isTimeDue(changes)
      const sent = this.history.check
      const response = await this.#members.call(methods.txn, this.#guarded(changes, storesTime), call)
      call.sent = false
      if (response.succeeded) {
        this.#advancing = undefined
        const outcomes = this.#carriedOut(response, changes, sent, storesTime)
        let at = 0
        return planned.map((change) => (change === undefined ? undefined : outcomes[at++]))
      }
      const [state] = rangesOf(response)
      const known = knownOf(state!)
      this.#check(response.header, known, sent)
      if (known?.state.status === 'advancing') await this.#waitForAdvance(known, call)
    }
  }

  /** Replaces the state if it is unchanged, as the begin and the end of an advance need. Undefined: it had changed. */
  async changeState(
    from: bigint,
    state: State,
    writes: readonly RequestOp[] = [],
    call = this.newCall(true),
  ): Promise<{ readonly known: Known; readonly header: TxnResponse['header'] } | undefined> {
    const put = { put: { key: this.keys.state, value: Buffer.from(encodeState(state)) } }
    const request = { compare: [unchanged(this.keys.state, from)], success: [put, ...writes], failure: [] }
    const { header, succeeded } = await this.#members.call(methods.txn, request, call)
    return succeeded ? { known: { state, revision: BigInt(header.revision) }, header } : undefined
  }

  /** Accepts this state from now on. */
  accept(known: Known, header: Header): void {
    this.history.accept(known, header)
    this.#report()
  }

  /** Suspects a regression. Throws REGRESSED. */
  suspect(reason: string): void {
    this.history.suspect(reason)
    this.#report()
    this.#refuse()
  }

  /** The present time, for stored values. */
  nowUs(): number {
    return this.#timeline.nowUs()
  }

  #guarded(changes: readonly Change[], storesTime: boolean): TxnRequest {
    const { state, written } = this.keys
    const time = { put: { key: written, value: Buffer.from(String(Math.floor(this.nowUs()))) } }
    const nested = changes.map(({ compare, writes, otherwise }) => {
      return { txn: { compare, success: writes, failure: otherwise.map((range) => ({ range })) } }
    })
    return {
      compare: [unchanged(state, this.history.known.revision)],
      success: storesTime ? [...nested, time] : nested,
      failure: [{ range: { key: state } }],
    }
  }

  /** Whether a transaction should also store the time of the write. */
  #isTimeDue(changes: readonly Change[]): boolean {
    const isDue = this.#clock.monoUs() - this.#timeStoredUs >= reportEveryUs
    return isDue && changes.some(({ writes }) => writes.length > 0)
  }

  #carriedOut(
    { header, responses }: TxnResponse,
    changes: readonly Change[],
    sent: Sent,
    storedTime: boolean,
  ): ChangeOutcome[] {
    if (storedTime) this.#timeStoredUs = this.#clock.monoUs()
    this.history.observeSame(header, sent)
    this.#report()
    const { wrong } = this.history
    // The write went into a copy of the store that has the same state.
    if (wrong !== undefined && changes.some(({ writes }) => writes.length > 0))
      throw new FahaoError('UNKNOWN', describeRegression(subject, wrong))
    this.#refuse()
    const { state } = sent.accepted.known
    return changes.map((_, at) => {
      const { txn } = responses[at]!
      if (txn!.succeeded) return { done: true, revision: BigInt(header.revision) }
      return { done: false, state, found: rangesOf(txn!) }
    })
  }

  #refuse(): void {
    const { wrong } = this.history
    if (wrong === undefined) return
    this.#reportRegression(wrong)
    throw regressed(subject, wrong)
  }

  /** Waits for an advance by another process, which writes page after page: without progress for long, that process has ended. */
  async #waitForAdvance({ revision }: Known, call: CallContext): Promise<void> {
    const nowUs = this.#clock.monoUs()
    if (this.#advancing?.revision !== revision) this.#advancing = { revision, sinceUs: nowUs }
    if (nowUs - this.#advancing.sinceUs > this.#options.callTimeoutMs * 2000)
      this.suspect('an advance was begun and not finished')
    if (nowUs + advancingPauseMs * 1000 >= call.deadlineUs)
      throw new FahaoError('UNAVAILABLE', 'another process is raising all bounds; retry')
    await sleep(this.#clock, advancingPauseMs)
  }

  /** Checks the state and the header of an answer. */
  #check(header: Header, found: Known | undefined, sent: Sent): void {
    const advanced = this.history.observe(header, found, sent)
    this.#report()
    if (advanced) this.#options.onAdvanced?.()
  }

  /** Reports the beginning and the end of a suspected regression. */
  #report(): void {
    const { wrong } = this.history
    if ((wrong === undefined) === (this.#reported === undefined)) return
    this.#reported = wrong
    if (wrong === undefined) {
      this.#options.onEvent({ level: 'info', message: 'the store was advanced, and is written to again' })
      return
    }
    this.#options.onEvent({ level: 'error', message: describeRegression(subject, wrong) })
    this.#reportRegression(wrong)
    this.#markSuspect(wrong).catch(() => {
      // The other processes still detect the regression by their own checks.
    })
  }

  #reportRegression(reason: string): void {
    const nowUs = this.#clock.monoUs()
    if (nowUs - this.#reportedUs < reportEveryUs) return
    this.#reportedUs = nowUs
    this.#options.onRegressed?.(reason)
  }

  /** Marks the stored state as suspect for all processes, also those that start later. */
  async #markSuspect(note: string): Promise<void> {
    const call = this.newCall(true)
    const { known, state, header } = await this.read([], call)
    if (known !== undefined && state.status !== 'open') return
    const base = known === undefined ? { ...state, cluster: header.clusterId } : state
    await this.changeState(known?.revision ?? 0n, { ...base, status: 'suspect', note }, [], call)
  }
}

/** The ranges of a response, in the order of the request. */
export function rangesOf({ responses }: Pick<NestedResponse, 'responses'>): RangeResponse[] {
  return responses.flatMap(({ range }) => (range ? [range] : []))
}

/** The state in a range of its key. */
export function knownOf({ kvs }: RangeResponse): Known | undefined {
  const [kv] = kvs
  return kv && { state: decodeState(kv.value.toString()), revision: BigInt(kv.modRevision) }
}
