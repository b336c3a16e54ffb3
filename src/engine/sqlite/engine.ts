/**
 * The SQLite engine: the default, for one node, durable. The file is handled in a worker thread, so that a slow
 * disk never stalls the event loop.
 *
 * Invariants
 *  1. One batch is under way at a time; whatever arrives meanwhile goes together in the next one, so that many
 *     generators share one sync.
 *  2. Every call settles within `callTimeoutMs`. A write that was sent by then is UNKNOWN, one that was not
 *     has never been, and is UNAVAILABLE. A late answer is dropped; nothing is sent twice.
 */
import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'
import { describe, FahaoError } from '../../base/errors.ts'
import type {
  Counter,
  Engine,
  EngineOptions,
  EngineStatus,
  Ownership,
  RecordChange,
  Reservation,
  ReserveRequest,
  StoredRecord,
  Watch,
} from '../engine.ts'
import {
  type Changes,
  isWrite,
  type Message,
  type Operation,
  type Outcome,
  type WorkerInput,
} from './protocol.ts'

type Call = {
  readonly operation: Operation
  readonly deadlineUs: number
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
  settled: boolean
}

type Watcher = { readonly prefix: string; readonly listener: (change: RecordChange) => void }

const pollMs = 250
const batchMax = 1000
const listMax = 1_000_000

/** Opens or creates the store in `file`. Rejects with ENGINE and what to do. */
export async function openSqlite(file: string, options: EngineOptions): Promise<Engine> {
  if (file === '')
    throw new FahaoError('CONFIG', 'the engine URL names no file; write sqlite:./data/fahao.db')
  const path = resolve(file)
  try {
    mkdirSync(dirname(path), { recursive: true })
  } catch (error) {
    throw new FahaoError('ENGINE', `the folder of ${path} cannot be made: ${describe(error)}`)
  }
  const input: WorkerInput = { file: path, busyTimeoutMs: Math.max(1, Math.floor(options.callTimeoutMs / 2)) }
  // Run from source or built: the thread's file stands beside this one, with the same ending.
  const thread = import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js'
  const worker = new Worker(new URL(thread, import.meta.url), { workerData: input })
  const first = await new Promise<Message>((opened, failed) => {
    worker.once('message', opened)
    worker.once('error', failed)
  })
  if (first.type !== 'opened') {
    await worker.terminate()
    const reason = first.type === 'refused' ? first.message.replace(/^ENGINE /, '') : 'it did not open'
    throw new FahaoError('ENGINE', `the store ${path} cannot be opened: ${reason}`)
  }
  return new SqliteEngine(`sqlite:${file}`, worker, first.lastWriteUs, first.trouble, options)
}

/** See the invariants at the top of the file. */
class SqliteEngine implements Engine {
  readonly name = 'sqlite'
  readonly location: string
  readonly lastWriteUs: number | undefined
  readonly #worker: Worker
  readonly #clock: Clock
  readonly #options: EngineOptions
  readonly #watchers = new Set<Watcher>()
  #queue: Call[] = []
  #underWay: Call[] = []
  #batch = 0
  #deadline: Timer | undefined
  #poll: Timer | undefined
  #revision = 0n
  #owner = false
  #trouble: string | undefined
  #closed = false
  #idle: (() => void) | undefined

  constructor(
    location: string,
    worker: Worker,
    lastWriteUs: number | undefined,
    trouble: string | undefined,
    options: EngineOptions,
  ) {
    this.location = location
    this.lastWriteUs = lastWriteUs
    this.#worker = worker
    this.#clock = options.clock
    this.#options = options
    this.#know(trouble)
    worker.on('message', (message: Message) => message.type === 'done' && this.#done(message))
    worker.on('error', (error) => this.#lost(`the store's thread failed: ${describe(error)}`))
    worker.on('exit', () => this.#lost('the store is closed'))
    worker.unref()
  }

  reserve(counter: string, request: ReserveRequest): Promise<Reservation> {
    return this.#call({ op: 'reserve', counter, request })
  }

  release(
    counter: string,
    { version }: Reservation,
    from: bigint,
    { fence = 0n, incarnation }: { readonly fence?: bigint; readonly incarnation: bigint },
  ): Promise<boolean> {
    return this.#call({ op: 'release', counter, version, from, fence, incarnation })
  }

  counter(counter: string): Promise<Counter> {
    return this.#call({ op: 'counter', counter })
  }

  advance(gap: bigint): Promise<number> {
    return this.#call({ op: 'advance', gap })
  }

  read(key: string): Promise<StoredRecord | undefined> {
    return this.#call({ op: 'read', key })
  }

  list(
    prefix: string,
    page: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<StoredRecord[]> {
    return this.#call({ op: 'list', prefix, after: page.after ?? '', limit: page.limit ?? listMax })
  }

  write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined> {
    return this.#call({ op: 'write', key, value, expected })
  }

  remove(key: string, expected: bigint): Promise<boolean> {
    return this.#call({ op: 'remove', key, expected })
  }

  async watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    if (this.#watchers.size === 0) {
      const { revision } = await this.#call<Changes>({ op: 'changes', since: 2n ** 62n })
      this.#revision = revision
    }
    const watcher = { prefix, listener }
    this.#watchers.add(watcher)
    this.#pollLater()
    return { close: () => this.#watchers.delete(watcher) }
  }

  async ownership(): Promise<Ownership> {
    if (this.#owner) return { state: 'owner' }
    const holder = await this.#call<string | undefined>({ op: 'own' })
    this.#owner = holder === undefined
    return holder === undefined ? { state: 'owner' } : { state: 'other', holder }
  }

  status(): EngineStatus {
    return this.#trouble === undefined ? { state: 'up' } : { state: 'down', reason: this.#trouble }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#poll?.cancel()
    this.#watchers.clear()
    if (this.#queue.length + this.#underWay.length > 0) await new Promise<void>((idle) => (this.#idle = idle))
    this.#worker.ref()
    const gone = new Promise<void>((exited) => this.#worker.once('exit', () => exited()))
    this.#worker.postMessage('close')
    await gone
  }

  #call<Value>(operation: Operation): Promise<Value> {
    if (this.#closed) return Promise.reject(new FahaoError('UNAVAILABLE', 'the store is closed'))
    return new Promise<Value>((resolve, reject) => {
      const deadlineUs = this.#clock.monoUs() + this.#options.callTimeoutMs * 1000
      this.#queue.push({ operation, deadlineUs, resolve, reject, settled: false })
      if (this.#underWay.length === 0) this.#send()
      this.#watchDeadline()
    })
  }

  #send(): void {
    this.#underWay = this.#queue.splice(0, batchMax)
    if (this.#underWay.length === 0) {
      this.#worker.unref()
      this.#idle?.()
      return
    }
    // A process that waits for an answer stays; one that only has the store open may end.
    this.#worker.ref()
    this.#worker.postMessage({
      id: ++this.#batch,
      operations: this.#underWay.map(({ operation }) => operation),
    })
  }

  #done({ id, outcomes, trouble }: Extract<Message, { type: 'done' }>): void {
    if (id !== this.#batch) return
    this.#know(trouble)
    const calls = this.#underWay
    this.#send()
    for (const [index, call] of calls.entries()) this.#settle(call, outcomes[index]!)
    this.#watchDeadline()
  }

  #settle(call: Call, outcome: Outcome): void {
    if ('value' in outcome) this.#tellOwn(call.operation, outcome.value)
    if (call.settled) return
    call.settled = true
    if ('value' in outcome) call.resolve(outcome.value as never)
    else call.reject(new FahaoError(outcome.code, outcome.message))
  }

  /** One timer for the oldest call: the others came later and may take as long. */
  #watchDeadline(): void {
    const oldest = this.#underWay.find(({ settled }) => !settled) ?? this.#queue[0]
    this.#deadline?.cancel()
    this.#deadline = undefined
    if (oldest === undefined) return
    const delayMs = Math.max(0, Math.ceil((oldest.deadlineUs - this.#clock.monoUs()) / 1000))
    this.#deadline = this.#clock.timer(delayMs, () => this.#expire())
  }

  #expire(): void {
    const nowUs = this.#clock.monoUs()
    const message = `the store has not answered for ${this.#options.callTimeoutMs} ms`
    this.#know(message)
    for (const call of this.#underWay) {
      if (call.settled || call.deadlineUs > nowUs) continue
      call.settled = true
      call.reject(new FahaoError(isWrite(call.operation) ? 'UNKNOWN' : 'UNAVAILABLE', message))
    }
    const expired = this.#queue.filter(({ deadlineUs }) => deadlineUs <= nowUs)
    this.#queue = this.#queue.filter(({ deadlineUs }) => deadlineUs > nowUs)
    for (const call of expired)
      call.reject(new FahaoError('UNAVAILABLE', `${message}; this call was not sent`))
    this.#watchDeadline()
  }

  /** Own writes are told at once; the poll tells them again, which a listener does not mind. */
  #tellOwn(operation: Operation, value: unknown): void {
    if (operation.op === 'write' && value !== undefined) {
      this.#tell({ key: operation.key, record: value as StoredRecord })
    }
    if (operation.op === 'remove' && value === true) this.#tell({ key: operation.key, record: undefined })
  }

  #tell(change: RecordChange): void {
    for (const { prefix, listener } of this.#watchers) if (change.key.startsWith(prefix)) listener(change)
  }

  /**
   * Changes of other processes, by the revision that every write raises. Removed records keep a row, so that
   * this misses nothing, and no full list is needed beside it.
   */
  #pollLater(): void {
    if (this.#poll !== undefined || this.#closed) return
    this.#poll = this.#clock.timer(pollMs, () => {
      this.#poll = undefined
      if (this.#watchers.size === 0) return
      this.#call<Changes>({ op: 'changes', since: this.#revision })
        .then(({ revision, changes }) => {
          this.#revision = revision
          for (const change of changes) this.#tell(change)
        })
        // A store that does not answer is told by status(); the next poll asks again.
        .catch(() => {})
        .finally(() => this.#pollLater())
    })
  }

  #know(trouble: string | undefined): void {
    if (trouble === this.#trouble) return
    if (trouble === undefined) this.#options.onEvent({ level: 'info', message: 'the store works again' })
    else this.#options.onEvent({ level: 'error', message: trouble })
    this.#trouble = trouble
  }

  /** The thread is gone: nothing will be answered any more. */
  #lost(reason: string): void {
    this.#deadline?.cancel()
    this.#poll?.cancel()
    if (!this.#closed) this.#know(reason)
    this.#closed = true
    const calls = [...this.#underWay, ...this.#queue]
    const sent = this.#underWay.length
    this.#underWay = []
    this.#queue = []
    calls.forEach((call, index) => {
      if (call.settled) return
      call.settled = true
      call.reject(new FahaoError(index < sent && isWrite(call.operation) ? 'UNKNOWN' : 'UNAVAILABLE', reason))
    })
    this.#idle?.()
  }
}
