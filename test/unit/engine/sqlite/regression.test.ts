/** Stores that have lost writes: noticed where that is possible, and recovered by `advance`. */

import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { backupSqlite } from '../../../../src/engine/sqlite/backup.ts'
import { untilItWorks } from '../../../conformance/life.ts'
import { freshStore, sqlite } from './stores.ts'

const mine = { size: 10n, incarnation: 1n }
const regressed = { code: 'REGRESSED', message: /fahao advance/ }

describe('an older copy put in the place of the store', () => {
  test('is noticed at opening: nothing is written until it has been advanced', async (t) => {
    const { file, copy, open, events } = freshStore(t)
    const engine = await open()
    await engine.reserve('a', mine)
    const record = await engine.write('k', 'x', undefined)
    backupSqlite(file, copy)
    const lost = await engine.reserve('a', mine)
    await engine.close()
    copyFileSync(copy, file)

    const after = await open()
    assert.equal(after.status().state, 'down')
    assert.match(after.status().reason!, /lacks acknowledged writes: it stands at commits 3, after 4/)
    assert.ok(events.some(({ level, message }) => level === 'error' && /lacks acknowledged/.test(message)))
    await assert.rejects(after.reserve('a', mine), regressed)
    await assert.rejects(after.reserve('new', mine), regressed)
    await assert.rejects(after.release('a', lost, lost.start, mine), regressed)
    await assert.rejects(after.write('k', 'y', record!.version), regressed)
    await assert.rejects(after.remove('k', record!.version), regressed)
    assert.equal((await after.read('k'))?.value, 'x')
    assert.equal((await after.list('')).length, 1)
    assert.equal((await after.counter('a')).bound, 10n)
    await after.close()

    const again = await open()
    await assert.rejects(again.reserve('a', mine), regressed)
    assert.equal(await again.advance(100n), 1)
    assert.deepEqual(again.status(), { state: 'up' })
    assert.equal((await again.reserve('a', mine)).start, 110n)
    assert.equal(await again.release('a', lost, lost.start, mine), false)
    await again.close()
    assert.deepEqual((await open()).status(), { state: 'up' })
  })

  test('is noticed by a process that has the store open, and no bound falls below what that process was given', async (t) => {
    const { file, copy, open } = freshStore(t)
    const engine = await open()
    await engine.reserve('a', mine)
    backupSqlite(file, copy)
    const held = await engine.reserve('a', { size: 500n, incarnation: 1n })
    renameSync(copy, file)
    // The first write may have gone into the removed file: its outcome is unknown.
    await assert.rejects(engine.reserve('a', mine), { code: 'UNKNOWN', message: /replaced/ })
    await assert.rejects(engine.reserve('a', mine), regressed)
    assert.equal(engine.status().state, 'down')
    assert.equal(await engine.advance(1n), 1)
    const { start } = await engine.reserve('a', mine)
    assert.ok(start >= held.end, `${start} lies below ${held.end}`)
  })

  test('stops every process, and one advance frees them all', async (t) => {
    const { file, copy, open } = freshStore(t)
    const [one, two] = [await open(), await open()]
    await one.reserve('a', mine)
    backupSqlite(file, copy)
    const held = await two.reserve('a', { size: 500n, incarnation: 1n })
    renameSync(copy, file)
    await assert.rejects(one.reserve('a', mine))
    await assert.rejects(two.reserve('a', mine))
    await assert.rejects(one.reserve('a', mine), regressed)
    await assert.rejects(two.reserve('a', mine), regressed)
    await one.advance(1n)
    const ranges = [await two.reserve('a', mine), await one.reserve('a', mine)]
    assert.ok(ranges[0]!.start >= held.end && ranges[1]!.start >= ranges[0]!.end)
    assert.deepEqual([one.status(), two.status()], [{ state: 'up' }, { state: 'up' }])
  })

  test('has its advance by another process reported to a process that had noticed no loss', async (t) => {
    const { file, copy, open } = freshStore(t)
    const one = await open()
    let told = 0
    const idle = await open(file, { onAdvanced: () => told++ })
    await one.reserve('a', mine)
    backupSqlite(file, copy)
    await one.write('r', 'forgotten', undefined)
    renameSync(copy, file)
    await assert.rejects(one.reserve('a', mine))
    await assert.rejects(one.reserve('a', mine), regressed)
    await one.advance(1n)
    const { advances } = idle
    // The file that the process has open was replaced: its first call shows that.
    await idle.reserve('b', mine).catch(() => {})
    await idle.reserve('b', mine)
    assert.equal(idle.advances, advances + 1)
    assert.equal(told, 1)
  })

  test('has its advance by another process reported to a process that was started on it', async (t) => {
    const { file, copy, open } = freshStore(t)
    const one = await open()
    await one.reserve('a', mine)
    backupSqlite(file, copy)
    await one.reserve('a', mine)
    await one.close()
    renameSync(copy, file)
    const owner = await open()
    let told = 0
    const late = await open(file, { onAdvanced: () => told++ })
    await assert.rejects(late.reserve('a', mine), regressed)
    await owner.advance(1n)
    await late.reserve('a', mine)
    assert.deepEqual([late.advances, told], [1, 1])
    await late.advance(1n)
    assert.equal(late.advances, 2)
  })

  test('is not noticed without the position file, as the documentation says', async (t) => {
    const { file, copy, open } = freshStore(t)
    const engine = await open()
    backupSqlite(file, copy)
    await engine.reserve('a', mine)
    await engine.close()
    copyFileSync(copy, file)
    rmSync(`${file}-witness`)
    assert.deepEqual((await open()).status(), { state: 'up' })
  })
})

describe('another store put in the place of the store', () => {
  test('is noticed at opening', async (t) => {
    const { folder, file, open } = freshStore(t)
    await (await open()).close()
    const other = join(folder, 'other.db')
    await (await open(other)).close()
    renameSync(other, file)
    await assert.rejects((await open()).reserve('a', mine), {
      code: 'REGRESSED',
      message: /another history/,
    })
  })

  test('is noticed when it is an empty store, made because the file was deleted', async (t) => {
    const { file, open } = freshStore(t)
    const engine = await open()
    await engine.reserve('a', mine)
    await engine.close()
    rmSync(file)
    await assert.rejects((await open()).reserve('a', mine), regressed)
  })
})

test('a store whose file is moved away while it is open serves nothing, makes no new file, and works again when the file is back', async (t) => {
  const { file, copy, open } = freshStore(t)
  const engine = await open()
  const before = await engine.reserve('a', mine)
  renameSync(file, copy)
  await assert.rejects(engine.reserve('a', mine), { code: 'UNKNOWN' })
  await assert.rejects(engine.reserve('a', mine), { code: 'UNAVAILABLE', message: /is gone; put it back/ })
  assert.equal(engine.status().state, 'down')
  assert.ok(!existsSync(file))
  renameSync(copy, file)
  const { start } = await engine.reserve('a', mine)
  assert.ok(start >= before.end)
  assert.deepEqual(engine.status(), { state: 'up' })
})

describe('a bound that was lowered by hand', () => {
  test('is noticed by the process that holds ids above it', async (t) => {
    const { file, open } = freshStore(t)
    const engine = await open()
    await engine.reserve('a', mine)
    await engine.reserve('b', mine)
    sqlite(file, "UPDATE counters SET last = 4 WHERE name = 'a'")
    await assert.rejects(engine.reserve('a', mine), { code: 'REGRESSED', message: /stands at 5, after 10/ })
    assert.equal(engine.status().state, 'down')
    await engine.advance(0n)
    assert.equal((await engine.reserve('a', mine)).start, 10n)
  })

  test('is noticed by the process that acquired a range above it', async (t) => {
    const { file, open } = freshStore(t)
    const [one, two] = [await open(), await open()]
    await one.reserve('a', mine)
    one.transfer('a', 3n)
    two.acquire('a', 10n)
    sqlite(file, "UPDATE counters SET last = 4 WHERE name = 'a'")
    await assert.rejects(two.reserve('a', mine), { code: 'REGRESSED', message: /stands at 5, after 10/ })
  })

  test('is distinguished from a bound that a release lowered', async (t) => {
    const { open } = freshStore(t)
    const [one, two] = [await open(), await open()]
    const first = await one.reserve('a', mine)
    assert.equal(await one.release('a', first, 3n, mine), true)
    const second = await two.reserve('a', mine)
    assert.deepEqual([second.start, second.end], [3n, 13n])
    assert.equal(await two.release('a', second, 3n, mine), true)
    const both = await Promise.all([
      one.reserve('a', mine).then((range) => one.release('a', range, 3n, mine)),
      one.reserve('b', mine),
    ])
    assert.equal(both[0], true)
    assert.equal((await one.reserve('a', mine)).start, 3n)
    assert.equal((await two.reserve('a', mine)).start, 13n)
  })
})

describe('the position file', () => {
  test('is replaced when it cannot be read', async (t) => {
    const { file, open } = freshStore(t)
    await (await open()).close()
    writeFileSync(`${file}-witness`, '')
    const engine = await open()
    await engine.reserve('a', mine)
    await engine.close()
    assert.match(readFileSync(`${file}-witness`, 'utf8'), /"commits":"\d+"/)
  })

  test('is written within about a second of a change, not only at the end', async (t) => {
    const { file, open } = freshStore(t)
    const engine = await open()
    const before = readFileSync(`${file}-witness`, 'utf8')
    await engine.reserve('a', mine)
    await untilItWorks(async () => assert.notEqual(readFileSync(`${file}-witness`, 'utf8'), before))
  })
})
