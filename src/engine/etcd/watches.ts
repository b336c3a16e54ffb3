/**
 * Watches: one stream of all records' events per engine, and a list every minute.
 *
 * Invariants
 *  1. Changes of a key are reported in the order of their revisions: a change that is not newer than the last reported
 *     one, or than the last list, is not reported.
 *  2. After a list, every change up to its revision has been reported, removals included. To find removals, the keys of
 *     all records are stored while there are watches.
 *  3. Each stream begins after the revision of a list, so a compaction of older revisions loses no change.
 */
import { type Clock, repeat, sleep, systemRandom, type Timer } from '../../base/clock.ts'
import { describe, FahaoError } from '../../base/errors.ts'
import type { RecordChange, Watch } from '../engine.ts'
import { Watchers } from '../watchers.ts'
import { endOf, type KeyValue, methods, type WatchResponse } from './api.ts'
import type { Members } from './members.ts'
import type { Records } from './records.ts'
import type { Store } from './store.ts'

type RevisedChange = RecordChange & { readonly revision: bigint }

/** The streams from the first watch to the last. `created` resolves once the first stream has begun. */
type WatchSession = { readonly abort: AbortController; readonly created: Promise<void> }

/** etcd before 3.4.31 and 3.5.13 can lose events. */
const listEveryMs = 60_000
const retryMs = 100
const pageMax = 2000
/** Short compared with a hand-over that waits for the stream; a message per second costs little. */
const askEveryMs = 1000
/** A member that has not answered for this long counts as frozen. */
const silentMs = 3000
const removed = 1

/** The watches of one engine. */
export class Watches {
  readonly #members: Members
  readonly #store: Store
  readonly #records: Records
  readonly #clock: Clock
  readonly #watchers = new Watchers<RevisedChange>(() => this.#end())
  /** The revision of each existing record's last reported write. */
  readonly #existing = new Map<string, bigint>()
  /** Every change up to this revision has been reported. */
  #reportedRevision = 0n
  #session: WatchSession | undefined

  constructor(members: Members, store: Store, records: Records, clock: Clock) {
    this.#members = members
    this.#store = store
    this.#records = records
    this.#clock = clock
  }

  /** See `Engine.watch`. */
  async add(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    let after: bigint | undefined
    const watch = this.#watchers.add(prefix, ({ key, record, revision }) => {
      if (after !== undefined && revision > after) listener({ key, record })
    })
    try {
      this.#session ??= this.#begin()
      await this.#session.created
      const { revision } = await this.#store.read()
      after = revision
      return watch
    } catch (error) {
      watch.close()
      throw error
    }
  }

  /** Closes all watches. */
  close(): void {
    this.#watchers.close()
  }

  #end(): void {
    this.#session?.abort.abort()
    this.#session = undefined
  }

  #begin(): WatchSession {
    const abort = new AbortController()
    const created = Promise.withResolvers<void>()
    this.#existing.clear()
    this.#reportedRevision = 0n
    const { deadlineUs } = this.#store.newCall(false)
    const timer = this.#clock.timer((deadlineUs - this.#clock.monoUs()) / 1000, () =>
      created.reject(new FahaoError('UNAVAILABLE', `no watch could be set up in time: ${reason}`)),
    )
    let reason = 'etcd does not answer'
    const onFailure = (why: string) => {
      reason = why
    }
    const onCreated = () => {
      timer.cancel()
      created.resolve()
    }
    // Never rejects.
    void this.#run(abort.signal, onCreated, onFailure)
    this.#listPeriodically(abort.signal)
    return { abort, created: created.promise }
  }

  /** Follows one stream after another. */
  async #run(signal: AbortSignal, onCreated: () => void, onFailure: (why: string) => void): Promise<void> {
    while (!signal.aborted) {
      try {
        const reason = await this.#stream(signal, onCreated)
        onFailure(reason)
      } catch (error) {
        onFailure(describe(error))
      }
      if (!signal.aborted) await sleep(this.#clock, retryMs * (0.5 + systemRandom()))
    }
  }

  /**
   * Follows one stream; resolves to the reason of its end: by etcd, by `signal`, or because etcd stopped answering.
   * An answer to a progress request only shows that etcd answers: etcd before 3.4.25 and 3.5.8 may send a
   * revision whose events are still to come.
   */
  async #stream(signal: AbortSignal, onCreated: () => void): Promise<string> {
    await this.#list(signal)
    const startRevision = String(this.#reportedRevision + 1n)
    const ended = Promise.withResolvers<string>()
    let over = false
    let answeredUs = this.#clock.monoUs()
    const end = (reason: string) => {
      over = true
      ended.resolve(reason)
    }
    const message = (response: WatchResponse) => {
      if (over) return
      answeredUs = this.#clock.monoUs()
      if (response.canceled) return end(response.cancelReason || 'it has compacted what comes next')
      if (response.created) onCreated()
      this.#acceptEvents(response)
    }
    const { stream, fail } = await this.#members.stream(methods.watch, { message, end })
    let timer: Timer | undefined
    const ask = () => {
      if (this.#clock.monoUs() - answeredUs > silentMs * 1000) return end('it stopped answering')
      stream.write({ progress: {} })
      timer = this.#clock.timer(askEveryMs, ask)
    }
    const stop = () => end('closed')
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    const key = this.#store.keys.records
    stream.write({ create: { key, rangeEnd: endOf(key), startRevision } })
    timer = this.#clock.timer(askEveryMs, ask)
    const reason = await ended.promise
    timer.cancel()
    signal.removeEventListener('abort', stop)
    stream.cancel()
    if (!signal.aborted) fail(reason)
    return reason
  }

  #acceptEvents({ events }: WatchResponse): void {
    for (const { type, kv } of events) {
      const record = type === removed ? undefined : kv
      this.#accept(this.#store.keys.recordOf(kv.key), BigInt(kv.modRevision), record)
    }
  }

  #listPeriodically(signal: AbortSignal): void {
    // A failure shows in the engine's status; the next list finds what this one has missed.
    const timer = repeat(this.#clock, listEveryMs, () => this.#list(signal))
    signal.addEventListener('abort', () => timer.cancel(), { once: true })
  }

  /** Reports missed changes. */
  async #list(signal: AbortSignal): Promise<void> {
    const key = this.#store.keys.records
    const isFirst = this.#reportedRevision === 0n
    // Only newer records, and the number of all: most often both show that no change was missed.
    const range = { key, rangeEnd: endOf(key), minModRevision: String(this.#reportedRevision + 1n) }
    const asked = isFirst ? [] : [range]
    const { revision, found } = await this.#store.read(asked)
    if (signal.aborted) return
    const wentBack = revision < this.#reportedRevision
    for (const kv of found[0]?.kvs ?? [])
      this.#accept(this.#store.keys.recordOf(kv.key), BigInt(kv.modRevision), kv)
    if (isFirst || wentBack || Number(found[0]!.count) !== this.#existing.size)
      await this.#listAll(revision, isFirst, wentBack, signal)
    else this.#reportedRevision = revision
  }

  /** Compares all keys that existed at a revision with the reported ones. */
  async #listAll(revision: bigint, isFirst: boolean, wentBack: boolean, signal: AbortSignal): Promise<void> {
    const there = await this.#keysAt(revision)
    if (signal.aborted) return
    if (wentBack) this.#reportedRevision = 0n
    for (const [key, told] of this.#existing) {
      if (there.has(key) || (told > revision && !wentBack)) continue
      this.#existing.delete(key)
      this.#report(key, undefined, revision)
    }
    for (const [key, written] of there) {
      const told = this.#existing.get(key)
      if (isFirst) this.#existing.set(key, written)
      else if (told === undefined || (wentBack ? told !== written : told < written))
        await this.#readAndReport(key)
    }
    this.#reportedRevision = revision
  }

  async #readAndReport(key: string): Promise<void> {
    const range = { key: this.#store.keys.record(key) }
    const { found } = await this.#store.read([range])
    const [kv] = found[0]!.kvs
    if (kv === undefined) return
    this.#existing.delete(key)
    this.#accept(key, BigInt(kv.modRevision), kv)
  }

  async #keysAt(revision: bigint): Promise<Map<string, bigint>> {
    const key = this.#store.keys.records
    const limit = String(pageMax)
    const range = { key, rangeEnd: endOf(key), limit, revision: String(revision), keysOnly: true }
    const keys = new Map<string, bigint>()
    for await (const { kvs } of this.#store.pages(range))
      for (const kv of kvs) keys.set(this.#store.keys.recordOf(kv.key), BigInt(kv.modRevision))
    return keys
  }

  #accept(key: string, revision: bigint, kv: KeyValue | undefined): void {
    if (revision <= this.#reportedRevision || revision <= (this.#existing.get(key) ?? 0n)) return
    if (kv === undefined) this.#existing.delete(key)
    else this.#existing.set(key, revision)
    this.#report(key, kv, revision)
  }

  #report(key: string, kv: KeyValue | undefined, revision: bigint): void {
    const record = kv && this.#records.recordOf(kv, this.#store.history.known.state)
    this.#watchers.notify({ key, record, revision })
  }
}
