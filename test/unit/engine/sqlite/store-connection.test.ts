/** The write-ahead log of a closed connection, and a look-up on an open one. */
import assert from 'node:assert/strict'
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { LookedUp } from '../../../../src/engine/engine.ts'
import { backupSqlite } from '../../../../src/engine/sqlite/backup.ts'
import { packLookUps, unpackLookedUp } from '../../../../src/engine/sqlite/packed-look-ups.ts'
import { StoreConnection } from '../../../../src/engine/sqlite/store-connection.ts'
import { atEnd } from '../../../launch/lifetime.ts'
import { temporaryFolder } from '../../../launch/places.ts'

/** A closed connection whose file was replaced by a copy, and the path of its log. */
function replaced(t: TestContext): { connection: StoreConnection; log: string } {
  const folder = temporaryFolder(t)
  const [file, copy] = [join(folder, 'fahao.db'), join(folder, 'copy.db')]
  const connection = new StoreConnection(file, new Map(), { create: true, busyTimeoutMs: 1000 })
  atEnd(t, () => connection.releaseLog())
  backupSqlite(file, copy)
  renameSync(copy, file)
  connection.close()
  return { connection, log: `${file}-wal` }
}

/** The number of removed logs that this process still has open. */
function nameless(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).endsWith('-wal (deleted)')
    } catch {
      return false
    }
  }).length
}

describe('a closed connection', () => {
  test('discards its log if its file was replaced: SQLite would apply it to the new file', (t) => {
    const { connection, log } = replaced(t)
    assert.ok(existsSync(log))
    connection.discardLog()
    assert.ok(!existsSync(log))
    assert.equal(nameless(), 0)
  })

  test('holds no space of a log that SQLite has removed', (t) => {
    const file = join(temporaryFolder(t), 'fahao.db')
    const connection = new StoreConnection(file, new Map(), { create: true, busyTimeoutMs: 1000 })
    connection.close()
    assert.equal(nameless(), 1)
    connection.discardLog()
    assert.equal(nameless(), 0)
  })

  test('keeps the log of another process on the new file, even with the inode number of the old log', (t) => {
    const { connection, log } = replaced(t)
    for (let others = 0; others < 1000; others++) {
      writeFileSync(`${log}-${others}`, 'takes a lower number that is free')
      if (statSync(`${log}-${others}`).ino > statSync(log).ino) break
    }
    rmSync(log)
    writeFileSync(log, 'of another process')
    connection.discardLog()
    assert.equal(readFileSync(log, 'utf8'), 'of another process')
  })
})

test('a look-up reserves from a counter without a row of which this process holds an empty range', (t) => {
  const file = join(temporaryFolder(t), 'fahao.db')
  const connection = new StoreConnection(file, new Map([['a', 0n]]), { create: true, busyTimeoutMs: 1000 })
  atEnd(t, () => connection.close())
  const lookUps = packLookUps([{ key: 'a', first: { value: 'x', reserve: { size: 10n, incarnation: 1n } } }])
  connection.begin(true)
  const outcome = connection.apply({ op: 'lookUp', args: [lookUps, undefined] })
  connection.commit()
  const [found] = unpackLookedUp(lookUps, (outcome as { value: readonly unknown[] }).value)
  assert.deepEqual((found as LookedUp).reservation, { start: 0n, end: 10n, version: 1n })
  assert.equal(connection.counters.read('a').bound, 10n)
})
