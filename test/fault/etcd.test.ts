/** Members that freeze, are killed or restart, and replies that are lost. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { Engine, RecordChange } from '../../src/engine/engine.ts'
import type { Range } from '../../src/ids/run.ts'
import { assertDisjoint } from '../conformance/counters.ts'
import { untilItWorks } from '../conformance/life.ts'
import { type EtcdMember, startEtcd } from '../launch/etcd.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { startTcpProxy } from '../launch/tcp-proxy.ts'
import { mine, openStore, until } from '../unit/engine/etcd/stores.ts'

const timeout = 120_000
const callTimeoutMs = 1500

/** Reserves without pause, until it is stopped. */
class Puller {
  readonly ranges: Range[] = []
  readonly codes = new Map<string, number>()
  longestMs = 0
  #going = true
  readonly #done: Promise<void>

  constructor(engine: Engine, counter: string) {
    this.#done = this.#pull(engine, counter)
  }

  async stop(): Promise<void> {
    this.#going = false
    await this.#done
  }

  async #pull(engine: Engine, counter: string): Promise<void> {
    while (this.#going) {
      const startedMs = performance.now()
      try {
        this.ranges.push(await engine.reserve(counter, mine))
      } catch (error) {
        const code = String((error as { code?: string }).code)
        this.codes.set(code, (this.codes.get(code) ?? 0) + 1)
      }
      this.longestMs = Math.max(this.longestMs, performance.now() - startedMs)
    }
  }
}

/** Reserves from two engines while `fault` happens to a member, until both engines work again. */
async function under(lifetime: Lifetime, url: string, fault: () => Promise<void>): Promise<void> {
  const engines = await Promise.all([1, 2].map(() => openStore(lifetime, url, { callTimeoutMs })))
  const pullers = engines.map((engine) => new Puller(engine, 'a'))
  const all = () => Math.min(...pullers.map(({ ranges }) => ranges.length))
  await until(() => all() > 5)
  await fault()
  const after = all()
  await until(() => all() > after + 5)
  await Promise.all(pullers.map((puller) => puller.stop()))
  const ranges = pullers.flatMap((puller) => puller.ranges)
  assertDisjoint(ranges)
  const { bound } = await engines[0]!.counter('a')
  assert.ok(ranges.every(({ end }) => end <= bound))
  for (const { codes, longestMs } of pullers) {
    for (const code of codes.keys()) assert.match(code, /^(UNKNOWN|UNAVAILABLE)$/)
    assert.ok(longestMs < callTimeoutMs + 1500, `a call took ${longestMs} ms`)
  }
}

/** The duration of an election. */
function anElection(): Promise<void> {
  return new Promise((over) => setTimeout(over, 2500))
}

const three = await startEtcd({ after }, { members: 3 })
const single = await startEtcd({ after })

describe('one of three members', { timeout }, () => {
  const cluster = three
  let stores = 0
  const newUrl = () => cluster.url(`store${stores++}`)

  const faults: Record<string, (member: EtcdMember) => Promise<void>> = {
    async frozen(member) {
      member.freeze()
      await anElection()
      member.thaw()
    },
    async killed(member) {
      await member.kill()
      await anElection()
      await member.restart()
    },
    restarted: (member) => member.restart(),
  }
  for (const [name, fault] of Object.entries(faults)) {
    test(`${name} while two nodes reserve: no ranges overlap, every call settles, and both nodes continue`, async (t) => {
      await under(t, newUrl(), () => fault(cluster.members[0]!))
    })

    test(`the leader, ${name}, as well`, async (t) => {
      await under(t, newUrl(), async () => fault(await cluster.leader()))
    })
  }

  test('frozen: reads and later writes go to another one, before the deadline of the first call', async (t) => {
    const engine = await openStore(t, newUrl(), { callTimeoutMs: 8000 })
    await engine.reserve('a', mine)
    const leader = await cluster.leader()
    // It is the first in the URL, and frozen it takes no leader along.
    const first = cluster.members[0]!
    if (leader === first) {
      await first.restart()
      await engine.read('k')
    }
    first.freeze()
    const stuck = engine.reserve('a', mine).then(
      () => 'done',
      ({ code }) => code,
    )
    assert.equal(await engine.read('k'), undefined)
    await until(() =>
      engine.reserve('b', mine).then(
        () => true,
        () => false,
      ),
    )
    first.thaw()
    assert.match(await stuck, /^(done|UNKNOWN)$/)
  })

  test('frozen: a watch continues through another one, and misses no change', async (t) => {
    const url = newUrl()
    const [mine, other] = [await openStore(t, url), await openStore(t, url)]
    const told = new Map<string, string | undefined>()
    await mine.watch('', ({ key, record }) => told.set(key, record?.value))
    const gone = await other.write('gone', 'x', undefined)
    await until(() => told.get('gone') === 'x')
    const first = cluster.members[0]!
    first.freeze()
    await untilItWorks(() => other.write('while', 'x', undefined))
    assert.ok(await untilItWorks(() => other.remove('gone', gone!.version)))
    await until(() => told.get('while') === 'x' && told.get('gone') === undefined)
    first.thaw()
    await untilItWorks(() => other.write('after', 'x', undefined))
    await until(() => told.get('after') === 'x')
  })
})

describe('events that never arrive', { timeout }, () => {
  test('are found by the list once a minute', async (t) => {
    const cluster = await startEtcd(t, { members: 3 })
    const [first, ...others] = cluster.members
    // A minute passes at once here, and the stream gets no progress requests.
    const clock: Clock = {
      ...systemClock,
      timer(delayMs, callback) {
        if (delayMs === 1000) return { cancel() {} }
        return systemClock.timer(delayMs === 60_000 ? 200 : delayMs, callback)
      },
    }
    const engine = await openStore(t, cluster.url('ids'), { clock, callTimeoutMs: 1500 })
    const other = await openStore(t, cluster.url('ids', { members: others }))
    const told: string[] = []
    const tell = ({ key, record }: RecordChange) => told.push(`${key} ${record?.value}`)
    const [ordinary, pages] = ['ordinary/', 'many/']
    // The last of them is on the second page of a list.
    const many = Array.from({ length: 2500 }, (_, index) => `${pages}${1000 + index}`)
    for (let from = 0; from < many.length; from += 500)
      await Promise.all(many.slice(from, from + 500).map((key) => other.write(key, 'x', undefined)))
    await engine.watch(ordinary, tell)
    await engine.watch(pages, tell, { neverRemoved: true })
    const gone = await other.write(`${ordinary}gone`, 'x', undefined)
    const last = await other.read(many.at(-1)!)
    await until(() => told.includes('ordinary/gone x'))
    first!.freeze()
    const frozenMs = performance.now()
    await untilItWorks(() => other.write(`${ordinary}new`, 'x', undefined))
    assert.ok(await untilItWorks(() => other.remove(`${ordinary}gone`, gone!.version)))
    assert.ok(await untilItWorks(() => other.write(last!.key, 'y', last!.version)))
    const missed = ['ordinary/new x', 'ordinary/gone undefined', `${last!.key} y`]
    await until(() => missed.every((change) => told.includes(change)))
    // Before the connection itself is found dead, and the watch begun anew.
    assert.ok(performance.now() - frozenMs < 12_000)
  })
})

describe('replies that are lost', { timeout }, () => {
  const cluster = single

  async function setUp(t: Lifetime, prefix: string) {
    const proxy = await startTcpProxy(t, cluster.members[0]!.clientPort)
    const url = `etcd://127.0.0.1:${proxy.port}/${prefix}`
    const engine = await openStore(t, url, { callTimeoutMs: 400 })
    return { proxy, engine, other: await openStore(t, cluster.url(prefix)) }
  }

  test('leave writes unknown: carried out once at most, and never sent again', async (t) => {
    const { proxy, engine, other } = await setUp(t, 'lost')
    const before = await engine.reserve('a', mine)
    const record = await engine.write('k', 'one', undefined)
    proxy.stallReplies()
    const unknown = { code: 'UNKNOWN' }
    await Promise.all([
      assert.rejects(engine.reserve('a', mine), unknown),
      assert.rejects(engine.write('k', 'two', record!.version), unknown),
      assert.rejects(engine.write('new', 'x', undefined), unknown),
    ])
    assert.equal((await other.counter('a')).bound, before.end + 10n)
    assert.equal((await other.read('k'))?.value, 'two')
    assert.equal((await other.read('new'))?.value, 'x')
    proxy.resume()
    const next = await untilItWorks(() => engine.reserve('a', mine))
    assert.equal(next.start, before.end + 10n)
    assert.equal(await engine.release('a', before, before.start, mine), false)
  })

  test('leave a release unknown, and the bound that it lowered is no sign of lost writes', async (t) => {
    const { proxy, engine, other } = await setUp(t, 'released')
    const given = await engine.reserve('a', mine)
    proxy.stallReplies()
    await assert.rejects(engine.release('a', given, 4n, mine), { code: 'UNKNOWN' })
    assert.equal((await other.counter('a')).bound, 4n)
    proxy.resume()
    assert.equal((await untilItWorks(() => engine.reserve('a', mine))).start, 4n)
  })

  test('are not assumed for a request that was never sent', async (t) => {
    const { proxy, engine, other } = await setUp(t, 'cut')
    await engine.reserve('a', mine)
    await proxy.cut()
    // Of those that have left, any may still be carried out.
    let left = 0n
    const reserve = () =>
      engine.reserve('a', mine).catch((error) => {
        if (error.code === 'UNKNOWN') left++
        throw error
      })
    await until(() =>
      reserve().then(
        () => false,
        ({ code }) => code === 'UNAVAILABLE',
      ),
    )
    const { bound } = await other.counter('a')
    for (let never = 0; never < 5; never++) await assert.rejects(reserve(), { code: 'UNAVAILABLE' })
    await assert.rejects(engine.write('k', 'x', undefined), { code: 'UNAVAILABLE' })
    assert.equal(engine.status().state, 'down')
    await proxy.restore()
    const { start } = await untilItWorks(reserve)
    assert.ok(
      left < 5n && start <= bound + left * mine.size,
      `${start} after ${bound}, with ${left} that left`,
    )
    assert.equal(await other.read('k'), undefined)
  })
})

describe('records that are never removed', { timeout }, () => {
  test('are not read when a watch of them begins', async (t) => {
    const proxy = await startTcpProxy(t, single.members[0]!.clientPort)
    const engine = await openStore(t, `etcd://127.0.0.1:${proxy.port}/stays`)
    await engine.write('stays/a', 'x', undefined)
    let reads = 0
    proxy.dropReplyOf((request) => {
      if (request.includes('stays/records/stays/')) reads++
      return false
    })
    await engine.watch('stays/', () => {}, { neverRemoved: true })
    assert.equal(reads, 0)
    await engine.watch('stays/a', () => {})
    assert.ok(reads > 0, 'those that can be removed are')
  })

  for (const neverRemoved of [true, false]) {
    test(`are reported${neverRemoved ? '' : ', as others are,'} when etcd goes back to a snapshot`, async (t) => {
      const cluster = await startEtcd(t)
      const engine = await openStore(t, cluster.url('ids'))
      const told: string[] = []
      const before = await engine.write('a', 'one', undefined)
      const snapshot = await cluster.save()
      await engine.watch('a', ({ key, record }) => told.push(`${key} ${record?.value}`), { neverRemoved })
      await engine.write('a', 'two', before!.version)
      await until(() => told.includes('a two'))
      await cluster.restore(snapshot)
      await until(() => told.includes('a one'))
    })
  }

  test('are reported when etcd goes back, though another process has written to it since', async (t) => {
    const cluster = await startEtcd(t)
    const proxy = await startTcpProxy(t, cluster.members[0]!.clientPort)
    const engine = await openStore(t, `etcd://127.0.0.1:${proxy.port}/ids`)
    const other = await openStore(t, cluster.url('ids'))
    const told: string[] = []
    const before = await engine.write('a', 'one', undefined)
    const snapshot = await cluster.save()
    await engine.watch('a', ({ key, record }) => told.push(`${key} ${record?.value}`))
    await engine.write('a', 'two', before!.version)
    await until(() => told.includes('a two'))
    await proxy.cut()
    await cluster.restore(snapshot)
    // The other process marks the store, whose revision is then again the last one that the watch has seen.
    await other.read('a')
    while (!(await cluster.ctl('get', '--prefix', 'ids')).includes('suspect'));
    await proxy.restore()
    await until(() => told.includes('a one'))
  })
})

describe('a history that etcd has compacted', { timeout }, () => {
  test('loses no change for a watch that was cut off meanwhile', async (t) => {
    const cluster = await startEtcd(t)
    const proxy = await startTcpProxy(t, cluster.members[0]!.clientPort)
    const engine = await openStore(t, `etcd://127.0.0.1:${proxy.port}/ids`)
    const other = await openStore(t, cluster.url('ids'))
    const told: [key: string, value: string | undefined][] = []
    const tell = ({ key, record }: RecordChange) => told.push([key, record?.value])
    await engine.watch('k/', tell)
    await engine.watch('stays/', tell, { neverRemoved: true })
    const gone = await other.write('k/gone', 'x', undefined)
    const changed = await other.write('k/changed', 'one', undefined)
    const stays = await other.write('stays/a', 'one', undefined)
    await until(() => told.length === 3)
    await proxy.cut()
    await other.write('stays/a', 'two', stays!.version)
    await other.write('stays/b', 'x', undefined)
    await other.remove('k/gone', gone!.version)
    await other.write('k/changed', 'two', changed!.version)
    const last = await other.write('k/new', 'x', undefined)
    await other.write('else', 'x', undefined)
    await cluster.ctl('compact', String(BigInt.asUintN(40, last!.version)))
    await proxy.restore()
    await until(() => told.length >= 8)
    assert.deepEqual(
      new Map(told.slice(3)),
      new Map([
        ['stays/a', 'two'],
        ['stays/b', 'x'],
        ['k/gone', undefined],
        ['k/changed', 'two'],
        ['k/new', 'x'],
      ]),
    )
    await other.write('k/later', 'x', undefined)
    await until(() => told.at(-1)![0] === 'k/later')
  })
})
