/** The engine for clusters: etcd, whose acknowledged writes survive the loss of any minority of its members. */
import { randomUUID } from 'node:crypto'
import { describe, FahaoError, hasCode } from '../../base/errors.ts'
import { repairNothing } from '../advance-rules.ts'
import { CallsInFlight } from '../calls-in-flight.ts'
import { checkCommit, checkGap, checkReserve, releaseRequest } from '../counter-rules.ts'
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
  WatchOptions,
  WriterIdentity,
} from '../engine.ts'
import type { EngineOptions } from '../engine-options.ts'
import { type Creation, known, lookUpEach } from '../look-ups.ts'
import { newStore } from '../store-creation.ts'
import { Advance } from './advance.ts'
import { endOf, methods, unchanged } from './api.ts'
import { Counters } from './counters.ts'
import { History, type Known } from './history.ts'
import { Keys } from './keys.ts'
import { Members } from './members.ts'
import { Names } from './names.ts'
import { Records } from './records.ts'
import { encodeState, isEarlierState, type State } from './state.ts'
import { knownOf, rangesOf, Store } from './store.ts'
import { Transactions } from './transactions.ts'
import { addressOf, type EtcdAddress } from './url.ts'
import { Watches } from './watches.ts'

/**
 * Opens the store that a URL names, and creates it if it does not exist. `rest` is the URL after its scheme and colon.
 * Rejects with CONFIG if the URL is invalid, ENGINE if etcd cannot be reached or refuses access.
 */
export async function openEtcd(
  scheme: 'etcd' | 'etcds',
  rest: string,
  options: EngineOptions,
): Promise<EtcdEngine> {
  const address = await addressOf(scheme, rest)
  const members = new Members(address, options)
  const calls = new CallsInFlight()
  try {
    return await calls.run(() => opened(address, members, calls, options))
  } catch (error) {
    await calls.close(() => members.close())
    if (error instanceof FahaoError && error.code === 'ENGINE') throw error
    throw new FahaoError('ENGINE', `${address.location} cannot be opened: ${describe(error)}`, {
      cause: error,
    })
  }
}

const openTries = 5

async function opened(
  address: EtcdAddress,
  members: Members,
  calls: CallsInFlight,
  options: EngineOptions,
): Promise<EtcdEngine> {
  const keys = new Keys(address.prefix)
  for (let tries = 0; tries < openTries; tries++) {
    const ranges = [
      { key: keys.state },
      { key: keys.written },
      { key: keys.all, rangeEnd: endOf(keys.all), limit: '1', keysOnly: true },
    ]
    const success = ranges.map((range) => ({ range }))
    const response = await members.call(methods.txn, { compare: [], success, failure: [] })
    const [state, written, any] = rangesOf(response)
    const known = knownOf(state!)
    if (known !== undefined && isEarlierState(state!.kvs[0]!.value.toString())) {
      // A process of the earlier version then writes nothing: its writes demand the state as it was.
      await convert(members, keys, known, address, options)
      continue
    }
    if (known !== undefined) {
      const [time] = written!.kvs
      const lastWriteUs = time && Number(time.value.toString())
      const store = new Store(members, keys, new History(known, response.header), lastWriteUs, options)
      return new EtcdEngine(address, members, store, calls, lastWriteUs, options)
    }
    const isLost = any!.kvs.length > 0
    const tell = isLost ? undefined : newStore(options, `at ${address.location}`)
    const fresh = encodeState(newState(response.header.clusterId, isLost, options))
    const put = { put: { key: keys.state, value: Buffer.from(fresh) } }
    const create = { compare: [unchanged(keys.state, 0n)], success: [put], failure: [] }
    // The next read shows the outcome, also where another process was first.
    const created = await members.call(methods.txn, create, members.newCall(true)).catch(() => undefined)
    if (created?.succeeded) tell?.()
  }
  throw new FahaoError(
    'ENGINE',
    `${address.location} does not keep the state that is written to it; look at it`,
  )
}

/** Writes a state of the earlier version in the present form, unless another process was first: the next read shows it. */
async function convert(
  members: Members,
  keys: Keys,
  { state, revision }: Known,
  { location }: EtcdAddress,
  { onEvent }: EngineOptions,
): Promise<void> {
  const put = { put: { key: keys.state, value: Buffer.from(encodeState(state)) } }
  const request = { compare: [unchanged(keys.state, revision)], success: [put], failure: [] }
  const converted = await members.call(methods.txn, request, members.newCall(true)).catch(() => undefined)
  if (converted?.succeeded)
    onEvent({ level: 'info', message: `converted the state at ${location} to its present form` })
}

function newState(cluster: string, isLost: boolean, { clock }: EngineOptions): State {
  return {
    store: randomUUID(),
    cluster,
    status: isLost ? 'suspect' : 'open',
    note: isLost ? 'its state is gone, while other keys are there' : '',
    histories: [{ id: BigInt(Math.floor(clock.wallUs() / 1_000_000)), after: 0n }],
  }
}

/** The contract, joined from its parts. */
export class EtcdEngine implements Engine {
  readonly name = 'etcd'
  readonly location: string
  readonly lastWriteUs: number | undefined
  /** etcd pushes changes. */
  readonly watchDelayMs = 1000
  readonly #options: EngineOptions
  readonly #members: Members
  readonly #store: Store
  readonly #calls: CallsInFlight
  readonly #counters: Counters
  readonly #records: Records
  readonly #names: Names
  readonly #watches: Watches
  readonly #advance: Advance

  constructor(
    address: EtcdAddress,
    members: Members,
    store: Store,
    calls: CallsInFlight,
    lastWriteUs: number | undefined,
    options: EngineOptions,
  ) {
    const { clock, callTimeoutMs } = options
    this.location = address.location
    this.lastWriteUs = lastWriteUs
    this.#options = options
    this.#members = members
    this.#store = store
    this.#calls = calls
    const transactions = new Transactions(store, clock, callTimeoutMs)
    this.#counters = new Counters(store, transactions, clock, callTimeoutMs)
    this.#records = new Records(store, transactions)
    this.#names = new Names(store, transactions, this.#counters, this.#records)
    this.#watches = new Watches(members, store, this.#records, clock)
    this.#advance = new Advance(store, this.#records, clock, callTimeoutMs * 2)
  }

  get advances(): number {
    return this.#store.history.check.advances
  }

  reserve(counter: string, request: ReserveRequest): Promise<Reservation> {
    checkReserve(request)
    return this.#calls.run(() => this.#counters.reserve(counter, request))
  }

  release(counter: string, reservation: Reservation, from: bigint, writer: WriterIdentity): Promise<boolean> {
    const request = releaseRequest(reservation, from, writer)
    return this.#calls.run(() => this.#counters.release(counter, request))
  }

  transfer(counter: string, from: bigint): void {
    this.#counters.transfer(counter, from)
  }

  acquire(counter: string, end: bigint): void {
    this.#counters.acquire(counter, end)
  }

  counter(name: string): Promise<Counter> {
    return this.#calls.run(() => this.#counters.read(name))
  }

  advance(
    gap: bigint,
    repair = repairNothing,
    { ifRegressed = false }: AdvanceOptions = {},
  ): Promise<number> {
    checkGap(gap)
    return this.#calls.run(async () => {
      const raised = await this.#advance.run(gap, repair, this.#counters.held(), ifRegressed)
      if (raised === undefined) return 0
      const message = `raised ${raised} counters by ${gap} and accepted the store as it is`
      this.#options.onEvent({ level: 'warn', message })
      return raised
    })
  }

  read(key: string): Promise<StoredRecord | undefined> {
    return this.#calls.run(() => this.#records.read(key))
  }

  list(prefix: string, { after, limit }: Page = {}): Promise<StoredRecord[]> {
    return this.#calls.run(() => this.#records.list(prefix, after, limit))
  }

  write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined> {
    return this.#calls.run(() => this.#records.write(key, value, expected))
  }

  remove(key: string, expected: bigint): Promise<boolean> {
    return this.#calls.run(() => this.#records.remove(key, expected))
  }

  lookUp(lookUps: readonly LookUp[]): Promise<readonly (LookedUp | FahaoError)[]> {
    return lookUpEach(this, lookUps, (creations) => {
      const each = (lookUp: Creation) => this.#names.lookUp(lookUp).catch(outcomeOf)
      return this.#calls.run(() => Promise.all(creations.map(each)))
    })
  }

  watch(prefix: string, listener: (change: RecordChange) => void, options?: WatchOptions): Promise<Watch> {
    return this.#calls.run(() => this.#watches.add(prefix, listener, options))
  }

  commit(commit: Commit): Promise<Committed | undefined> {
    checkCommit(commit)
    return this.#calls.run(() => this.#commit(commit))
  }

  ownership(): Promise<StoreOwnership> {
    return this.#calls.run(() => Promise.resolve({ state: 'shared' }))
  }

  status(): EngineStatus {
    const reason = this.#calls.isClosed ? 'closed' : this.#store.trouble
    return reason === undefined ? { state: 'up' } : { state: 'down', reason }
  }

  close(): Promise<void> {
    this.#watches.close()
    return this.#calls.close(() => this.#members.close())
  }

  async #commit({ records, counter }: Commit): Promise<Committed | undefined> {
    if (counter === undefined) {
      const written = await this.#records.writeAll(records)
      return written && { records: written }
    }
    const along = { ...(await this.#records.writing(records)), version: counter.version }
    return this.#counters.commit(counter.name, counter.request, along)
  }
}

/** The error of a look-up; undefined: nothing is written, and what is there has to be read. */
function outcomeOf(error: unknown): FahaoError | undefined {
  return hasCode(error, 'REGRESSED') ? undefined : known(error)
}
