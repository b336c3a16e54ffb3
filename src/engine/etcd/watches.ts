/**
 * Watches: one stream of all records' events per engine, and for each watched prefix a list every minute, because etcd before
 * 3.4.31 and 3.5.13 can lose events.
 *
 * A list of a million records takes seconds, and their keys much memory. So where records are never removed, no keys are stored: a
 * list reads a page in a second, and looks only for records that are newer than the list before.
 *
 * Invariants
 *  1. Changes of a key are reported in the order of their revisions: a change that is not newer than the last reported
 *     one, or than the last list, is not reported.
 *  2. After a list of a prefix, every change up to the revision at which it began has been reported, removals included. To find
 *     removals, the keys of existing records are stored for each watched prefix whose records can be removed.
 *  3. Each stream begins after the last revision that the stream before has reported, or after that of a list where etcd has
 *     compacted it or has gone back: a compaction of older revisions loses no change.
 *  4. The time until a watch is ready does not grow with records that are never removed.
 */
import { type Clock, repeat, sleep, systemRandom, type Timer } from '../../base/clock.ts'
import { describe, FahaoError } from '../../base/errors.ts'
import type { RecordChange, Watch, WatchOptions } from '../engine.ts'
import { Watchers } from '../watchers.ts'
import { endOf, type KeyValue, methods, type WatchResponse } from './api.ts'
import type { Members } from './members.ts'
import type { Records } from './records.ts'
import type { Store } from './store.ts'

type RevisedChange = RecordChange & { readonly revision: bigint }

/** The streams from the first watch to the last. `created` resolves once the first stream has begun. */
type WatchSession = { readonly abort: AbortController; readonly created: Promise<void> }

/** Where a watch begins: its listener is told of changes after this revision; undefined: of none yet. */
type WatchStart = { after: bigint | undefined }

/** What is watched under one prefix. */
type Followed = {
  readonly prefix: string
  readonly neverRemoved: boolean
  readonly watches: Set<WatchStart>
  /** Every change up to this revision has been reported; undefined: it was not listed yet. */
  checked: bigint | undefined
  /** `History.turns` at the last list. */
  turns: number
  /** Whether etcd has gone back, and no list has ended since. */
  wentBack: boolean
  /** The list under way. */
  listing: Promise<void> | undefined
  /**
   * The revision of the last reported write of each existing record; where records are never removed, only of those newer than
   * `checked`.
   */
  readonly told: Map<string, bigint>
}

const listEveryMs = 60_000
/**
 * The pause between two pages of a list of records that are never removed, and the same in terms of the time that the page took:
 * etcd counts the whole range for each page.
 */
const pageEveryMs = 900
const pagePauseTimes = 20
const retryMs = 100
const pageMax = 2000
/** Pages with values of up to 32 KiB take up to 8 MiB. */
const valuesPageMax = 256
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
  readonly #followed = new Map<string, Followed>()
  /** The revision behind which the next stream begins: every event up to it has come. */
  #streamed = 0n
  /** `History.turns` when the last stream began. */
  #turns = 0
  /** Whether etcd may have compacted what comes next. */
  #isCompacted = false
  #session: WatchSession | undefined

  constructor(members: Members, store: Store, records: Records, clock: Clock) {
    this.#members = members
    this.#store = store
    this.#records = records
    this.#clock = clock
  }

  /** See `Engine.watch`. */
  async add(
    prefix: string,
    listener: (change: RecordChange) => void,
    { neverRemoved = false }: WatchOptions = {},
  ): Promise<Watch> {
    const start: WatchStart = { after: undefined }
    const watch = this.#follow(prefix, neverRemoved, start, ({ key, record, revision }) => {
      if (start.after !== undefined && revision > start.after) listener({ key, record })
    })
    try {
      this.#session ??= this.#begin()
      await this.#session.created
      const { revision } = await this.#store.read()
      await this.#checkFirst(this.#followed.get(prefix)!, revision)
      start.after = revision
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

  /** Adds a watcher; what is stored for the prefix goes with the last one of it. */
  #follow(
    prefix: string,
    neverRemoved: boolean,
    start: WatchStart,
    listener: (change: RevisedChange) => void,
  ): Watch {
    const watch = this.#watchers.add(prefix, listener)
    const followed = this.#followed.get(prefix) ?? {
      prefix,
      neverRemoved,
      watches: new Set(),
      checked: undefined,
      turns: this.#store.history.turns,
      wentBack: false,
      listing: undefined,
      told: new Map(),
    }
    this.#followed.set(prefix, followed)
    followed.watches.add(start)
    return {
      close: () => {
        watch.close()
        followed.watches.delete(start)
        if (followed.watches.size === 0 && this.#followed.get(prefix) === followed)
          this.#followed.delete(prefix)
      },
    }
  }

  #end(): void {
    this.#session?.abort.abort()
    this.#session = undefined
  }

  #begin(): WatchSession {
    const abort = new AbortController()
    const created = Promise.withResolvers<void>()
    this.#streamed = 0n
    this.#isCompacted = false
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
    await this.#listBefore(signal)
    const startRevision = String(this.#streamed + 1n)
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
      if (response.canceled) {
        this.#isCompacted = true
        return end(response.cancelReason || 'it has compacted what comes next')
      }
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
      const revision = BigInt(kv.modRevision)
      this.#accept(this.#store.keys.recordOf(kv.key), revision, type === removed ? undefined : kv)
      if (revision > this.#streamed) this.#streamed = revision
    }
  }

  /** Finds where the next stream begins, and lists what no stream can report any more. */
  async #listBefore(signal: AbortSignal): Promise<void> {
    const { revision } = await this.#store.read()
    const isFirst = this.#streamed === 0n
    const { turns } = this.#store.history
    const isSame = turns === this.#turns && revision >= this.#streamed
    if (!isFirst && !this.#isCompacted && isSame) return
    if (!isFirst) for (const followed of this.#followed.values()) await this.#list(followed, signal, 0)
    this.#streamed = revision
    this.#turns = turns
    this.#isCompacted = false
  }

  #listPeriodically(signal: AbortSignal): void {
    // A failure shows in the engine's status; the next list finds what this one has missed.
    const timer = repeat(this.#clock, listEveryMs, async () => {
      for (const followed of this.#followed.values()) await this.#list(followed, signal, pageEveryMs)
    })
    signal.addEventListener('abort', () => timer.cancel(), { once: true })
  }

  /** Notes which records exist at a revision. The stream reports what changes from then on, and may have begun to. */
  async #checkFirst(followed: Followed, revision: bigint): Promise<void> {
    if (followed.checked !== undefined) return
    if (!followed.neverRemoved) {
      for (const [key, written] of await this.#keysAt(followed.prefix, revision))
        if (!followed.told.has(key)) followed.told.set(key, written)
    }
    followed.checked ??= revision
  }

  /** Reports missed changes. One list of a prefix at a time: each begins at the revision of the one before. */
  async #list(followed: Followed, signal: AbortSignal, pauseMs: number): Promise<void> {
    while (followed.listing !== undefined) await followed.listing.catch(() => {})
    followed.listing = this.#listOnce(followed, signal, pauseMs)
    try {
      await followed.listing
    } finally {
      followed.listing = undefined
    }
  }

  async #listOnce(followed: Followed, signal: AbortSignal, pauseMs: number): Promise<void> {
    const { neverRemoved, prefix, told, checked } = followed
    if (checked === undefined || signal.aborted) return
    const range = { ...this.#rangeOf(prefix), minModRevision: String(checked + 1n) }
    // Only newer records, and the number of all: most often both show that no change was missed.
    const { revision, found } = await this.#store.read(neverRemoved ? [] : [range])
    if (signal.aborted) return
    const { turns } = this.#store.history
    if (turns !== followed.turns || revision < checked || revision < this.#streamed) {
      // Revisions are counted anew from there. A list that fails is repeated as one after this.
      followed.wentBack = true
      followed.turns = turns
      followed.checked = 0n
      if (neverRemoved) told.clear()
      for (const each of followed.watches) if (each.after !== undefined) each.after = 0n
    }
    for (const kv of found[0]?.kvs ?? []) this.#acceptRecord(kv)
    if (neverRemoved) await this.#listNewer(followed, signal, pauseMs)
    else if (followed.wentBack || Number(found[0]!.count) !== told.size)
      await this.#listAll(followed, revision, signal)
    if (signal.aborted) return
    followed.checked = revision
    followed.wentBack = false
    if (neverRemoved) for (const [key, written] of told) if (written <= revision) told.delete(key)
  }

  /** Looks for records that are newer than the list before, a page at a time. All are new to etcd when it has gone back. */
  async #listNewer(followed: Followed, signal: AbortSignal, pauseMs: number): Promise<void> {
    const keysOnly = !followed.wentBack
    const limit = String(keysOnly ? pageMax : valuesPageMax)
    let askedUs = this.#clock.monoUs()
    for await (const { kvs } of this.#store.pages({ ...this.#rangeOf(followed.prefix), limit, keysOnly })) {
      for (const kv of kvs) {
        if (signal.aborted) return
        if (!keysOnly) this.#acceptRecord(kv)
        else if (this.#isNews(followed, this.#store.keys.recordOf(kv.key), BigInt(kv.modRevision)))
          await this.#readAndReport(this.#store.keys.recordOf(kv.key))
      }
      const tookMs = (this.#clock.monoUs() - askedUs) / 1000
      const isLast = kvs.length < Number(limit)
      if (!isLast && pauseMs > 0) await sleep(this.#clock, Math.max(pauseMs, pagePauseTimes * tookMs))
      askedUs = this.#clock.monoUs()
    }
  }

  /** Compares all keys that existed at a revision with the reported ones. */
  async #listAll(followed: Followed, revision: bigint, signal: AbortSignal): Promise<void> {
    const { wentBack } = followed
    const there = await this.#keysAt(followed.prefix, revision)
    if (signal.aborted) return
    for (const [key, told] of followed.told) {
      if (there.has(key) || (told > revision && !wentBack)) continue
      followed.told.delete(key)
      this.#report(key, undefined, revision)
    }
    for (const [key, written] of there) {
      const told = followed.told.get(key)
      if (told !== undefined && (wentBack ? told === written : told >= written)) continue
      if (wentBack) followed.told.delete(key)
      await this.#readAndReport(key)
    }
  }

  async #readAndReport(key: string): Promise<void> {
    const range = { key: this.#store.keys.record(key) }
    const { found } = await this.#store.read([range])
    const [kv] = found[0]!.kvs
    if (kv !== undefined) this.#acceptRecord(kv)
  }

  async #keysAt(prefix: string, revision: bigint): Promise<Map<string, bigint>> {
    const range = {
      ...this.#rangeOf(prefix),
      limit: String(pageMax),
      revision: String(revision),
      keysOnly: true,
    }
    const keys = new Map<string, bigint>()
    for await (const { kvs } of this.#store.pages(range))
      for (const kv of kvs) keys.set(this.#store.keys.recordOf(kv.key), BigInt(kv.modRevision))
    return keys
  }

  #rangeOf(prefix: string): { readonly key: Buffer; readonly rangeEnd: Buffer } {
    const key = this.#store.keys.record(prefix)
    return { key, rangeEnd: endOf(key) }
  }

  #acceptRecord(kv: KeyValue): void {
    this.#accept(this.#store.keys.recordOf(kv.key), BigInt(kv.modRevision), kv)
  }

  #accept(key: string, revision: bigint, kv: KeyValue | undefined): void {
    let isNews = false
    for (const followed of this.#followed.values()) {
      if (!key.startsWith(followed.prefix) || !this.#isNews(followed, key, revision)) continue
      isNews = true
      if (kv === undefined) followed.told.delete(key)
      else followed.told.set(key, revision)
    }
    if (isNews) this.#report(key, kv, revision)
  }

  #isNews({ checked, told }: Followed, key: string, revision: bigint): boolean {
    return revision > (checked ?? 0n) && revision > (told.get(key) ?? 0n)
  }

  #report(key: string, kv: KeyValue | undefined, revision: bigint): void {
    const record = kv && this.#records.recordOf(kv, this.#store.history.known.state)
    this.#watchers.notify({ key, record, revision })
  }
}
