/** What goes to a server together: how many messages many calls take, and what befalls calls that share one. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { FahaoError } from '../../src/base/errors.ts'
import type { Engine, LookedUp } from '../../src/engine/engine.ts'
import type { EngineOptions } from '../../src/engine/engine-options.ts'
import { openEngine } from '../../src/engine/open.ts'
import type { DatabaseServer } from '../launch/database.ts'
import { startEtcd } from '../launch/etcd.ts'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { startPostgres } from '../launch/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../launch/tcp-proxy.ts'
import { assertDisjoint } from './counters.ts'
import { untilItWorks } from './life.ts'
import { lockRow, lockState } from './row-lock.ts'
import { engineOptions } from './store-under-test.ts'

const timeout = 60_000
const mine = { incarnation: 1n }
const names = Array.from({ length: 500 }, (_, index) => `generators/${index}`)
/** One of each call went alone before. */
const messagesMost = 30

function writeEach(engine: Engine, of: readonly string[] = names) {
  return Promise.all(of.map((name) => engine.write(name, `value of ${name}`, undefined)))
}

function lookUpEach(engine: Engine, of: readonly string[] = names) {
  const first = { value: 'first', reserve: { size: 10n, ...mine } }
  return engine.lookUp(of.map((key) => ({ key, first })))
}

/** The look-ups that have an outcome. */
function found(outcomes: readonly (LookedUp | FahaoError)[]): LookedUp[] {
  return outcomes.filter((each) => !(each instanceof FahaoError)) as LookedUp[]
}

function reserveEach(engine: Engine, of: readonly string[] = names) {
  return Promise.all(of.map((name) => engine.reserve(name, { size: 10n, ...mine })))
}

async function openAt(
  lifetime: Lifetime,
  url: string,
  options: Partial<EngineOptions> = {},
): Promise<Engine> {
  const engine = await openEngine(url, engineOptions(options))
  atEnd(lifetime, () => engine.close())
  return engine
}

/** Counts the messages that have some word in them, from now on. */
function counting(proxy: TcpProxy, word: string): () => number {
  let count = 0
  proxy.dropReplyOf((chunk) => {
    if (chunk.includes(word)) count++
    return false
  })
  return () => count
}

const kinds: readonly {
  readonly name: string
  readonly start: (lifetime: Lifetime) => Promise<DatabaseServer>
}[] = [
  { name: 'PostgreSQL', start: startPostgres },
  { name: 'MariaDB', start: startMariaDb },
]

for (const { name, start } of kinds) {
  describe(`calls in batches on ${name}`, { timeout }, async () => {
    const server = await start({ after })

    async function setUp(t: Lifetime, options: Partial<EngineOptions> = {}, query = '') {
      const url = await server.newDatabase()
      const proxy = await startTcpProxy(t, server.port)
      const engine = await openAt(t, url.replace(`:${server.port}/`, `:${proxy.port}/`) + query, options)
      return { url, proxy, engine, database: new URL(url).pathname.slice(1) }
    }

    test('take a few messages, whether they reserve, release or read', async (t) => {
      const { proxy, engine } = await setUp(t)
      const moves = counting(proxy, 'UPDATE')
      await reserveEach(engine)
      assert.ok(moves() <= messagesMost, `${moves()} messages for the first use of 500 counters`)
      const before = moves()
      const ranges = await reserveEach(engine)
      assert.ok(moves() - before <= messagesMost, `${moves() - before} messages for 500 reserves`)
      const between = moves()
      const released = names.map((each, index) => engine.release(each, ranges[index]!, 12n, mine))
      assert.ok((await Promise.all(released)).every((done) => done))
      assert.ok(moves() - between <= messagesMost, `${moves() - between} messages for 500 releases`)
      const looks = counting(proxy, 'SELECT')
      const counters = await Promise.all(names.map((each) => engine.counter(each)))
      assert.ok(counters.every(({ bound }) => bound === 12n))
      await Promise.all(names.map((each) => engine.read(each)))
      assert.ok(looks() <= 2 * messagesMost, `${looks()} messages for 1,000 reads`)
    })

    test('write records in a few messages, in the order of their versions, however long they are', async (t) => {
      const { proxy, engine } = await setUp(t)
      const writes = counting(proxy, 'fahao_records')
      const written = await writeEach(engine)
      assert.ok(writes() <= messagesMost, `${writes()} messages for 500 writes`)
      const versions = written.map((record) => record!.version).toSorted((a, b) => Number(a - b))
      assert.deepEqual(
        versions,
        versions.map((_, index) => versions[0]! + BigInt(index)),
      )
      const longest = '\u53d1'.repeat((32 * 1024) / 3)
      const long = await Promise.all(
        written.map((record) => engine.write(record!.key, longest, record!.version)),
      )
      assert.ok(long.every((record) => record?.value === longest))
      const between = writes()
      const removed = await Promise.all(long.map((record) => engine.remove(record!.key, record!.version)))
      assert.ok(removed.every((done) => done))
      assert.ok(writes() - between <= messagesMost, `${writes() - between} messages for 500 removals`)
    })

    test('write no record twice if the answer that they share is lost', async (t) => {
      const { proxy, engine } = await setUp(t)
      const dropped = proxy.dropReplyOf((chunk) => chunk.includes('fahao_records'))
      const outcomes = await Promise.allSettled(names.map((each) => engine.write(each, 'first', undefined)))
      await dropped.all
      const lost = outcomes.filter((outcome) => outcome.status === 'rejected')
      assert.ok(lost.length > 1, 'no batch was lost')
      assert.ok(lost.every(({ reason }) => reason.code === 'UNKNOWN'))
      const stored = await untilItWorks(() => Promise.all(names.map((each) => engine.read(each))))
      // A write that was sent again would have found the record of the first, or have replaced this one.
      const next = await Promise.all(
        names.map((each, index) => engine.write(each, 'second', stored[index]?.version)),
      )
      assert.ok(next.every((record) => record?.value === 'second'))
      assert.deepEqual(await Promise.all(names.map((each) => engine.read(each))), next)
    })

    test('are each unknown if the answer that they share is lost, and none of them is sent again', async (t) => {
      const { proxy, engine } = await setUp(t)
      const given = await reserveEach(engine)
      const dropped = proxy.dropReplyOf(
        (chunk) => chunk.includes('SKIP LOCKED') || chunk.includes('STRAIGHT_JOIN'),
      )
      const outcomes = await Promise.allSettled(
        names.map((each) => engine.reserve(each, { size: 10n, ...mine })),
      )
      await dropped.all
      const lost = outcomes.filter((outcome) => outcome.status === 'rejected')
      assert.ok(lost.length > 1, 'no batch was lost')
      assert.ok(lost.every(({ reason }) => reason.code === 'UNKNOWN'))
      const again = await untilItWorks(() => reserveEach(engine))
      const lastOnes = await reserveEach(engine)
      names.forEach((_, index) => {
        const outcome = outcomes[index]!
        const ranges = [given[index]!, again[index]!, lastOnes[index]!]
        assertDisjoint(outcome.status === 'fulfilled' ? [...ranges, outcome.value] : ranges)
        assert.ok(lastOnes[index]!.end <= 70n, 'a reserve was sent twice')
      })
    })

    test('create many new names in a few messages', async (t) => {
      const { proxy, engine } = await setUp(t)
      const messages = counting(proxy, 'fahao_records')
      const made = found(await lookUpEach(engine))
      assert.ok(made.length === names.length && made.every(({ isNew, reservation }) => isNew && reservation))
      assert.ok(messages() <= 5, `${messages()} messages for 500 new names`)
    })

    test('create no name twice if the answer that many share is lost', async (t) => {
      const { url, proxy, engine } = await setUp(t)
      const dropped = proxy.dropReplyOf((chunk) => chunk.includes('fahao_records'))
      const outcomes = await lookUpEach(engine)
      await dropped.all
      const lost = outcomes.filter((each) => each instanceof FahaoError)
      assert.ok(lost.length > 1, 'no message was lost')
      assert.ok(lost.every(({ code }) => code === 'UNKNOWN'))
      const again = found(await untilItWorks(() => lookUpEach(engine)))
      assert.equal(again.length, names.length)
      const next = await reserveEach(await openAt(t, url))
      names.forEach((_, at) => {
        const ranges = found([outcomes[at]!, again[at]!]).flatMap(({ reservation }) => reservation ?? [])
        assertDisjoint([next[at]!, ...ranges])
        assert.equal(next[at]!.start, 10n, 'a range was reserved twice')
      })
    })

    test('answer one of two calls that create a name at once with its range', async (t) => {
      const { engine } = await setUp(t)
      for (let round = 0; round < 5; round++) {
        const both = await Promise.all([1, 2, 3].map(() => lookUpEach(engine, [`twice/${round}`])))
        const ranges = found(both.flat()).flatMap(({ reservation }) => reservation ?? [])
        assert.equal(ranges.length, 1)
      }
    })

    test('create names of two processes at once, while others reserve from the same counters', async (t) => {
      const { url, engine } = await setUp(t)
      const others = [await openAt(t, url), await openAt(t, url)]
      const some = names.slice(0, 200)
      const [one, two, reserved] = await Promise.all([
        lookUpEach(engine, some),
        lookUpEach(others[0]!, some.toReversed()),
        Promise.allSettled(some.map((each) => others[1]!.reserve(each, { size: 10n, ...mine }))),
      ])
      some.forEach((_, at) => {
        const both = found([one[at]!, two.at(-1 - at)!])
        const taken = reserved[at]!
        const ranges = both.flatMap(({ reservation }) => reservation ?? [])
        assertDisjoint(taken.status === 'fulfilled' ? [...ranges, taken.value] : ranges)
        assert.ok(both.filter(({ isNew }) => isNew).length <= 1)
      })
    })

    test('create no name while the store is known to have lost writes, and find the others', async (t) => {
      const { url, engine, database } = await setUp(t)
      await lookUpEach(await openAt(t, url), ['known'])
      await server.admin("UPDATE fahao_about SET suspect = 'lost'", database)
      const [known, unknown] = await lookUpEach(engine, ['known', 'unknown'])
      assert.ok(known && 'record' in known && known.record?.value === 'first')
      assert.ok(unknown instanceof FahaoError && unknown.code === 'REGRESSED')
      assert.equal(await engine.read('unknown'), undefined)
    })

    test('do not fail because of a row that another session has locked, nor wait for it again and again', async (t) => {
      const { url, engine } = await setUp(t, { callTimeoutMs: 2000 })
      const some = names.slice(0, 40)
      await reserveEach(engine, some)
      const unlock = await lockRow(t, url, some[7]!)
      for (let round = 0; round < 2; round++) {
        const burst = some.map((each) => engine.reserve(each, { size: 10n, ...mine }))
        const locked = assert.rejects(burst[7]!, ({ code }) => code === 'UNAVAILABLE' || code === 'UNKNOWN')
        const others = await Promise.all(burst.filter((_, index) => index !== 7))
        assert.ok(others.every(({ start }) => start === 10n + 10n * BigInt(round)))
        await locked
      }
      await unlock()
    })

    test('look up names that exist without waiting for who changes their counters', async (t) => {
      const { url, proxy, engine } = await setUp(t)
      const some = names.slice(0, 40)
      await lookUpEach(await openAt(t, url), some)
      await lockRow(t, url, some[7]!)
      const messages = counting(proxy, 'fahao_records')
      const outcomes = await lookUpEach(engine, some)
      assert.deepEqual(
        found(outcomes).map(({ record }) => record?.key),
        some,
      )
      assert.equal(messages(), 1, 'no name was looked up again')
    })

    test('reserve and release while another session writes records', async (t) => {
      const { url, proxy, engine } = await setUp(t, { callTimeoutMs: 2000 })
      await reserveEach(engine)
      await lockState(t, url)
      const messages = counting(proxy, 'UPDATE')
      const ranges = await reserveEach(engine)
      const released = names.map((each, index) => engine.release(each, ranges[index]!, 12n, mine))
      assert.ok((await Promise.all(released)).every((done) => done))
      assert.ok(messages() <= 2 * messagesMost, `${messages()} messages: some calls were sent alone`)
    })

    test('are no sign that a store with lost writes works again', async (t) => {
      const said: string[] = []
      const { engine, database } = await setUp(t, { onEvent: ({ message }) => said.push(message) })
      await reserveEach(engine)
      await server.admin("UPDATE fahao_about SET suspect = 'lost'", database)
      for (let round = 0; round < 2; round++) {
        const outcomes = await Promise.allSettled(
          names.map((each) => engine.reserve(each, { size: 10n, ...mine })),
        )
        assert.ok(outcomes.every((each) => each.status === 'rejected' && each.reason.code === 'REGRESSED'))
        assert.equal(engine.status().state, 'down')
      }
      assert.deepEqual(
        said.filter((message) => message.includes('works again')),
        [],
      )
    })

    test('use no connection that was idle for a minute, which the network may have dropped', async (t) => {
      let aheadUs = 0
      const clock: Clock = { ...systemClock, monoUs: () => systemClock.monoUs() + aheadUs }
      const { proxy, engine } = await setUp(t, { clock }, '?pool=1')
      await engine.list('')
      proxy.forget()
      aheadUs += 60_000_000
      assert.equal((await engine.reserve('a', { size: 10n, ...mine })).start, 0n)
    })
  })
}

describe('calls in batches on etcd', { timeout }, async () => {
  const cluster = await startEtcd({ after })

  test('take a few transactions, whether they reserve or release', async (t) => {
    const engine = await openAt(t, cluster.url('few'))
    let revisions = 0
    /** How many transactions have written since it was last asked. */
    const transactions = async () => {
      const record = await engine.write(`at/${revisions}`, 'x', undefined)
      const before = revisions
      revisions = Number(BigInt.asUintN(40, record!.version))
      return revisions - before - 1
    }
    await transactions()
    await reserveEach(engine)
    const ranges = await reserveEach(engine)
    const reserving = await transactions()
    assert.ok(reserving <= 2 * messagesMost, `${reserving} transactions for 1,000 reserves`)
    const released = names.map((each, index) => engine.release(each, ranges[index]!, 12n, mine))
    assert.ok((await Promise.all(released)).every((done) => done))
    const releasing = await transactions()
    assert.ok(releasing <= messagesMost, `${releasing} transactions for 500 releases`)
  })

  test('create many new names in a few transactions, of which each is found or created once', async (t) => {
    const [engine, other] = [await openAt(t, cluster.url('new')), await openAt(t, cluster.url('new'))]
    const before = await engine.write('before', 'x', undefined)
    const made = found(await lookUpEach(engine))
    const revisions = Number((await engine.write('after', 'x', undefined))!.version - before!.version)
    assert.ok(made.length === names.length && made.every(({ isNew, reservation }) => isNew && reservation))
    assert.ok(revisions <= 10, `${revisions} transactions for 500 new names`)
    const seen = found(await lookUpEach(other))
    assert.ok(seen.every(({ isNew, record, counter }) => !isNew && record && counter.bound === 10n))
    const next = await reserveEach(other)
    assert.ok(next.every(({ start }) => start === 10n))
  })

  test('create a name while this process reserves from its counter, or looks it up, or acquires a range', async (t) => {
    const engine = await openAt(t, cluster.url('beside'))
    for (let round = 0; round < 10; round++) {
      const name = `name/${round}`
      const asked = [lookUpEach(engine, [name]), lookUpEach(engine, [name])] as const
      const reserved = engine.reserve(name, { size: 10n, ...mine })
      const outcomes = found((await Promise.all(asked)).flat())
      const ranges = outcomes.flatMap(({ reservation }) => reservation ?? [])
      assertDisjoint([...ranges, await reserved, await engine.reserve(name, { size: 10n, ...mine })])
    }
    const made = lookUpEach(engine, ['acquired'])
    engine.acquire('acquired', 5n)
    assert.equal(found(await made)[0]?.reservation?.end, 10n)
    assert.equal((await engine.reserve('acquired', { size: 10n, ...mine })).start, 10n)
  })

  test('do not fail because of a counter from which other processes reserve all the time', async (t) => {
    const [engine, other] = [
      await openAt(t, cluster.url('contended')),
      await openAt(t, cluster.url('contended')),
    ]
    let going = true
    const hot: { start: bigint; end: bigint }[] = []
    const concurrent = (async () => {
      while (going) hot.push(await other.reserve(names[0]!, { size: 1n, ...mine }))
    })()
    for (let round = 0; round < 5; round++) {
      const [contended, ...others] = await reserveEach(engine, names.slice(0, 100))
      hot.push(contended!)
      assert.ok(others.every(({ start }) => start === 10n * BigInt(round)))
    }
    going = false
    await concurrent
    assertDisjoint(hot)
  })

  test('are each unknown if the answer that they share is lost, and none of them is sent again', async (t) => {
    const proxy = await startTcpProxy(t, cluster.members[0]!.clientPort)
    const engine = await openAt(t, `etcd://127.0.0.1:${proxy.port}/lost`, { callTimeoutMs: 1000 })
    const some = names.slice(0, 40)
    await reserveEach(engine, some)
    proxy.stallReplies()
    const newNames = some.map((each) => `new/${each}`)
    const creating = lookUpEach(engine, newNames)
    const outcomes = await Promise.allSettled(
      some.map((each) => engine.reserve(each, { size: 10n, ...mine })),
    )
    assert.ok(outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason.code === 'UNKNOWN'))
    assert.ok((await creating).every((each) => each instanceof FahaoError && each.code === 'UNKNOWN'))
    proxy.resume()
    const made = found(await untilItWorks(() => lookUpEach(engine, newNames)))
    assert.ok(made.length === some.length && made.every(({ record }) => record?.value === 'first'))
    const after = await reserveEach(await openAt(t, cluster.url('lost')), newNames)
    assert.ok(after.every(({ start }) => start === 10n))
    const [first, ...others] = await untilItWorks(() => reserveEach(engine, some))
    assert.ok([first!, ...others].every(({ start }) => start === first!.start))
    assert.equal(first!.start % 10n, 0n)
    assert.ok(first!.start >= 20n)
  })
})
