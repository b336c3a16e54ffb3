/** The separation of histories: no version, bound or file of the lost history affects the new one. */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import { systemClock } from '../../../../src/base/clock.ts'
import { repairAll, repairEach } from '../../../../src/engine/advance-rules.ts'
import { backupSqlite, restoreSqlite } from '../../../../src/engine/sqlite/backup.ts'
import { constantRepair } from '../../../constant-repair.ts'
import { freshFile, mine, openStore, sqlite, withStore } from './stores.ts'

describe('an advance', () => {
  test('uses versions that differ from all lost ones', async (t) => {
    const file = freshFile(t)
    await withStore(file, (engine) => engine.reserve('a', { size: 10n, ...mine }))
    copyFileSync(file, `${file}.copy`)
    const forgotten = await withStore(file, async (engine) => ({
      reservation: await engine.reserve('a', { size: 10n, ...mine }),
      record: await engine.write('r', 'forgotten', undefined),
    }))
    copyFileSync(`${file}.copy`, file)
    const { engine } = await openStore(t, file)
    await engine.advance(1000n)
    const { end } = await engine.reserve('a', { size: 10n, ...mine })
    await engine.write('r', 'now', undefined)
    assert.equal(await engine.release('a', forgotten.reservation, 10n, mine), false)
    assert.equal(await engine.write('r', 'x', forgotten.record!.version), undefined)
    assert.equal((await engine.counter('a')).bound, end)
  })

  test('by one process is not undone by the position that another stored before', async (t) => {
    const file = freshFile(t)
    const [{ engine: one }, { engine: two }] = [await openStore(t, file), await openStore(t, file)]
    const { end } = await two.reserve('a', { size: 10n, ...mine })
    await one.advance(1000n)
    const witness = readFileSync(`${file}-witness`, 'utf8')
    await two.close()
    assert.equal(readFileSync(`${file}-witness`, 'utf8'), witness)
    await one.close()
    const { engine: again } = await openStore(t, file)
    assert.equal((await again.reserve('a', { size: 1n, ...mine })).start, end + 1000n)
  })

  test('is not undone by a process that still has the replaced file open', async (t) => {
    const file = freshFile(t)
    await withStore(file, (engine) => engine.reserve('a', { size: 10n, ...mine }))
    copyFileSync(file, `${file}.copy`)
    const { engine: old } = await openStore(t, file)
    for (let each = 0; each < 9; each++) await old.reserve('a', { size: 10n, ...mine })
    renameSync(`${file}.copy`, file)
    rmSync(`${file}-wal`)
    await withStore(file, (engine) => engine.advance(1000n))
    const witness = readFileSync(`${file}-witness`, 'utf8')
    await old.close()
    assert.equal(readFileSync(`${file}-witness`, 'utf8'), witness)
    await withStore(file, (engine) => engine.reserve('a', { size: 1n, ...mine }))
  })

  test('that failed leaves the regression as it was', async (t) => {
    const file = freshFile(t)
    await withStore(file, (engine) => engine.write('r', 'x', undefined))
    copyFileSync(file, `${file}.copy`)
    await withStore(file, (engine) => engine.reserve('a', { size: 10n, ...mine }))
    copyFileSync(`${file}.copy`, file)
    const { engine } = await openStore(t, file)
    let looks = 0
    const advance = engine.advance(
      1000n,
      repairEach(() => {
        if (looks++ > 0) throw new Error('given up')
        sqlite(file, 'UPDATE records SET version = version + 1')
        return 'y'
      }),
    )
    await assert.rejects(advance, { message: 'given up' })
    await assert.rejects(engine.reserve('a', { size: 1n, ...mine }), { code: 'REGRESSED' })
  })

  test('raises once if many processes advance because of the same regression', async (t) => {
    const file = freshFile(t)
    const { engine } = await openStore(t, file)
    await engine.reserve('a', { size: 10n, ...mine })
    sqlite(file, 'UPDATE counters SET last = 5')
    await assert.rejects(engine.reserve('a', { size: 1n, ...mine }), { code: 'REGRESSED' })
    const advances = [1, 2, 3].map(() => engine.advance(100n, undefined, { ifRegressed: true }))
    assert.deepEqual((await Promise.all(advances)).sort(), [0, 0, 1])
    assert.equal((await engine.counter('a')).bound, 110n)
  })

  test('is repeated while its records change, and applied once', async (t) => {
    const file = freshFile(t)
    const [{ engine }, { engine: other }] = [await openStore(t, file), await openStore(t, file)]
    await engine.reserve('a', { size: 10n, ...mine })
    const { version } = (await other.write('r', 'before', undefined))!
    const writes: Promise<unknown>[] = []
    const repair = repairEach(({ value }) => {
      // The advance always finds this list outdated: the write is before it in the same queue.
      if (writes.length === 0) writes.push(engine.write('r', 'meanwhile', version))
      return `${value} repaired`
    })
    await engine.advance(5n, repair)
    await Promise.all(writes)
    assert.equal((await other.read('r'))?.value, 'meanwhile repaired')
    assert.equal((await other.counter('a')).bound, 15n)
  })
})

describe('a restore', () => {
  test('repairs and adds records', async (t) => {
    const file = freshFile(t)
    await withStore(file, async (engine) => {
      await engine.write('workers/0', '7', undefined)
      await engine.write('other', '7', undefined)
    })
    backupSqlite(file, `${file}.copy`)
    restoreSqlite(`${file}.copy`, file, {
      skip: 0n,
      clock: systemClock,
      repair: repairAll(
        repairEach(({ key, value }) => (key.startsWith('workers/') ? `${value}00` : undefined)),
        constantRepair({ records: new Map([['workers/new', 'added']]) }),
      ),
    })
    await withStore(file, async (engine) => {
      assert.deepEqual(
        (await engine.list('')).map(({ value }) => value),
        ['7', '700', 'added'],
      )
      const { version } = (await engine.read('workers/new'))!
      assert.ok((await engine.write('workers/new', 'later', version))!.version > version)
    })
  })

  test('with a large enough skip repeats no id that was issued after the backup; with a smaller one it would', async (t) => {
    const file = freshFile(t)
    const issuedUpTo = await withStore(file, async (engine) => {
      await engine.reserve('a', { size: 10n, ...mine })
      backupSqlite(file, `${file}.copy`)
      return (await engine.reserve('a', { size: 500n, ...mine })).end
    })
    const next = async (skip: bigint) => {
      restoreSqlite(`${file}.copy`, file, { skip, clock: systemClock })
      return withStore(file, async (engine) => (await engine.reserve('a', { size: 1n, ...mine })).start)
    }
    assert.ok((await next(500n)) >= issuedUpTo)
    assert.ok((await next(499n)) < issuedUpTo)
  })
})

test('a log that is removed under a running process ends every session that has it open, and no acknowledged write is lost', async (t) => {
  const file = freshFile(t)
  const { engine } = await openStore(t, file)
  const { engine: idle } = await openStore(t, file)
  const before = await engine.reserve('a', { size: 10n, ...mine })
  rmSync(`${file}-wal`)
  await assert.rejects(engine.reserve('a', { size: 10n, ...mine }), { code: 'UNKNOWN', message: /log/ })
  // The file lacks the commits of the log until the last session has closed the log.
  await assert.rejects(engine.reserve('a', { size: 10n, ...mine }), { code: 'UNAVAILABLE' })
  await assert.rejects(idle.read('r'), { code: 'UNAVAILABLE' })
  const after = await engine.reserve('a', { size: 10n, ...mine })
  assert.ok(after.start >= before.end)
  assert.equal(engine.status().state, 'up')
  const { engine: other } = await openStore(t, file)
  assert.equal((await other.counter('a')).bound, after.end)
})
