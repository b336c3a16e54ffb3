/** The default engine: one durable SQLite file, for one node and other processes on its machine. */

import { existsSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'
import type { Timer } from '../../base/clock.ts'
import { describe, FahaoError, hasCode } from '../../base/errors.ts'
import { Timeline } from '../../base/timeline.ts'
import { startThread } from '../../installation/threads.ts'
import { inTurns, repairNothing, untilUnchanged } from '../advance-rules.ts'
import { CallsInFlight } from '../calls-in-flight.ts'
import { checkCommit, checkGap, checkReserve, completed, releaseRequest } from '../counter-rules.ts'
import type {
  AdvanceOptions,
  Commit,
  Committed,
  Counter,
  Engine,
  EngineStatus,
  LookedUp,
  LookUp,
  Page,
  RecordChange,
  Reservation,
  ReserveRequest,
  StoredRecord,
  StoreOwnership,
  Watch,
  WriterIdentity,
} from '../engine.ts'
import type { EngineOptions } from '../engine-options.ts'
import { listAll } from '../pages.ts'
import { PolledWatches, watchDelayMs } from '../polled-watch.ts'
import { newStore } from '../store-creation.ts'
import { Owner } from './owner.ts'
import { OwnerLock } from './owner-lock.ts'
import { packLookUps } from './packed-look-ups.ts'
import { linksOf, refuseNetwork, storeFileOf } from './store-file.ts'
import { ThreadCalls } from './thread-calls.ts'
import type { OpenedReply, ThreadInput, ThreadReply, ThreadRequest } from './thread-messages.ts'

/**
 * Opens the store in a file, which is created with its folder if it does not exist.
 * Rejects with CONFIG if `location` is no path, ENGINE if the file cannot be used as it is.
 */
export async function openSqlite(location: string, options: EngineOptions): Promise<SqliteEngine> {
  const file = await storeFileOf(location)
  if (!options.unsafe) refuseNetwork(file)
  const tell = existsSync(file) ? undefined : newStore(options, file)
  const lock = OwnerLock.use(file)
  try {
    // Below the calls' deadline, so that a call which waits for another process's lock fails as UNAVAILABLE.
    const busyTimeoutMs = Math.floor(options.callTimeoutMs * 0.75)
    const workerData: ThreadInput = { file, busyTimeoutMs }
    const thread = startThread(new URL('./store-thread.ts', import.meta.url), { workerData, name: 'sqlite' })
    const engine = await SqliteEngine.start(file, thread, lock, options)
    // If a store should have been there, this line in the log shows that it is gone.
    tell?.()
    return engine
  } catch (error) {
    lock.release()
    throw error
  }
}

/** The recovery of a long write-ahead log takes time. */
const openTimeoutMs = 30_000
const checkMs = 1000

/** The main thread's side of the engine. The thread of the store alone accesses the database. */
export class SqliteEngine implements Engine {
  readonly name = 'sqlite'
  readonly location: string
  readonly lastWriteUs: number | undefined
  readonly watchDelayMs = watchDelayMs
  advances = 0
  readonly #options: EngineOptions
  readonly #timeline: Timeline
  readonly #thread: Worker
  readonly #file: string
  readonly #lock: OwnerLock
  readonly #owner: Owner
  readonly #calls: ThreadCalls
  readonly #inFlight = new CallsInFlight()
  readonly #watches: PolledWatches
  #trouble: string | undefined
  #isThreadLost = false
  #isLinked = false
  #checks: Timer | undefined

  private constructor(
    file: string,
    thread: Worker,
    lock: OwnerLock,
    options: EngineOptions,
    opened: OpenedReply,
  ) {
    this.location = `sqlite:${file}`
    this.lastWriteUs = opened.lastWriteUs
    this.#options = options
    this.#timeline = new Timeline(options.clock, { lastWriteUs: opened.lastWriteUs })
    this.#thread = thread
    this.#file = file
    this.#lock = lock
    this.#owner = new Owner({
      lock,
      clock: options.clock,
      read: () => this.#calls.call('claim'),
      sign: (claim, over) => this.#calls.call('own', claim, over),
      onLost: () => options.onOwnershipLost?.(),
      onEvent: options.onEvent,
    })
    // Polls run on timers of `options.clock`, which do not keep the process alive.
    this.#watches = new PolledWatches(options.clock, (since) => this.#calls.call('changes', since))
    this.#calls = new ThreadCalls({
      clock: options.clock,
      timeoutMs: options.callTimeoutMs,
      inFlight: this.#inFlight,
      send: (operations) => this.#post({ type: 'batch', nowUs: this.#timeline.nowUs(), operations }),
      onWrote: (record) => this.#watches.wrote(record),
    })
    thread.on('message', (reply: ThreadReply) => {
      assert(reply.type !== 'opened', 'a thread opens once')
      this.#setTrouble(reply.trouble)
      if (reply.type === 'trouble') return
      if (reply.advances > this.advances) {
        this.advances = reply.advances
        options.onAdvanced?.()
      }
      for (const record of reply.repaired) this.#watches.wrote(record)
      this.#calls.done(reply.outcomes)
    })
    thread.on('error', (error) => this.#threadLost(describe(error)))
    thread.on('exit', () => this.#threadLost('its thread has ended'))
    thread.unref()
    if (opened.converted !== undefined) this.#log('info', opened.converted)
    this.#setTrouble(opened.trouble)
    this.#checkPeriodically()
  }

  /** Resolves once the thread has opened the file, and the store's owner is known. Rejects with ENGINE. */
  static async start(
    file: string,
    thread: Worker,
    lock: OwnerLock,
    options: EngineOptions,
  ): Promise<SqliteEngine> {
    const opened = await new Promise<OpenedReply>((resolve, reject) => {
      const refuse = (message: string) => {
        thread.unref()
        reject(new FahaoError('ENGINE', message))
      }
      thread.once('message', resolve)
      thread.once('error', (error) => refuse(describe(error)))
      thread.once('exit', () => refuse(`the thread for ${file} ended before it had opened it`))
      options.clock.timer(openTimeoutMs, () =>
        refuse(`${file} could not be opened in time; look at its disk`),
      )
    })
    const engine = new SqliteEngine(file, thread, lock, options, opened)
    await engine.#owner.settle()
    return engine
  }

  reserve(counter: string, request: ReserveRequest): Promise<Reservation> {
    checkReserve(request)
    const { claim } = this.#owner
    const { size, floor, max, fence, incarnation } = completed(request)
    const reserved = this.#calls.call('reserve', counter, claim, size, floor, max, fence, incarnation)
    return claim === undefined ? reserved : this.#asOwner(claim, reserved)
  }

  release(counter: string, reservation: Reservation, from: bigint, writer: WriterIdentity): Promise<boolean> {
    const { version, fence, incarnation } = releaseRequest(reservation, from, writer)
    return this.#calls.call('release', counter, version, from, fence, incarnation)
  }

  transfer(counter: string, from: bigint): void {
    this.#calls.call('transfer', counter, from).catch(() => {})
  }

  acquire(counter: string, end: bigint): void {
    this.#calls.call('acquire', counter, end).catch(() => {})
  }

  counter(name: string): Promise<Counter> {
    return this.#calls.call('counter', name)
  }

  async advance(
    gap: bigint,
    repair = repairNothing,
    { ifRegressed = false }: AdvanceOptions = {},
  ): Promise<number> {
    checkGap(gap)
    return untilUnchanged(async () => {
      const records = await listAll(this, '')
      const { records: values, counters } = await inTurns(repair(records))
      const versions = new Map(records.map(({ key, version }) => [key, version]))
      const repaired = [...values].map(([key, value]) => ({ key, value, expected: versions.get(key) }))
      const raised = await this.#calls.call('advance', gap, repaired, counters, ifRegressed)
      if (raised === undefined || (ifRegressed && raised === 0)) return raised
      await this.#owner.sign().catch(() => {})
      this.#log('warn', `raised ${raised} counters by ${gap} and accepted the store as it is`)
      return raised
    })
  }

  read(key: string): Promise<StoredRecord | undefined> {
    return this.#calls.call('read', key)
  }

  list(prefix: string, { after = '', limit }: Page = {}): Promise<StoredRecord[]> {
    return this.#calls.call('list', prefix, after, limit)
  }

  write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined> {
    // What has this value is no removal.
    return this.#calls.call('write', key, value, expected) as Promise<StoredRecord | undefined>
  }

  async remove(key: string, expected: bigint): Promise<boolean> {
    return (await this.#calls.call('write', key, null, expected)) !== undefined
  }

  lookUp(lookUps: readonly LookUp[]): Promise<readonly (LookedUp | FahaoError)[]> {
    const { claim } = this.#owner
    const lookedUp = this.#calls.call('lookUp', packLookUps(lookUps), claim)
    return claim === undefined ? lookedUp : this.#asOwner(claim, lookedUp)
  }

  commit(commit: Commit): Promise<Committed | undefined> {
    checkCommit(commit)
    const claim = commit.counter && this.#owner.claim
    const committed = this.#calls.call('commit', commit, claim)
    return claim === undefined ? committed : this.#asOwner(claim, committed)
  }

  async watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    const revision = await this.#calls.call('revision')
    return this.#watches.add(prefix, listener, revision)
  }

  ownership(): Promise<StoreOwnership> {
    return this.#inFlight.run(() => this.#owner.ask())
  }

  readonly owns = (): boolean => this.#owner.owns()

  status(): EngineStatus {
    const reason =
      this.#trouble ?? (this.#calls.stuck ? 'the store does not answer; look at its disk' : undefined)
    return reason === undefined ? { state: 'up' } : { state: 'down', reason }
  }

  close(): Promise<void> {
    this.#watches.close()
    this.#checks?.cancel()
    return this.#inFlight.close(async () => {
      if (!this.#isThreadLost) await this.#endThread()
      this.#trouble = 'closed'
      this.#lock.release()
    })
  }

  /** After a refusal under this claim, looks whether this process is still the owner. */
  async #asOwner<Value>(claim: string, call: Promise<Value>): Promise<Value> {
    try {
      return await call
    } catch (error) {
      if (hasCode(error, 'STALE')) await this.#owner.confirm(claim)
      throw error
    }
  }

  async #endThread(): Promise<void> {
    this.#post({ type: 'close' })
    await new Promise<void>((resolve) => {
      const tooLate = this.#options.clock.timer(this.#options.callTimeoutMs, resolve)
      this.#thread.once('exit', () => {
        tooLate.cancel()
        resolve()
      })
    })
  }

  #post(request: ThreadRequest): void {
    this.#thread.postMessage(request)
  }

  /** Checks the ownership and the store's names every second, also while no call is made. */
  #checkPeriodically(): void {
    this.#checks = this.#options.clock.timer(checkMs, () => {
      this.#owner.owns()
      const linked = linksOf(this.#file) > 1
      if (linked && !this.#isLinked)
        this.#log(
          'error',
          `${this.#file} has been given a second name by a hard link; remove that name: the store is not opened again as long as it is there`,
        )
      this.#isLinked = linked
      this.#checkPeriodically()
    })
  }

  #setTrouble(trouble: string | undefined): void {
    if (trouble === this.#trouble) return
    if (trouble !== undefined) this.#log('error', trouble)
    else this.#log('info', `${this.location} works again`)
    this.#trouble = trouble
  }

  #threadLost(reason: string): void {
    this.#isThreadLost = true
    if (this.#inFlight.isClosed) return
    this.#calls.end(`the store's worker was lost (${reason}); restart this process`)
    this.#setTrouble(`the store's worker was lost (${reason}); restart this process`)
  }

  #log(level: 'info' | 'warn' | 'error', message: string): void {
    this.#options.onEvent({ level, message })
  }
}
