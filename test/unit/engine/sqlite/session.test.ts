/** What a session leaves beside a file that has taken the place of its own. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { backupSqlite } from '../../../../src/engine/sqlite/backup.ts'
import { Session } from '../../../../src/engine/sqlite/session.ts'
import { atEnd } from '../../../launch/lifetime.ts'
import { temporaryFolder } from '../../../launch/places.ts'

/** A closed session, and beside a copy that has taken its file's name its log. */
function replaced(t: TestContext): { session: Session; log: string } {
  const folder = temporaryFolder(t)
  const [file, copy] = [join(folder, 'fahao.db'), join(folder, 'copy.db')]
  const session = new Session(file, new Map(), { create: true, busyTimeoutMs: 1000 })
  atEnd(t, () => session.forget())
  backupSqlite(file, copy)
  renameSync(copy, file)
  session.close()
  return { session, log: `${file}-wal` }
}

describe('a session whose file was replaced', () => {
  it('discards its log, which SQLite would apply to the file that is there now', (t) => {
    const { session, log } = replaced(t)
    assert.ok(existsSync(log))
    session.discardLog()
    assert.ok(!existsSync(log))
  })

  it('leaves the log of who came first, which can be given the number of a log that is gone', (t) => {
    const { session, log } = replaced(t)
    for (let others = 0; others < 1000; others++) {
      writeFileSync(`${log}-${others}`, 'takes a lower number that is free')
      if (statSync(`${log}-${others}`).ino > statSync(log).ino) break
    }
    rmSync(log)
    writeFileSync(log, 'of somebody else')
    session.discardLog()
    assert.equal(readFileSync(log, 'utf8'), 'of somebody else')
  })
})
