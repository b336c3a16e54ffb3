/** Which insert id a client receives, for what the server has answered. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReplyFilter } from '../../../src/proxy/exchange.ts'
import { aloneFilter, hintFilter, readOk, severalFilter } from '../../../src/proxy/insert-id-replies.ts'
import type { Insert } from '../../../src/proxy/sql/insert.ts'
import { packetOf } from '../../launch/raw-mysql.ts'
import { read } from './sql/shop.ts'

/** The first INSERT of a text, of one row that needs an id. */
function insertOf(text: string): Insert {
  const [insert] = read(text).inserts
  assert.ok(insert)
  return insert
}

/** What is left of `insertId` where rows were written, some of which had been there before. */
function reported(filter: ReplyFilter | undefined, insertId: number, affectedRows: number, duplicates = 0) {
  const info = Buffer.from(`Records: 2  Duplicates: ${duplicates}  Warnings: 0`)
  const packet = packetOf(Buffer.concat([Buffer.from([0, affectedRows, insertId, 2, 0, 0, 0]), info]), 1)
  if (filter === undefined) return insertId
  return Number(readOk(filter.packet(packet, true)!, false)?.insertId)
}

const plain = insertOf("INSERT INTO orders (name) VALUES ('a')")
const ignoring = insertOf("INSERT IGNORE INTO orders (name) VALUES ('a')")
const updating = insertOf("INSERT INTO orders (name) VALUES ('a') ON DUPLICATE KEY UPDATE name = 'a'")
const replacing = insertOf("REPLACE INTO orders (name) VALUES ('a')")
const drawn = [{ ids: ['7', '8'], isText: false }]

test('INSERT IGNORE reports no id of a row that may not have been inserted', () => {
  const filter = severalFilter([ignoring], drawn, false)
  assert.equal(reported(filter, 7, 2), 7)
  assert.equal(reported(filter, 7, 0), 0)
  assert.equal(reported(filter, 7, 1, 1), 0)
  assert.equal(reported(filter, 5, 0), 5, 'the id is not of this statement')
  assert.equal(reported(severalFilter([plain], drawn, false), 7, 1, 1), 7)
})

test('a prepared statement reports the first id that its execution got', () => {
  assert.equal(reported(aloneFilter(plain, '7', undefined, false), 0, 2), 7)
  assert.equal(reported(aloneFilter(plain, '7', undefined, false), 7, 0), 0)
  assert.equal(reported(aloneFilter(ignoring, '7', undefined, false), 0, 1, 1), 0)
})

test('a statement that gives all ids reports that of its last row, if the row was inserted for certain', () => {
  assert.equal(reported(aloneFilter(plain, undefined, '9', false), 0, 2), 9)
  assert.equal(reported(aloneFilter(plain, undefined, '9', false), 0, 1, 1), 0)
  assert.equal(reported(aloneFilter(replacing, undefined, '9', false), 0, 1, 1), 9)
  assert.equal(aloneFilter(updating, undefined, '9', false), undefined)
  const tooLarge = aloneFilter(plain, undefined, '99999999999999999999', false)
  assert.equal(reported(tooLarge, 0, 1), 0, 'a server that is not strict stores another id')
})

test('an error of a guard says that the statement was not read, and another error does not', () => {
  const error = (code: number) => {
    const packet = packetOf(Buffer.from(`\xff\0\0#HY000no`, 'latin1'), 1)
    packet.writeUInt16LE(code, 5)
    return hintFilter().packet(packet, true)!
  }
  for (const code of [1048, 1364, 1644, 3819, 4025]) {
    const packet = error(code)
    assert.match(packet.toString(), /no \(fahao proxy: .*sent as it came\)$/)
    assert.equal(packet.readUIntLE(0, 3), packet.length - 4)
  }
  assert.match(error(1062).toString(), /no$/)
})
