import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../../../src/engine/sqlite/open-database.ts'
import { pragma } from '../../../../src/engine/sqlite/schema.ts'
import { freshFile } from './stores.ts'

test('a store is opened so that each commit, and each move of the log, waits for the disk itself', (t) => {
  const { database } = openDatabase(freshFile(t), { create: true, busyTimeoutMs: 1000 })
  t.after(() => database.close())
  const full = 2n
  assert.equal(pragma(database, 'synchronous'), full)
  // On macOS an fsync without these leaves the data in the cache of the drive.
  assert.equal(pragma(database, 'fullfsync'), 1n)
  assert.equal(pragma(database, 'checkpoint_fullfsync'), 1n)
})
