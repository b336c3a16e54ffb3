/** The write-ahead log of a closed session. */
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
import { backupSqlite } from '../../../../src/engine/sqlite/backup.ts'
import { Session } from '../../../../src/engine/sqlite/session.ts'
import { atEnd } from '../../../launch/lifetime.ts'
import { temporaryFolder } from '../../../launch/places.ts'

/** A closed session whose file was replaced by a copy, and the path of its log. */
function replaced(t: TestContext): { session: Session; log: string } {
  const folder = temporaryFolder(t)
  const [file, copy] = [join(folder, 'fahao.db'), join(folder, 'copy.db')]
  const session = new Session(file, new Map(), { create: true, busyTimeoutMs: 1000 })
  atEnd(t, () => session.releaseLog())
  backupSqlite(file, copy)
  renameSync(copy, file)
  session.close()
  return { session, log: `${file}-wal` }
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

describe('a closed session', () => {
  test('discards its log if its file was replaced: SQLite would apply it to the new file', (t) => {
    const { session, log } = replaced(t)
    assert.ok(existsSync(log))
    session.discardLog()
    assert.ok(!existsSync(log))
    assert.equal(nameless(), 0)
  })

  test('holds no space of a log that SQLite has removed', (t) => {
    const file = join(temporaryFolder(t), 'fahao.db')
    const session = new Session(file, new Map(), { create: true, busyTimeoutMs: 1000 })
    session.close()
    assert.equal(nameless(), 1)
    session.discardLog()
    assert.equal(nameless(), 0)
  })

  test('keeps the log of another process on the new file, even with the inode number of the old log', (t) => {
    const { session, log } = replaced(t)
    for (let others = 0; others < 1000; others++) {
      writeFileSync(`${log}-${others}`, 'takes a lower number that is free')
      if (statSync(`${log}-${others}`).ino > statSync(log).ino) break
    }
    rmSync(log)
    writeFileSync(log, 'of another process')
    session.discardLog()
    assert.equal(readFileSync(log, 'utf8'), 'of another process')
  })
})
