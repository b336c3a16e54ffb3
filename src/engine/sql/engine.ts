/** An engine in a database that many nodes share. The dialect holds what differs between kinds of databases. */
import { randomUUID } from 'node:crypto'
import type { Timer } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { Timeline } from '../../base/timeline.ts'
import { advanceTimeoutMs, inTurns, repairNothing, untilUnchanged, widened } from '../advance-rules.ts'
import { checkCommit, checkGap, checkRelease, checkReserve } from '../counter-rules.ts'
import {
  type AdvanceOptions,
  boundMax,
  type Commit,
  type Committed,
  type Counter,
  type Engine,
  type EngineStatus,
  type LookedUp,
  type LookUp,
  type Page,
  type RecordChange,
  type Repair,
  type Reservation,
  type ReserveRequest,
  type StoredRecord,
  type StoreOwnership,
  type Watch,
} from '../engine.ts'
import type { EngineOptions } from '../engine-options.ts'
import { type Creation, known, lookUpEach } from '../look-ups.ts'
import { type ChangePage, PolledWatches, watchDelayMs } from '../polled-watch.ts'
import { BatchedCalls, type CallKind } from './batched-calls.ts'
import type { CallOptions, ConnectionPool } from './connection-pool.ts'
import { Counters, type ReleaseCall, type ReserveCall } from './counters.ts'
import { type Ask, isRefusal, type Row, type SqlCommand } from './driver.ts'
import { checkDurability } from './durability.ts'
import type { EngineHealth } from './health.ts'
import { Heartbeat } from './heartbeat.ts'
import { advancesBetween, changedPositionOf, History, historyJump, type State, stateOf } from './history.ts'
import { lengthOfPart, Names, partsOf } from './names.ts'
import { Records } from './records.ts'
import { type Dialect, type RecordRevision, raisesOf } from './statements.ts'

/** Calls in one message: MySQL accepts messages of at least 1 MiB, and a call needs less than 2 KiB beside its value. */
const batchMax = 250

/** One message of look-ups on its way, and one that the server carries out: those that create names lock the state row. */
const lookUpWidth = 2

/** A database in which open.ts has found or made a store. */
export type OpenedStore = {
  readonly location: string
  readonly dialect: Dialect
  readonly pool: ConnectionPool
  readonly health: EngineHealth
  readonly state: State
}

/** Carries out each call on one connection of its pool, in one or a few statements. */
export class SqlEngine implements Engine {
  readonly name: string
  readonly location: string
  readonly lastWriteUs: number | undefined
  readonly watchDelayMs = watchDelayMs
  readonly #options: EngineOptions
  readonly #dialect: Dialect
  readonly #pool: ConnectionPool
  readonly #health: EngineHealth
  readonly #timeline: Timeline
  readonly #history: History
  readonly #counters: Counters
  readonly #records: Records
  readonly #watches: PolledWatches
  readonly #heartbeat: Heartbeat
  readonly #durability: Timer | undefined
  readonly #reserves: BatchedCalls<ReserveCall, Reservation>
  readonly #releases: BatchedCalls<ReleaseCall, boolean>
  readonly #writes: BatchedCalls<RecordRevision, bigint | undefined>
  readonly #lookUps: BatchedCalls<readonly Creation[], (LookedUp | undefined)[]>
  readonly #counterReads: BatchedCalls<string, Counter>
  readonly #recordReads: BatchedCalls<string, StoredRecord | undefined>
  #closing: Promise<void> | undefined

  constructor({ location, dialect, pool, health, state }: OpenedStore, options: EngineOptions) {
    const { clock } = options
    this.name = dialect.name
    this.location = location
    this.lastWriteUs = state.lastWriteUs === 0 ? undefined : state.lastWriteUs
    this.#options = options
    this.#dialect = dialect
    this.#pool = pool
    this.#health = health
    this.#timeline = new Timeline(clock, { lastWriteUs: this.lastWriteUs })
    const onRegressed = (reason: string) => {
      health.troubled('history', reason)
      options.onRegressed?.(reason)
    }
    this.#history = new History(
      {
        clock,
        mark: (reason, history) => dialect.command((s) => s.suspect(reason, history)),
        onRegressed,
        onAdvanced: () => options.onAdvanced?.(),
      },
      state,
    )
    this.#counters = new Counters(dialect, this.#history)
    this.#records = new Records(dialect, this.#history)
    this.#watches = new PolledWatches(clock, (revision) => this.#read((ask) => this.#changes(ask, revision)))
    this.#heartbeat = new Heartbeat(clock, () => this.#beat())
    this.#durability = options.unsafe
      ? undefined
      : checkDurability(
          clock,
          async () => dialect.unsafeSettings((await this.#read((ask) => ask(dialect.conditions)))[0] ?? {}),
          (loss) => health.durable(loss),
        )
    const counters = this.#counters
    const records = this.#records
    this.#reserves = this.#callsOf({
      writes: true,
      keyOf: ([name]) => name,
      alone: (ask, call) => counters.reserve(ask, ...call),
      together: (ask, calls) => counters.reserveAll(ask, calls),
    })
    this.#releases = this.#callsOf({
      writes: true,
      keyOf: ([name]) => name,
      alone: (ask, call) => counters.release(ask, ...call),
      together: (ask, calls) => counters.releaseAll(ask, calls),
    })
    const reviseAll = (ask: Ask, writes: readonly RecordRevision[]) =>
      records.revise(ask, writes, this.#timeline.nowUs())
    const write: CallKind<RecordRevision, bigint | undefined> = {
      writes: true,
      keyOf: ({ key }) => key,
      lengthOf: ({ value = '' }) => value.length,
      alone: async (ask, write) => (await reviseAll(ask, [write]))[0],
      together: async (ask, writes) => (await reviseAll(ask, writes)).map((value) => ({ value })),
    }
    this.#writes = this.#callsOf(write, batchMax)
    const names = new Names(dialect, this.#history, counters)
    const lookUpAll = (ask: Ask, lookUps: readonly Creation[]) =>
      names.lookUp(ask, lookUps, this.#timeline.nowUs())
    this.#lookUps = this.#callsOf(
      {
        writes: true,
        lengthOf: lengthOfPart,
        alone: lookUpAll,
        together: async (ask, parts) => {
          const outcomes = (await lookUpAll(ask, parts.flat())).values()
          return parts.map((part) => ({ value: part.map(() => outcomes.next().value) }))
        },
      },
      batchMax,
      lookUpWidth,
    )
    this.#counterReads = this.#readsOf((ask, names) => counters.counters(ask, names))
    this.#recordReads = this.#readsOf((ask, keys) => records.read(ask, keys))
    health.begin(() => this.#beat({ probe: true }))
    const regression = this.#history.regression(state, this.#history.known)
    if (regression !== undefined) onRegressed(regression)
  }

  get advances(): number {
    return this.#history.known.advances
  }

  reserve(counter: string, request: ReserveRequest): Promise<Reservation> {
    checkReserve(request)
    return this.#reserves.call([counter, request])
  }

  release(...call: ReleaseCall): Promise<boolean> {
    checkRelease(call[1], call[2])
    return this.#releases.call(call)
  }

  transfer(counter: string, from: bigint): void {
    this.#counters.transfer(counter, from)
  }

  acquire(counter: string, end: bigint): void {
    this.#counters.acquire(counter, end)
  }

  counter(name: string): Promise<Counter> {
    return this.#counterReads.call(name)
  }

  async advance(
    gap: bigint,
    repair = repairNothing,
    { ifRegressed = false }: AdvanceOptions = {},
  ): Promise<number> {
    checkGap(gap)
    const timeoutMs = advanceTimeoutMs(this.#options.callTimeoutMs)
    return untilUnchanged(() =>
      this.#write((ask) => this.#advance(ask, gap, repair, ifRegressed), { timeoutMs }),
    )
  }

  read(key: string): Promise<StoredRecord | undefined> {
    return this.#recordReads.call(key)
  }

  list(prefix: string, { after, limit }: Page = {}): Promise<StoredRecord[]> {
    return this.#records.list((work) => this.#read(work), prefix, after, limit)
  }

  async write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined> {
    const version = await this.#revise(key, value, expected)
    return version === undefined ? undefined : { key, value, version }
  }

  async remove(key: string, expected: bigint): Promise<boolean> {
    return (await this.#revise(key, undefined, expected)) !== undefined
  }

  lookUp(lookUps: readonly LookUp[]): Promise<readonly (LookedUp | FahaoError)[]> {
    return lookUpEach(this, lookUps, this.#dialect.lookUp && ((each) => this.#lookUpAtOnce(each)))
  }

  async watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    const { position } = await this.#read((ask) => this.#state(ask))
    return this.#watches.add(prefix, listener, position.progress.revision)
  }

  async commit(commit: Commit): Promise<Committed | undefined> {
    checkCommit(commit)
    const committed = await this.#write((ask) => this.#counters.commit(ask, commit, this.#timeline.nowUs()))
    for (const record of committed?.records ?? []) this.#watches.wrote(record)
    return committed
  }

  ownership(): Promise<StoreOwnership> {
    if (this.#closing) return Promise.reject(new FahaoError('UNAVAILABLE', 'the engine is closed'))
    return Promise.resolve({ state: 'shared' })
  }

  status(): EngineStatus {
    return this.#health.status
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#watches.close()
    this.#durability?.cancel()
    const reads = [this.#counterReads, this.#recordReads]
    const calls = [this.#reserves, this.#releases, this.#writes, this.#lookUps, ...reads]
    await Promise.all(calls.map((each) => each.drain()))
    await this.#pool.drain()
    await this.#heartbeat.close()
    this.#health.close()
    await this.#pool.end()
  }

  #readsOf<Value>(
    read: (ask: Ask, names: readonly string[]) => Promise<Value[]>,
  ): BatchedCalls<string, Value> {
    return this.#callsOf({
      writes: false,
      alone: async (ask, name) => (await read(ask, [name]))[0]!,
      together: async (ask, names) => (await read(ask, names)).map((value) => ({ value })),
    })
  }

  #callsOf<Request, Value>(
    sort: CallKind<Request, Value>,
    sizeMax = this.#dialect.updateAll === undefined ? 1 : batchMax,
    widthMax = this.#pool.sizeMax,
  ): BatchedCalls<Request, Value> {
    const { clock, callTimeoutMs } = this.#options
    return new BatchedCalls(
      {
        clock,
        timeoutMs: callTimeoutMs,
        widthMax,
        sizeMax,
        run: (work, options) => (sort.writes ? this.#write(work, options) : this.#read(work, options)),
      },
      sort,
    )
  }

  #read<Value>(work: (ask: Ask) => Promise<Value>, options?: CallOptions): Promise<Value> {
    return this.#run('read', work, options)
  }

  async #write<Value>(work: (ask: Ask) => Promise<Value>, options?: CallOptions): Promise<Value> {
    const value = await this.#run('write', work, options)
    const isBeat = options?.probe === true || options?.last === true
    if (!isBeat) this.#heartbeat.wrote()
    return value
  }

  async #run<Value>(
    kind: 'read' | 'write',
    work: (ask: Ask) => Promise<Value>,
    options: CallOptions | undefined,
  ): Promise<Value> {
    try {
      const value = await this.#pool.run(work, options)
      this.#health.worked(kind)
      return value
    } catch (error) {
      if (!this.#closing) this.#health.failed(kind, error)
      throw error
    }
  }

  async #revise(key: string, value: string | undefined, expected: bigint | undefined) {
    const version = await this.#writes.call({ key, value, expected })
    if (version !== undefined) this.#watches.wrote({ key, value: value ?? null, version })
    return version
  }

  async #lookUpAtOnce(lookUps: readonly Creation[]): Promise<readonly (LookedUp | FahaoError | undefined)[]> {
    const lookUp = async (part: readonly Creation[]) => {
      try {
        const outcomes = await this.#lookUps.call(part)
        for (const each of outcomes) if (each?.isNew) this.#watches.wrote(each.record!)
        return outcomes
      } catch (error) {
        // What the server refuses for one name, or for all that writes, need not concern the others.
        const outcome = isRefusal(error) ? undefined : known(error)
        return part.map(() => outcome)
      }
    }
    return (await Promise.all(partsOf(lookUps).map(lookUp))).flat()
  }

  #beat(options: CallOptions = { last: true }): Promise<void> {
    return this.#write(async (ask) => {
      await this.#history.change(ask, (known) => this.#dialect.pulse(known, this.#timeline.nowUs()))
    }, options)
  }

  async #state(ask: Ask): Promise<State> {
    const [row] = await ask(this.#dialect.command((s) => s.state()))
    const state = stateOf(row)
    this.#history.saw(state)
    return state
  }

  async #changes(ask: Ask, since: bigint): Promise<ChangePage> {
    const { known } = this.#history
    const state = await this.#state(ask)
    // Restored records are reported even while writes are refused.
    await this.#history.check(ask, state, known).catch(() => {})
    return this.#records.since(ask, since, state.position.progress.revision)
  }

  /** The number of counters raised; undefined if another process changed a record meanwhile. */
  async #advance(ask: Ask, gap: bigint, repair: Repair, ifRegressed: boolean): Promise<number | undefined> {
    const { known } = this.#history
    const at = await this.#state(ask)
    if (ifRegressed) {
      if (this.#history.regression(at, known) === undefined) return 0
      this.#history.refuseEarlier(at, known)
    }
    // The lost writes may include earlier advances: their gaps, and the reserves above them.
    const times = advancesBetween(at.position, known) + 1n
    const wide = gap * times < boundMax ? gap * times : boundMax - 1n
    const all = await this.#records.list((work) => work(ask), '')
    const { records, counters } = await inTurns(repair(all))
    const [revision, accepted] = [at.position.progress.revision, known.accepted.progress.revision]
    const newest = (revision > accepted ? revision : accepted) + historyJump + BigInt(records.size)
    const repaired = [...records].map(([key, value], place) => ({
      key,
      value,
      version: newest - BigInt(place),
    }))
    const nowUs = this.#timeline.nowUs()
    const raises = raisesOf(wide, widened(counters, times), this.#counters.held())
    const history = randomUUID()
    const advance = { gap: wide, known, ifRegressed, at: at.position, history, nowUs, raises, repaired }
    const [row] = await inOrder(ask, this.#dialect.advance(advance))
    const begun = changedPositionOf(row)
    if (begun === undefined) return undefined
    this.#history.began(begun)
    for (const record of repaired) this.#watches.wrote(record)
    const raised = Number(row!.raised)
    const message = `raised ${raised} counters by ${wide} and accepted the database as it is`
    this.#options.onEvent({ level: 'warn', message })
    return raised
  }
}

/** Sends several commands in order, and returns the rows of the last. */
async function inOrder(ask: Ask, commands: readonly SqlCommand[]): Promise<readonly Row[]> {
  let rows: readonly Row[] = []
  for (const command of commands) rows = await ask(command)
  return rows
}
