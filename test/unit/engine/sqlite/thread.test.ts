/** The thread of a SQLite engine when it ends or is slow, and the assertions on arguments. */
import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { FahaoError } from '../../../../src/base/errors.ts'
import { withoutWarning } from '../../../../src/engine/sqlite/driver.ts'
import { SqliteEngine } from '../../../../src/engine/sqlite/engine.ts'
import { OwnerLock } from '../../../../src/engine/sqlite/owner-lock.ts'
import { Records } from '../../../../src/engine/sqlite/records.ts'
import { engineOptions } from '../../../conformance/store-under-test.ts'
import { freshFile, mine, openStore } from './stores.ts'

/**
 * An engine on a thread that opens a store and writes a claim as the real one does. For each later request the thread
 * runs the code `meet`.
 */
async function onThread(file: string, meet: string, callTimeoutMs = 200): Promise<SqliteEngine> {
  const messages = new URL('../../../../src/engine/sqlite/thread-messages.ts', import.meta.url)
  const code = `const { parentPort } = require('node:worker_threads')
    void import('${messages}').then(({ packOutcomes, unpackOperations }) => {
      parentPort.on('message', (request) => {
        const operations = unpackOperations(request.operations ?? [])
        const answer = () => {
          const values = operations.map(({ args }) => ({ value: args[0] }))
          const outcomes = packOutcomes(operations, values)
          parentPort.postMessage({ type: 'done', outcomes, repaired: [], advances: 0, trouble: undefined })
        }
        if (['claim', 'own'].includes(operations[0]?.op)) return answer()
        ${meet}
      })
      parentPort.postMessage({ type: 'opened', lastWriteUs: undefined, trouble: undefined })
    })`
  const thread = new Worker(code, { eval: true })
  return SqliteEngine.start(file, thread, OwnerLock.use(file), engineOptions({ callTimeoutMs }))
}

describe('a SQLite engine', () => {
  test('whose thread has ended fails every call, keeps the owner lock, and closes at once', async (t) => {
    const file = freshFile(t)
    const engine = await onThread(file, `throw new Error('a bug')`, 5000)
    const calls = [
      engine.reserve('a', { size: 1n, ...mine }),
      engine.write('r', 'x', undefined),
      engine.read('r'),
    ]
    const codes = (await Promise.allSettled(calls)).map((outcome) =>
      outcome.status === 'rejected' && outcome.reason instanceof FahaoError ? outcome.reason.code : outcome,
    )
    assert.deepEqual(codes, ['UNKNOWN', 'UNKNOWN', 'UNAVAILABLE'])
    await assert.rejects(engine.reserve('a', { size: 1n, ...mine }), {
      code: 'UNAVAILABLE',
      message: /restart this process/,
    })
    assert.equal(engine.status().state, 'down')
    // Buffered ids are still issued here, so no other process may become the owner.
    assert.deepEqual(await engine.ownership(), { state: 'owner' })
    const { engine: other } = await openStore(t, file)
    assert.equal((await other.ownership()).state, 'other')
    const startedMs = performance.now()
    await engine.close()
    assert.ok(performance.now() - startedMs < 4000, 'the deadline of a call, 5 s, was waited for')
    assert.equal((await other.ownership()).state, 'owner')
  })

  test('whose thread ends before it has opened anything is refused', async (t) => {
    const file = freshFile(t)
    const thread = new Worker('process.exit(3)', { eval: true })
    await assert.rejects(SqliteEngine.start(file, thread, OwnerLock.use(file), engineOptions()), {
      code: 'ENGINE',
    })
  })

  test('discards late answers, and works again', async (t) => {
    const engine = await onThread(
      freshFile(t),
      `if (request.type === 'close') return parentPort.close()
       if (operations.some(({ args }) => args[0] === 'slow')) setTimeout(answer, 700)
       else answer()`,
    )
    t.after(() => engine.close())
    const slow = [engine.reserve('slow', { size: 1n, ...mine }), engine.counter('slow')]
    await new Promise((resolve) => setImmediate(resolve))
    const behind = engine.reserve('behind', { size: 1n, ...mine })
    const outcomes = await Promise.allSettled([...slow, behind])
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code),
      ['UNKNOWN', 'UNAVAILABLE', 'UNAVAILABLE'],
    )
    assert.equal(engine.status().state, 'down')
    let answered: unknown
    for (const giveUpAt = performance.now() + 5000; answered === undefined; ) {
      answered = await engine.counter('later').catch(() => undefined)
      assert.ok(performance.now() < giveUpAt)
    }
    assert.equal(answered, 'later')
    assert.equal(engine.status().state, 'up')
  })

  test('that is closed while its thread never answers closes all the same', async (t) => {
    const engine = await onThread(freshFile(t), '')
    const call = assert.rejects(engine.reserve('a', { size: 1n, ...mine }), { code: 'UNKNOWN' })
    await engine.close()
    await call
  })

  test('refuses calls that only a bug can make', async (t) => {
    const { engine } = await openStore(t, freshFile(t))
    const reserved = await engine.reserve('a', { size: 1n, ...mine })
    const bugs = [
      () => engine.reserve('a', { size: -1n, ...mine }),
      () => engine.reserve('a', { size: 1n, floor: -1n, ...mine }),
      () => engine.reserve('a', { size: 1n, max: 2n ** 63n + 1n, ...mine }),
      () => engine.reserve('a', { size: 1n, incarnation: 0n }),
      () => engine.release('a', reserved, 2n, mine),
      () => engine.release('a', reserved, -1n, mine),
      () => engine.advance(-1n),
      () => engine.advance(2n ** 63n),
    ]
    for (const bug of bugs) await assert.rejects(async () => bug(), { name: 'AssertionError' })
  })
})

test('the list of records reads no more rows than it returns, among a hundred thousand', () => {
  const database = new DatabaseSync(':memory:')
  database.exec('CREATE TABLE records (key TEXT PRIMARY KEY, value TEXT, version INTEGER) WITHOUT ROWID')
  database.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
      INSERT INTO records SELECT printf('k/%06d', i), '', i FROM n`)
  database.exec(`INSERT INTO records VALUES ('a/1', '', 0), ('l/1', '', 0)`)
  const records = new Records(database)
  const cpuMs = (list: () => unknown[], wanted: number) => {
    const before = process.cpuUsage()
    for (let times = 0; times < 100; times++) assert.equal(list().length, wanted)
    return process.cpuUsage(before).user / 1000
  }
  // A scan of the table takes some 10 ms each time.
  assert.ok(cpuMs(() => records.list('a/'), 1) < 200)
  assert.ok(cpuMs(() => records.list('k/', 'k/050000', 10), 10) < 200)
  assert.ok(cpuMs(() => records.list('l/'), 1) < 200)
  database.close()
})

test('loading SQLite suppresses the warning that it is experimental, and no other', () => {
  const heard: unknown[] = []
  const { emitWarning } = process
  process.emitWarning = ((warning: unknown) => heard.push(warning)) as typeof process.emitWarning
  try {
    withoutWarning(() => {
      process.emitWarning('SQLite is an experimental feature', 'ExperimentalWarning')
      process.emitWarning('something else is', 'ExperimentalWarning')
      process.emitWarning('SQLite is old', 'DeprecationWarning')
    })
    process.emitWarning('SQLite is an experimental feature', 'ExperimentalWarning')
  } finally {
    process.emitWarning = emitWarning
  }
  assert.deepEqual(heard, ['something else is', 'SQLite is old', 'SQLite is an experimental feature'])
})
