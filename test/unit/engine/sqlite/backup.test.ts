import assert from 'node:assert/strict'
import { chownSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { systemClock } from '../../../../src/base/clock.ts'
import { boundMax } from '../../../../src/engine/engine.ts'
import { backupSqlite, restoreSqlite } from '../../../../src/engine/sqlite/backup.ts'
import { openSqlite } from '../../../../src/engine/sqlite/engine.ts'
import { engineOptions } from '../../../conformance/store-under-test.ts'
import { freshStore } from './stores.ts'

const mine = { size: 10n, incarnation: 1n }

function start(t: TestContext) {
  const store = freshStore(t)
  const restore = (skip = 0n) => restoreSqlite(store.copy, store.file, { skip, clock: systemClock })
  return { ...store, restore }
}

describe('a backup', () => {
  test('contains one snapshot of a store in use, its log included', async (t) => {
    const { file, copy, open } = start(t)
    const engine = await open()
    await engine.reserve('a', mine)
    await engine.write('k', 'x', undefined)
    const gone = await engine.write('gone', 'x', undefined)
    await engine.remove('gone', gone!.version)
    const underWay = Promise.all(Array.from({ length: 200 }, () => engine.reserve('b', mine)))
    const summary = backupSqlite(file, copy)
    await underWay
    await engine.reserve('a', mine)
    assert.equal(summary.file, copy)
    assert.equal(summary.records, 1)
    assert.ok(summary.lastWriteUs > 0 && summary.bytes > 0)
    const restored = await openSqlite(copy, engineOptions())
    assert.equal((await restored.counter('a')).bound, 10n)
    assert.equal((await restored.read('k'))?.value, 'x')
    await restored.close()
  })

  test('can be read by its user alone, as the store and its log, because they contain secrets', async (t) => {
    const { file, copy, open, restore } = start(t)
    const engine = await open()
    await engine.reserve('a', mine)
    backupSqlite(file, copy)
    const modeOf = (path: string) => statSync(path).mode & 0o777
    assert.deepEqual([file, `${file}-wal`, copy].map(modeOf), [0o600, 0o600, 0o600])
    await engine.close()
    restore()
    assert.equal(modeOf(file), 0o600)
  })

  test('becomes a store of the user of its folder, also when root restores it', async (t) => {
    const { folder, file, copy, open, restore } = start(t)
    await (await open()).close()
    backupSqlite(file, copy)
    for (const name of readdirSync(folder)) if (join(folder, name) !== copy) rmSync(join(folder, name))
    if (process.getuid!() === 0) chownSync(folder, 1000, 1001)
    restore()
    const { uid, gid } = statSync(folder)
    for (const path of [file, `${file}-owner`]) {
      const found = statSync(path)
      assert.deepEqual([found.uid, found.gid], [uid, gid])
    }
  })

  test('replaces no file, and leaves no file behind if it fails', async (t) => {
    const { folder, file, copy, open } = start(t)
    await (await open()).close()
    writeFileSync(copy, 'precious')
    const before = readdirSync(folder)
    assert.throws(() => backupSqlite(file, copy), { code: 'ENGINE', message: /copy\.db exists/ })
    assert.throws(() => backupSqlite(join(folder, 'none.db'), join(folder, 'new.db')), {
      code: 'ENGINE',
      message:
        /^there is no store .*none\.db, so there is nothing to copy; name the store of the server: --engine sqlite:FILE$/,
    })
    assert.throws(() => backupSqlite(file, join(folder, 'nowhere', 'new.db')), { code: 'ENGINE' })
    assert.deepEqual(readdirSync(folder), before)
  })

  test('of the store of another program is refused', async (t) => {
    const { folder, copy } = start(t)
    writeFileSync(join(folder, 'text.db'), 'x'.repeat(5000))
    assert.throws(() => backupSqlite(join(folder, 'text.db'), copy), {
      code: 'ENGINE',
      message: /is not a SQLite database/,
    })
  })
})

describe('a restored store', () => {
  test('begins above the copy by the skip, on every counter', async (t) => {
    const { file, copy, open, restore } = start(t)
    const engine = await open()
    await engine.reserve('a', mine)
    await engine.reserve('top', { size: 5n, floor: boundMax - 6n, incarnation: 1n })
    backupSqlite(file, copy)
    const later = await engine.reserve('a', mine)
    await engine.close()
    assert.equal(restore(1000n).counters, 2)
    const restored = await open()
    assert.deepEqual(restored.status(), { state: 'up' })
    assert.equal((await restored.counter('top')).bound, boundMax)
    assert.equal((await restored.counter('a')).bound, 1010n)
    // A reservation of the lost history cannot change the new one.
    assert.equal(await restored.release('a', later, later.start, mine), false)
    assert.equal((await restored.reserve('a', mine)).start, 1010n)
  })

  test('works without a regression: no position file or log of the old store contradicts it', async (t) => {
    const { folder, file, copy, open, restore } = start(t)
    const engine = await open()
    backupSqlite(file, copy)
    for (let each = 0; each < 20; each++) await engine.reserve('a', mine)
    await engine.close()
    writeFileSync(`${file}-wal`, 'the log of a store that was killed')
    restore()
    assert.ok(!existsSync(`${file}-wal`))
    for (let life = 0; life < 3; life++) {
      const restored = await open()
      assert.deepEqual(restored.status(), { state: 'up' })
      assert.equal((await restored.reserve('a', mine)).start, BigInt(life * 10))
      await restored.close()
    }
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes(String(process.pid))),
      [],
    )
  })

  test('can be created where there is none', async (t) => {
    const { file, copy, open, restore } = start(t)
    const engine = await open()
    await engine.reserve('a', mine)
    backupSqlite(file, copy)
    await engine.close()
    rmSync(file)
    restore(5n)
    assert.equal((await (await open()).counter('a')).bound, 15n)
  })

  test('replaces no store that a process has open, owner or not, and no process opens it meanwhile', async (t) => {
    const { file, copy, open, restore } = start(t)
    const [owner, other] = [await open(), await open()]
    await owner.reserve('a', mine)
    backupSqlite(file, copy)
    await owner.reserve('a', mine)
    assert.throws(() => restore(), { code: 'ENGINE', message: /is in use; stop every process/ })
    await owner.close()
    assert.throws(() => restore(), { code: 'ENGINE', message: /is in use/ })
    assert.equal((await other.counter('a')).bound, 20n)
    await other.close()
    restore()
    assert.equal((await (await open()).counter('a')).bound, 10n)
  })

  test('is still the old one if the copy or the skip cannot be used', async (t) => {
    const { copy, open, restore } = start(t)
    const engine = await open()
    await engine.reserve('a', mine)
    await engine.close()
    assert.throws(() => restore(), {
      code: 'ENGINE',
      message: /there is no file .*copy\.db; name one that fahao backup has made/,
    })
    writeFileSync(copy, 'x'.repeat(5000))
    assert.throws(() => restore(), { code: 'ENGINE', message: /is not a SQLite database/ })
    assert.throws(() => restore(-1n), { code: 'ERR' })
    assert.throws(() => restore(boundMax), { code: 'ERR' })
    assert.equal((await (await open()).counter('a')).bound, 10n)
  })
})
