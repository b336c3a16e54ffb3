/** The owner of a store whose lock file is deleted, replaced or moved while its owner runs. */

import assert from 'node:assert/strict'
import { chmodSync, linkSync, renameSync, rmSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { describe, type TestContext, test } from 'node:test'
import type { LogEvent } from '../../../../src/base/events.ts'
import { ownerFile } from '../../../../src/engine/sqlite/owner-lock.ts'
import { freshFile, mine, openStore, sqlite } from './stores.ts'

/** What a process says before it waits for an owner that may still run. */
const waits = /strict kinds wait \d+ ms/

/** An owner, and the number of its calls of `onOwnershipLost`. */
async function startOwner(t: TestContext) {
  const file = freshFile(t)
  let losses = 0
  const { engine, events } = await openStore(t, file, { onOwnershipLost: () => losses++ })
  assert.deepEqual(await engine.ownership(), { state: 'owner' })
  return { file, lock: ownerFile(file), engine, events, losses: () => losses }
}

function messages(events: readonly LogEvent[]): string {
  return events.map(({ level, message }) => `${level} ${message}`).join('\n')
}

/** Waits until the last check of the lock file is no longer valid. */
async function untilLost(engine: { owns(): boolean }): Promise<void> {
  while (engine.owns()) await new Promise((again) => setTimeout(again, 10))
}

describe('a store whose lock file is deleted while its owner runs', () => {
  test('has no second owner before the first has noticed the loss and reported it', async (t) => {
    const first = await startOwner(t)
    rmSync(first.lock)
    const startedMs = performance.now()
    const second = await openStore(t, first.file)
    assert.ok(second.engine.owns(), 'the second is the owner')
    assert.ok(performance.now() - startedMs >= 490, 'after half a second')
    // The first received no call meanwhile. Its next call checks the lock file first.
    assert.equal(first.engine.owns(), false)
    assert.equal(first.losses(), 1)
    const ownership = await first.engine.ownership()
    assert.ok(ownership.state === 'other')
    assert.match(ownership.holder, new RegExp(`^process ${process.pid} on `))
    assert.match(messages(first.events), /error this process owns the store no longer: .*removed/)
    assert.match(messages(second.events), /warn process \d+ on \S+ owned this store by another lock file/)
    await second.engine.close()
    assert.deepEqual(await first.engine.ownership(), { state: 'owner' })
  })

  test('keeps its owner, without a wait, if no other process has locked a new file', async (t) => {
    const { lock, engine, events, losses } = await startOwner(t)
    rmSync(lock)
    await untilLost(engine)
    assert.deepEqual(await engine.ownership(), { state: 'owner' })
    assert.doesNotMatch(messages(events), waits)
    assert.equal(losses(), 1)
    assert.match(messages(events), /info this process owns the store now/)
    assert.ok((await engine.reserve('a', { size: 1n, ...mine })).end > 0n)
  })

  test('is not owned again by a file that was moved away and back', async (t) => {
    const first = await startOwner(t)
    renameSync(first.lock, `${first.lock}.aside`)
    const second = await openStore(t, first.file)
    renameSync(`${first.lock}.aside`, first.lock)
    assert.equal(first.engine.owns(), false)
    await untilLost(second.engine)
    assert.deepEqual(
      [first.engine, second.engine].map((engine) => engine.owns()),
      [false, false],
    )
    assert.equal((await first.engine.ownership()).state, 'owner')
    assert.equal((await second.engine.ownership()).state, 'other')
  })
})

describe('an owner', () => {
  test('whose lock file only has another mode, or a second name, stays the owner, without an error', async (t) => {
    for (const touch of ['mode', 'name']) {
      const { lock, engine, events } = await startOwner(t)
      if (touch === 'mode') chmodSync(lock, 0o600)
      else linkSync(lock, `${lock}.copy`)
      await untilLost(engine)
      assert.deepEqual(await engine.ownership(), { state: 'owner' })
      assert.match(messages(events), /info the file of the owner lock was linked.*\ninfo this process owns/)
      assert.doesNotMatch(messages(events), /error/)
    }
  })

  test('whose lock file was touched reports the loss if another process owns the store after that', async (t) => {
    const first = await startOwner(t)
    const second = await openStore(t, first.file)
    chmodSync(first.lock, 0o600)
    await untilLost(first.engine)
    assert.deepEqual(await second.engine.ownership(), { state: 'owner' })
    for (let times = 0; times < 2; times++) assert.equal((await first.engine.ownership()).state, 'other')
    assert.equal(messages(first.events).match(/error .* owns the store now/g)?.length, 1)
  })

  test('that finds another claim in the store reserves nothing more as the owner', async (t) => {
    const { file, engine, losses } = await startOwner(t)
    await engine.reserve('a', { size: 5n, ...mine })
    sqlite(file, `UPDATE state SET owner = '{"holder":"process 1 on other"}'`)
    await assert.rejects(engine.reserve('a', { size: 5n, ...mine }), { code: 'STALE' })
    assert.equal(losses(), 1)
    assert.equal((await engine.counter('a')).bound, 5n)
    assert.equal((await engine.reserve('a', { size: 5n, ...mine })).start, 5n, 'as one that shares the store')
  })

  test('that finds another claim in the store commits nothing more as the owner', async (t) => {
    const { file, engine, losses } = await startOwner(t)
    sqlite(file, `UPDATE state SET owner = '{"holder":"process 1 on other"}'`)
    const counter = { name: 'a', request: { size: 5n, ...mine }, version: 0n }
    await assert.rejects(engine.commit({ records: [], counter }), { code: 'STALE' })
    assert.equal(losses(), 1)
    assert.equal((await engine.counter('a')).bound, 0n)
  })

  test('whose claim could not be written writes it after the first reserve that is rejected for it', async (t) => {
    const { file, engine, losses } = await startOwner(t)
    sqlite(file, `UPDATE state SET owner = NULL`)
    await assert.rejects(engine.reserve('a', { size: 5n, ...mine }), { code: 'STALE' })
    assert.equal((await engine.reserve('a', { size: 5n, ...mine })).start, 0n)
    assert.equal(losses(), 0)
  })

  test('that was killed is succeeded without a wait, also after a claim by an older version', async (t) => {
    const { file, engine } = await startOwner(t)
    const { engine: next, events: nextEvents } = await openStore(t, file)
    assert.equal((await next.ownership()).state, 'other')
    await engine.close()
    assert.deepEqual(await next.ownership(), { state: 'owner' })
    assert.doesNotMatch(messages(nextEvents), waits)
    await next.close()
    sqlite(file, `UPDATE state SET owner = 'process 7 on old'`)
    const startedMs = performance.now()
    const { events } = await openStore(t, file)
    assert.ok(performance.now() - startedMs >= 490, 'which names no lock file')
    assert.match(messages(events), /process 7 on old/)
    assert.match(messages(events), waits)
  })
})
