import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { splitSchema } from '../../../src/legacy/open.ts'
import { boundOf, isKey, keyBeforeMove, legacySchemas, movedKey } from '../../../src/legacy/schemas.ts'

const { leaf, idbuilder, tinyid } = legacySchemas

describe('a row', () => {
  test('has another name out of service, which is no name of a row in service', () => {
    for (const schema of Object.values(legacySchemas)) {
      const moved = movedKey(schema, '7')!
      assert.equal(isKey(schema, '7'), true)
      assert.equal(isKey(schema, moved), false)
      assert.equal(keyBeforeMove(schema, moved), '7')
      assert.equal(keyBeforeMove(schema, '7'), undefined)
    }
  })

  test('with an integer for its name has one spelling of it', () => {
    for (const text of ['07', '+7', '7.0', ' 7', '-7', '2147483648', 'x', ''])
      assert.equal(isKey(idbuilder!, text), false, text)
    for (const text of ['0', '7', '2147483647']) assert.equal(isKey(idbuilder!, text), true, text)
  })

  test('whose name leaves no room for the mark cannot be taken out of service', () => {
    assert.equal(movedKey(leaf!, 'n'.repeat(116))?.length, 128)
    assert.equal(movedKey(leaf!, 'n'.repeat(117)), undefined)
    assert.equal(movedKey(tinyid!, 'n'.repeat(52)), undefined)
    assert.equal(movedKey(idbuilder!, '0'), undefined)
  })

  test('holds the end of a range, or its last value', () => {
    const row = { stored: '9223372036854775807' }
    assert.equal(boundOf(leaf!, row), 2n ** 63n - 1n)
    assert.equal(boundOf(idbuilder!, row), 2n ** 63n - 1n)
    assert.equal(boundOf(tinyid!, row), 2n ** 63n)
  })
})

describe('the generator of a row', () => {
  const base = { kind: 'segment', start: '0' }

  test('of Leaf is a segment in its step', () => {
    assert.deepEqual(leaf!.options({ step: 2000 }), { ...base, step: 2000 })
  })

  test('of IdBuilder is in order or not, and shows its code and the node', () => {
    assert.deepEqual(idbuilder!.options({ step: '10', is_seq: 0, biz_code: '' }), {
      ...base,
      step: 10,
      format: '{node}{id}',
    })
    assert.deepEqual(idbuilder!.options({ step: 10, is_seq: null, biz_code: null }), {
      ...base,
      step: 10,
      format: 'null{node}{id}',
    })
    assert.deepEqual(idbuilder!.options({ step: '10', is_seq: 1, biz_code: 'a{b}_' }), {
      ...base,
      step: 10,
      within: 'shuffled',
      format: 'a{{b}}_{node}{id}',
    })
  })

  test('of tinyid counts its step in ids, and keeps delta and remainder', () => {
    const row = { step: 100_001, delta: 2, remainder: 1 }
    assert.deepEqual(tinyid!.options(row), { ...base, step: 50_000, increment: 2, offset: '1' })
    assert.equal(tinyid!.options({ ...row, step: 1 }).step, 1)
    assert.equal(tinyid!.options({ ...row, step: 0 }).step, 0)
  })
})

describe('schema= in a URL', () => {
  test('is taken out of it, and leaves the rest', () => {
    const split = splitSchema('mysql://u:p%40@h/d?pool=2&schema=leaf&sslmode=require')
    assert.equal(split.location, '//u:p%40@h/d?pool=2&sslmode=require')
    assert.equal(split.schema, leaf)
    const without = splitSchema('mariadb://u@h/d')
    assert.deepEqual([without.location, without.schema], ['//u@h/d', undefined])
    assert.equal(splitSchema('postgres://u@h/d?schema=tinyid').location, '//u@h/d')
  })

  test('is part of the name of a file elsewhere', () => {
    assert.equal(splitSchema('sqlite:./ids.db?schema=leaf').schema, undefined)
  })

  test('is one of those that are known, once', () => {
    for (const wrong of ['schema=', 'schema=other', 'schema=toString', 'schema=leaf&schema=tinyid'])
      assert.throws(() => splitSchema(`mysql://u@h/d?${wrong}`), { code: 'CONFIG' })
  })
})
