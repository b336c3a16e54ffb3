/** Counters of a store that is restored, or that loses replies, between two steps of a call. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '../../../../src/base/clock.ts'
import { FahaoError } from '../../../../src/base/errors.ts'
import type { KeyValue, RangeRequest } from '../../../../src/engine/etcd/api.ts'
import { encodeCounter } from '../../../../src/engine/etcd/counter-value.ts'
import { Counters } from '../../../../src/engine/etcd/counters.ts'
import type { State } from '../../../../src/engine/etcd/state.ts'
import type { Change, ChangeOutcome, Store } from '../../../../src/engine/etcd/store.ts'
import { Transactions } from '../../../../src/engine/etcd/transactions.ts'
import { settled } from '../../fake-clock.ts'
import { mine } from './stores.ts'

/** The state that several processes share: counters at revisions, in a history. */
class Shared {
  readonly #kvs = new Map<string, KeyValue>()
  revision = 7n
  historyId = 1n
  /** The failure of the next commit, after its transaction was carried out. */
  loses = false
  /** The next commit waits for it after its transaction was carried out. */
  commitDelay: Promise<void> | undefined
  /** The next read waits for it after it has read. */
  delay: Promise<void> | undefined
  commits = 0

  /** The number of histories that the processes have not accepted yet; their next commit accepts them. */
  behind = 0n

  get state(): State {
    return stateIn(this.historyId)
  }

  /** Stores a counter as a restored snapshot and the advance after it leave it. */
  restore(revision: bigint, bound: bigint): void {
    this.historyId++
    this.revision = revision - 1n
    this.put(bound)
  }

  /** Writes a counter that none of the processes has written. */
  put(bound: bigint): void {
    const counter = { bound, fence: 0n, incarnation: 1n, version: 2n ** 32n }
    this.#put(Buffer.from('a'), encodeCounter(counter))
  }

  /** A process with this store open. */
  open(): Counters {
    const idKnown = () => this.historyId - this.behind
    const store = {
      keys: { counter: (name: string) => Buffer.from(name) },
      history: {
        known: {
          get state() {
            return stateIn(idKnown())
          },
        },
      },
      hindrance: '',
      newCall: () => ({ deadlineUs: Number.POSITIVE_INFINITY, writes: false, sent: false }),
      read: (ranges: readonly RangeRequest[]) => this.#read(ranges),
      commit: (plan: () => (Change | undefined)[]) => this.#commit(plan),
      suspect(reason: string) {
        throw new FahaoError('REGRESSED', reason)
      },
    }
    const opened = store as unknown as Store
    return new Counters(opened, new Transactions(opened, systemClock, 1000), systemClock, 1000)
  }

  async #read([range]: readonly RangeRequest[]) {
    const { state, revision, delay } = this
    const found = [this.#at(range!.key)]
    await delay
    return { state, revision, found }
  }

  async #commit(plan: () => (Change | undefined)[]): Promise<(ChangeOutcome | undefined)[]> {
    if (this.behind > 0n) plan()
    this.behind = 0n
    const changes = plan()
    const { commitDelay } = this
    const committed = changes.map((change) => change && this.#carryOut(change))
    await commitDelay
    return committed
  }

  #carryOut(change: Change): ChangeOutcome {
    this.commits++
    const { key, modRevision } = change.compare[0]!
    const found = this.#at(key)
    if (BigInt(found.kvs[0]?.modRevision ?? 0) !== BigInt(modRevision))
      return { done: false, state: this.state, found: [found] }
    for (const write of change.writes) if ('put' in write) this.#put(write.put.key, write.put.value)
    if (this.loses) {
      this.loses = false
      throw new FahaoError('UNKNOWN', 'no answer')
    }
    return { done: true, revision: this.revision }
  }

  #at(key: Buffer) {
    const kv = this.#kvs.get(key.toString())
    return { header: undefined, kvs: kv ? [kv] : [], more: false, count: kv ? '1' : '0' }
  }

  #put(key: Buffer, value: Buffer): void {
    this.revision++
    this.#kvs.set(key.toString(), { key, value, modRevision: String(this.revision) })
  }
}

function stateIn(id: bigint): State {
  return { store: 's', cluster: 'c', status: 'open', note: '', histories: [{ id, after: 0n }] }
}

describe('a counter of a store that was restored and advanced', () => {
  test('is not confused with the lost one, although it has the same revision', async () => {
    const store = new Shared()
    const [one, other] = [store.open(), store.open()]
    await one.reserve('a', mine)
    const { revision } = store
    assert.equal((await other.reserve('a', mine)).end, 20n)
    store.restore(revision, 1000n)
    store.commits = 0
    assert.equal((await one.reserve('a', mine)).start, 1000n)
    assert.equal(store.commits, 2)
    assert.equal((await one.reserve('a', mine)).start, 1010n)
    assert.equal(store.commits, 3)
  })

  test('is not confused with a lost one that was only read, either', async () => {
    const store = new Shared()
    const [one, other] = [store.open(), store.open()]
    await other.reserve('a', mine)
    assert.equal((await one.read('a')).bound, 10n)
    store.restore(store.revision, 1000n)
    assert.equal((await one.reserve('a', mine)).start, 1000n)
  })

  test('is not replaced by a late read of the lost one', async () => {
    const store = new Shared()
    const process = store.open()
    for (let each = 0; each < 20; each++) await process.reserve('a', mine)
    const late = Promise.withResolvers<void>()
    store.delay = late.promise
    const read = process.read('a')
    await settled()
    await settled()
    store.restore(9n, 1000n)
    assert.equal((await process.reserve('a', mine)).start, 1000n)
    late.resolve()
    assert.equal((await read).bound, 200n)
    store.commits = 0
    assert.equal((await process.reserve('a', mine)).start, 1010n)
    assert.equal(store.commits, 1)
  })

  test('is used by a process that read it before it accepted the advance', async () => {
    const store = new Shared()
    const process = store.open()
    await process.reserve('a', mine)
    store.restore(store.revision + 5n, 1000n)
    store.behind = 1n
    await process.read('a')
    assert.equal((await process.reserve('a', mine)).start, 1000n)
  })

  test('begins above what this process holds, if it was not raised that far', async () => {
    const store = new Shared()
    const process = store.open()
    for (let each = 0; each < 20; each++) await process.reserve('a', mine)
    store.restore(store.revision, 50n)
    assert.equal((await process.reserve('a', mine)).start, 200n)
  })
})

test('a range that another process has transferred is held, whatever value of the counter was cached before', async () => {
  const store = new Shared()
  const [process, other, fresh] = [store.open(), store.open(), store.open()]
  await process.reserve('a', mine)
  const { end } = await other.reserve('a', mine)
  for (const each of [process, fresh]) each.acquire('a', end)
  assert.equal((await process.reserve('a', mine)).start, end)
  assert.equal((await fresh.reserve('a', mine)).start, end + 10n)
  const last = await other.reserve('a', mine)
  for (const each of [process, fresh]) each.acquire('a', last.end)
  store.put(last.start)
  for (const each of [process, fresh]) await assert.rejects(each.reserve('a', mine), { code: 'REGRESSED' })
})

test('nothing is kept of a counter whose whole range was transferred, even before the transaction has ended', async () => {
  const store = new Shared()
  const process = store.open()
  await process.reserve('a', mine)
  process.transfer('a', 0n)
  await settled()
  assert.equal(process.uses('a'), false)
  assert.equal((await process.reserve('a', mine)).start, 10n)
  await settled()
  assert.equal(process.uses('a'), true)
  process.transfer('a', 0n)
  assert.equal(process.uses('a'), false)
  const { commits } = store
  assert.equal((await process.reserve('a', mine)).start, 20n)
  assert.equal(store.commits, commits + 1, 'its value is still known')
})

describe('a range acquired from another process', () => {
  test('is not lowered by an answer from before it was acquired', async () => {
    for (const ask of ['reserve', 'read'] as const) {
      const store = new Shared()
      const [process, other] = [store.open(), store.open()]
      await other.reserve('a', mine)
      const late = Promise.withResolvers<void>()
      store.delay = store.commitDelay = late.promise
      const asked = ask === 'read' ? process.read('a') : process.reserve('a', mine)
      await settled()
      store.delay = store.commitDelay = undefined
      const { end } = await other.reserve('a', mine)
      process.acquire('a', end)
      late.resolve()
      await asked
      assert.ok((await process.reserve('a', mine)).start >= end)
    }
  })

  test('stays held when a release from before is answered', async () => {
    const store = new Shared()
    const [process, other] = [store.open(), store.open()]
    const { version } = await process.reserve('a', mine)
    const late = Promise.withResolvers<void>()
    store.commitDelay = late.promise
    const released = process.release('a', { version, from: 4n, fence: 0n, ...mine })
    await settled()
    store.commitDelay = undefined
    const { end } = await other.reserve('a', { ...mine, size: 100n })
    process.acquire('a', end)
    late.resolve()
    assert.equal(await released, true)
    assert.equal(process.held().get('a'), end)
  })

  test('of a counter that is absent shows lost writes', async () => {
    const process = new Shared().open()
    process.acquire('a', 100n)
    await assert.rejects(process.reserve('a', mine), { code: 'REGRESSED' })
  })
})

describe('a release without an answer', () => {
  const lost = { code: 'UNKNOWN' }

  test('may have been carried out, so a bound as low as its end is no loss', async () => {
    const store = new Shared()
    const process = store.open()
    const { version } = await process.reserve('a', mine)
    store.loses = true
    await assert.rejects(process.release('a', { version, from: 4n, fence: 0n, ...mine }), lost)
    assert.equal((await process.reserve('a', mine)).start, 4n)
  })

  test('cannot have been carried out if this process has reserved since: a low bound is a loss then', async () => {
    const store = new Shared()
    const process = store.open()
    const { version } = await process.reserve('a', mine)
    await process.reserve('a', mine)
    store.loses = true
    await assert.rejects(process.release('a', { version, from: 4n, fence: 0n, ...mine }), lost)
    store.put(12n)
    await assert.rejects(process.reserve('a', mine), { code: 'REGRESSED' })
  })
})
