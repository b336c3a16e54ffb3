/** The thread of queries: limits, cancels, its death in the middle, and turns of users. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { SessionFacts } from '../../../src/postgres/query/analysed.ts'
import { type QueryLimits, QueryQueue, type Requester } from '../../../src/postgres/query-queue.ts'
import { atEnd, type Lifetime } from '../../launch/lifetime.ts'

const session: SessionFacts = {
  user: 'app',
  database: 'ids',
  backendId: 1,
  transactionUs: 0n,
  serverStartUs: 0n,
  version: 'PostgreSQL 15.0',
  settings: [],
  cursors: [],
}
/** Runs for minutes, and keeps nothing. */
const endless = 'SELECT count(*) FROM generate_series(1, 3000) a, generate_series(1, 3000) b'
/** Fills the memory. */
const hungry = 'SELECT a, b FROM generate_series(1, 1000) a, generate_series(1, 300) b ORDER BY b, a'

function asker(user = 'app', more: Partial<Requester> = {}): Requester {
  return {
    user,
    signal: new AbortController().signal,
    timeoutMs: 0,
    load: async (_, give) => give({ found: [], isAll: true }, true),
    ...more,
  }
}

function queueOf(lifetime: Lifetime, limits: Partial<QueryLimits> = {}): QueryQueue {
  const queue = new QueryQueue(limits)
  atEnd(lifetime, () => queue.close())
  return queue
}

/** The number of rows of a query, or the SQLSTATE of its error. */
async function outcome(queue: QueryQueue, text: string, by = asker()): Promise<number | string> {
  try {
    const request = { type: 'run', text, declared: [], values: [], formats: [], session } as const
    return (await queue.run(request, by)).count
  } catch (error) {
    return (error as { sqlState?: string }).sqlState ?? String(error)
  }
}

test('a query that takes too long costs itself, and others that wait run', async (t) => {
  const queue = queueOf(t, { timeMs: 300 })
  const all = [outcome(queue, endless), outcome(queue, 'SELECT 1', asker('b')), outcome(queue, endless)]
  assert.deepEqual(await Promise.all(all), ['57014', 1, '57014'])
})

test('a query that takes too much memory is refused before V8 ends the thread, or the process', async (t) => {
  const queue = queueOf(t, { memoryMb: 40, timeMs: 60_000 })
  const distinct = hungry.replace('SELECT', 'SELECT DISTINCT')
  const grouped = 'SELECT array_agg(a) FROM generate_series(1, 1000) a, generate_series(1, 300) b GROUP BY b'
  for (const text of [hungry, distinct, grouped]) assert.equal(await outcome(queue, text), '53200', text)
  // What is no longer in use does not count.
  const large = hungry.replace('300', '60')
  for (let time = 0; time < 6; time++) assert.equal(await outcome(queue, large), 60_000)
  assert.equal(queue.started, 1)
})

test('the answer to a query that was cancelled is not that of the next one', async (t) => {
  const queue = queueOf(t)
  const cancelled = new AbortController()
  const list = "SELECT relname FROM pg_class WHERE relkind = 'S'"
  const first = outcome(
    queue,
    list,
    asker('a', {
      signal: cancelled.signal,
      async load(_, give) {
        give({ found: [], isAll: true }, true)
        cancelled.abort()
      },
    }),
  )
  const second = outcome(queue, 'SELECT relname FROM pg_class LIMIT 3', asker('b'))
  assert.deepEqual([await first, await second], ['57014', 3])
})

test('a query is cancelled while it waits, while it runs, while it loads, and by its timeout', async (t) => {
  const queue = queueOf(t, { graceMs: 10 })
  const [waiting, running, loading] = [new AbortController(), new AbortController(), new AbortController()]
  const loads = Promise.withResolvers<void>()
  const isLoading = Promise.withResolvers<void>()
  const load = () => {
    isLoading.resolve()
    return loads.promise
  }
  const list = "SELECT relname FROM pg_class WHERE relkind = 'S'"
  const first = outcome(queue, list, asker('app', { signal: loading.signal, load }))
  const second = outcome(queue, 'SELECT 1', asker('app', { signal: waiting.signal }))
  await isLoading.promise
  waiting.abort()
  assert.equal(await second, '57014')
  loading.abort()
  assert.equal(await first, '57014')
  const third = outcome(queue, endless, asker('app', { signal: running.signal }))
  running.abort()
  assert.equal(await third, '57014')
  assert.equal(await outcome(queue, endless, asker('app', { timeoutMs: 1 })), '57014')
  loads.resolve()
  assert.equal(await outcome(queue, 'SELECT 1'), 1)
})

test('an error while sequences are loaded is that of the query, and changes of settings are part of an answer', async (t) => {
  const queue = queueOf(t)
  const fails = () => {
    throw new Error('no')
  }
  const list = "SELECT relname FROM pg_class WHERE relkind = 'S'"
  assert.equal(await outcome(queue, list, asker('app', { load: async () => fails() })), 'Error: no')
  const setting = "SELECT set_config('a.b', 'c', false) FROM pg_class WHERE relname = 'pg_class'"
  assert.equal(await outcome(queue, setting), 1)
})

test('users take turns, however many queries one of them sends', async (t) => {
  const queue = queueOf(t)
  const order: string[] = []
  const run = async (user: string) => {
    await outcome(queue, 'SELECT 1 FROM pg_am', asker(user))
    order.push(user)
  }
  const many = Array.from({ length: 8 }, () => run('a'))
  await Promise.all([...many, run('b'), run('c'), run('d')])
  assert.deepEqual(order.slice(0, 5).sort(), ['a', 'a', 'b', 'c', 'd'].slice(0, 5))
})

test('whatever happens to the thread, each query is settled once', async (t) => {
  const step = fc.constantFrom(
    'quick',
    'wrong',
    'cancelled',
    'hungry',
    'fault',
  ) satisfies fc.Arbitrary<string>
  const user = fc.constantFrom('a', 'b', 'c', 'd')
  const property = fc.asyncProperty(fc.array(fc.tuple(step, user), { maxLength: 8 }), async (steps) => {
    const queue = queueOf(t, { timeMs: 3000, graceMs: 1, memoryMb: 64 })
    const expected = {
      quick: /^1$/,
      wrong: /^42703$/,
      cancelled: /^57014$/,
      hungry: /^5/,
      fault: /^Error: no$/,
    }
    const settled = steps.map(async ([kind, by]) => {
      const controller = new AbortController()
      const load = async () => {
        throw new Error('no')
      }
      const texts = {
        quick: 'SELECT 1',
        wrong: 'SELECT nothing',
        cancelled: endless,
        hungry,
        fault: 'SELECT seqrelid FROM pg_sequence',
      }
      const answer = outcome(queue, texts[kind], asker(by, { signal: controller.signal, load }))
      if (kind === 'cancelled') setImmediate(() => controller.abort())
      assert.match(String(await answer), expected[kind], kind)
    })
    await Promise.all(settled)
    assert.equal(await outcome(queue, 'SELECT 1'), 1)
    queue.close()
  })
  await fc.assert(property, { numRuns: 5 })
})

test('a queue that is closed refuses what waits and what comes', async (t) => {
  const queue = queueOf(t)
  const waiting = outcome(queue, endless)
  queue.close()
  assert.match((await waiting) as string, /stopping/)
  assert.match((await outcome(queue, 'SELECT 1')) as string, /stopping/)
})
