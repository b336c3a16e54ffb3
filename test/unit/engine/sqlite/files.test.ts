/** Files that are no store: each is refused with a remedy, and is not changed. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSqlite } from '../../../../src/engine/sqlite/engine.ts'
import { engineOptions } from '../../../conformance/store-under-test.ts'
import { atEnd } from '../../../launch/lifetime.ts'
import { temporaryFolder } from '../../../launch/places.ts'
import { sqlite } from './stores.ts'

const mine = { size: 1n, incarnation: 1n }

async function refused(file: string, message: RegExp): Promise<void> {
  await assert.rejects(openSqlite(file, engineOptions()), (error: Error & { code: string }) => {
    assert.equal(error.code, 'ENGINE')
    assert.match(error.message, message)
    assert.ok(!error.message.includes('\n'))
    return true
  })
}

describe('opening a file', () => {
  test('that is no database is refused', async (t) => {
    const file = join(temporaryFolder(t), 'x.db')
    writeFileSync(file, 'not a database, just text '.repeat(400))
    const before = readFileSync(file)
    await refused(file, /is not a SQLite database.*fahao restore/)
    assert.deepEqual(readFileSync(file), before)
  })

  test('of another program is refused', async (t) => {
    const file = join(temporaryFolder(t), 'x.db')
    sqlite(file, 'CREATE TABLE t (a)')
    await refused(file, /database of another program.*--engine/)
  })

  test('of a newer version is refused', async (t) => {
    const file = join(temporaryFolder(t), 'x.db')
    await (await openSqlite(file, engineOptions())).close()
    sqlite(file, 'PRAGMA user_version = 3')
    await refused(file, /newer Fahao.*upgrade/)
  })

  test('that is damaged is refused', async (t) => {
    const file = join(temporaryFolder(t), 'x.db')
    const engine = await openSqlite(file, engineOptions())
    await Promise.all(Array.from({ length: 300 }, (_, index) => engine.reserve(`counter/${index}`, mine)))
    await engine.close()
    const bytes = readFileSync(file)
    bytes.fill(0xff, 4096, bytes.length - 4096)
    writeFileSync(file, bytes)
    await refused(file, /is damaged.*fahao restore/)
  })

  test('that is a folder, or below a file, is refused', async (t) => {
    const folder = temporaryFolder(t)
    mkdirSync(join(folder, 'x.db'))
    await refused(join(folder, 'x.db'), /cannot be opened: let this user/)
    writeFileSync(join(folder, 'y'), '')
    await refused(join(folder, 'y', 'x.db'), /folder .* cannot be made/)
    await refused('/proc/nowhere/x.db', /folder .* cannot be made/)
  })

  test('that was refused can be opened by other processes: nothing stays locked', async (t) => {
    const file = join(temporaryFolder(t), 'x.db')
    writeFileSync(file, 'x'.repeat(5000))
    await refused(file, /is not a SQLite database/)
    writeFileSync(file, '')
    const engine = await openSqlite(file, engineOptions())
    assert.deepEqual(await engine.ownership(), { state: 'owner' })
    await engine.close()
  })

  test('through a symbolic link opens the same store, with one owner', async (t) => {
    const folder = temporaryFolder(t)
    const engine = await openSqlite(join(folder, 'x.db'), engineOptions())
    atEnd(t, () => engine.close())
    symlinkSync('x.db', join(folder, 'y.db'))
    const linked = await openSqlite(join(folder, 'y.db'), engineOptions())
    atEnd(t, () => linked.close())
    assert.equal((await engine.reserve('a', mine)).start, 0n)
    assert.equal((await linked.reserve('a', mine)).start, 1n)
    assert.equal((await linked.ownership()).state, 'other')
  })
})
