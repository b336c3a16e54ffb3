import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { columnType, refuseUnfit, UnfitId } from '../../../src/proxy/column-types.ts'

const column = { database: 'shop', table: 't', column: 'id', generator: 'g' }

/** The number of the error for an id in a column of this type, or 0. */
function errorOf(type: string, id: string, collation = 'utf8mb4_general_ci'): number {
  const isText = !/^\d+$/.test(id)
  try {
    refuseUnfit({ ids: ['1', id], isText }, column, columnType(type, isText ? collation : ''))
    return 0
  } catch (error) {
    assert(error instanceof UnfitId)
    assert.match(error.error.message, /^fahao proxy: .*shop\.t\.id/)
    return error.error.code
  }
}

describe('an id that is a number', () => {
  const largest: readonly (readonly [string, bigint])[] = [
    ['tinyint(4)', 127n],
    ['tinyint(3) unsigned', 255n],
    ['TINYINT UNSIGNED ZEROFILL', 255n],
    ['smallint', 32_767n],
    ['mediumint(9)', 8_388_607n],
    ['int(11)', 2_147_483_647n],
    ['int(10) unsigned', 4_294_967_295n],
    ['bigint(20)', 2n ** 63n - 1n],
    ['bigint(20) unsigned', 2n ** 64n - 1n],
    ['decimal(5,0)', 99_999n],
    ['decimal(5,2)', 999n],
    ['decimal(20,0) unsigned', 10n ** 20n - 1n],
    ['bit(5)', 31n],
    ['float', 2n ** 24n],
    ['double unsigned', 2n ** 53n],
    ['varchar(3)', 999n],
    ['char(2)', 99n],
    ['varbinary(1)', 9n],
  ]
  for (const [type, max] of largest)
    it(`fits ${type} up to ${max}`, () => {
      assert.equal(errorOf(type, String(max)), 0)
      assert.equal(errorOf(type, String(max + 1n)), /char|binary/.test(type) ? 1406 : 1264)
    })

  for (const type of [
    "enum('1','2')",
    "set('1')",
    'year(4)',
    'date',
    'double(5,2)',
    'float(7,4)',
    'uuid',
    'json',
    'geometry',
  ])
    it(`does not fit ${type}, which would hold another value`, () => {
      assert.equal(errorOf(type, '1'), 1366)
    })
})

describe('an id that is a text', () => {
  it('fits a text of its length, in characters or in bytes', () => {
    assert.equal(errorOf('varchar(5)', 'sms_1'), 0)
    assert.equal(errorOf('varchar(4)', 'sms_1'), 1406)
    assert.equal(errorOf('char(5)', '\u8ba2\u5355_12'), 0)
    assert.equal(errorOf('varchar(50) /*M!100301 COMPRESSED*/', 'sms_1'), 0)
    assert.equal(errorOf('varbinary(8)', '\u8ba2\u5355_1', ''), 0)
    assert.equal(errorOf('varbinary(7)', '\u8ba2\u5355_1', ''), 1406)
    assert.equal(errorOf('tinytext', `a${'b'.repeat(254)}`), 0)
    assert.equal(errorOf('tinytext', `a${'b'.repeat(255)}`), 1406)
    assert.equal(errorOf('tinytext', `a${'b'.repeat(63)}`, 'utf32_general_ci'), 1406)
  })

  it('fits a column with the characters that it has', () => {
    assert.equal(errorOf('varchar(9)', '\u8ba2_1', 'latin1_swedish_ci'), 1366)
    assert.equal(errorOf('varchar(9)', '\u8ba2_1', 'utf8mb3_general_ci'), 0)
    assert.equal(errorOf('varchar(9)', '\u{1f600}_1', 'utf8mb3_general_ci'), 1366)
    assert.equal(errorOf('varchar(9)', '\u{1f600}_1', 'utf8mb4_uca1400_ai_ci'), 0)
  })

  it('fits no column of numbers', () => {
    for (const type of ['bigint(20)', 'decimal(20,0)', 'bit(64)', 'double'])
      assert.equal(errorOf(type, 'sms_1'), 1366)
  })
})
