/** Which insert id a client receives, for what the server has answered. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstIdFilter, givenIdFilter, ignoreFilter } from '../../../src/proxy/insert-ids.ts'
import { readOk } from '../../../src/proxy/ok-packet.ts'
import type { ReplyFilter } from '../../../src/proxy/reply-filter.ts'
import type { Insert } from '../../../src/proxy/sql/insert.ts'
import { packetOf } from '../../launch/raw-mysql.ts'
import { read } from './sql/shop.ts'

/** The first INSERT of a text, of one row that needs an id. */
function insertOf(text: string): Insert {
  const reading = read(text)
  assert.ok(reading.kind === 'fill')
  return reading.inserts[0]!
}

/** What is left of `insertId` where so many rows were written, and so many had been there before. */
function reported(filter: ReplyFilter | undefined, insertId: number, affectedRows: number, duplicates = 0) {
  const info = Buffer.from(`Records: 2  Duplicates: ${duplicates}  Warnings: 0`)
  const packet = packetOf(Buffer.concat([Buffer.from([0, affectedRows, insertId, 2, 0, 0, 0]), info]), 1)
  if (filter === undefined) return insertId
  const given = filter.packet(packet, true, readOk(packet, false))
  return Number(readOk(given!, false).insertId)
}

const plain = insertOf("INSERT INTO orders (name) VALUES ('a')")
const ignoring = insertOf("INSERT IGNORE INTO orders (name) VALUES ('a')")
const updating = insertOf("INSERT INTO orders (name) VALUES ('a') ON DUPLICATE KEY UPDATE name = 'a'")
const replacing = insertOf("REPLACE INTO orders (name) VALUES ('a')")
const drawn = [{ ids: ['7', '8'], isText: false }]

test('INSERT IGNORE reports no id of a row that may not have been inserted', () => {
  const filter = ignoreFilter([ignoring], drawn)
  assert.equal(reported(filter, 7, 2), 7)
  assert.equal(reported(filter, 7, 0), 0)
  assert.equal(reported(filter, 7, 1, 1), 0)
  assert.equal(reported(filter, 5, 0), 5, 'the id is not of this statement')
  assert.equal(ignoreFilter([plain], drawn), undefined)
})

test('a prepared statement reports the first id that its execution got', () => {
  assert.equal(reported(firstIdFilter(plain, '7'), 0, 2), 7)
  assert.equal(reported(firstIdFilter(plain, '7'), 7, 0), 0)
  assert.equal(reported(firstIdFilter(ignoring, '7'), 0, 1, 1), 0)
})

test('a statement that gives all ids reports that of its last row, if the row was inserted for certain', () => {
  assert.equal(reported(givenIdFilter(plain, 9n), 0, 2), 9)
  assert.equal(reported(givenIdFilter(plain, 9n), 0, 1, 1), 0)
  assert.equal(reported(givenIdFilter(replacing, 9n), 0, 1, 1), 9)
  assert.equal(givenIdFilter(updating, 9n), undefined)
})
