import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Filling } from '../../../src/proxy/filling.ts'
import { IdSupply } from '../../../src/proxy/id-supply.ts'
import { SessionKnowledge } from '../../../src/proxy/session-knowledge.ts'
import { parseFilledColumn } from '../../../src/proxy/sql/filled-columns.ts'
import { idsAtHand } from './obedient-server.ts'
import { session } from './sql/shop.ts'

const orders = parseFilledColumn('shop.orders.id=order')

function knowledge() {
  const filling = new Filling([orders], new IdSupply(idsAtHand(), 1000))
  const known = new SessionKnowledge(filling, () => assert.fail('nothing is asked'), '10.11.6-MariaDB')
  return { filling, known }
}

describe('a statement of an unknown session', () => {
  const { known } = knowledge()
  for (const [text, isChanging] of [
    // With NO_BACKSLASH_ESCAPES it sets the SQL mode.
    ["SET @a = 'x\\', sql_mode = 'ANSI_QUOTES' -- '", true],
    ['SET @a = 1', true],
    ["DO 'x\\'; SET sql_mode = 0 -- '", true],
    ['INSERT INTO log VALUES (1); SET NAMES gbk', true],
    ['INSERT INTO log VALUES (1)', false],
    ['replace\tlog VALUES (1);', false],
    ['SELECT 1', false],
    ['DELETE FROM log', false],
  ] as const)
    test(`${isChanging ? 'may change' : 'does not change'} it by ${text}`, () => {
      assert.equal(known.isChanging(Buffer.from(text)), isChanging)
    })

  test('is read as the session has it, once that is known', () => {
    const { known } = knowledge()
    const text = Buffer.from("SET @a = 'x\\', sql_mode = 'ANSI_QUOTES' -- '")
    known.session = session()
    assert.equal(known.isChanging(text), false)
    known.session = session({ sqlMode: 'NO_BACKSLASH_ESCAPES' })
    assert.equal(known.isChanging(text), true)
  })
})

describe('a prepared definition', () => {
  test('of a temporary table may hide the filled one from each execution on, not from its PREPARE', () => {
    const { known } = knowledge()
    assert.equal(known.notePrepared(Buffer.from('CREATE TEMPORARY TABLE orders (x INT)')), true)
    assert.equal(known.isShadowed(orders), false)
    known.forget()
    assert.equal(known.isShadowed(orders), true)
    known.reset()
    known.forget()
    assert.equal(known.isShadowed(orders), false)
  })

  test('makes the type of the column unknown at each execution', () => {
    const { known, filling } = knowledge()
    known.notePrepared(Buffer.from('ALTER TABLE orders MODIFY id FLOAT'))
    for (let execution = 0; execution < 2; execution++) {
      filling.checked.add(orders)
      known.forget()
      assert.equal(filling.checked.has(orders), false)
    }
    assert.equal(known.isShadowed(orders), false)
  })
})
