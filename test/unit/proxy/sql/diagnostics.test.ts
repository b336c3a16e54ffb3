import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readingBehindQuestion } from '../../../../src/proxy/sql/behind-question.ts'
import { diagnosticsSlices } from '../../../../src/proxy/sql/diagnostics.ts'
import { preparedSlices } from '../../../../src/proxy/sql/fill.ts'
import { diagnosticsLost } from '../../../../src/proxy/sql/refusal.ts'
import { atOnce, type Slices } from '../../../../src/proxy/sql/slices.ts'
import { readingSlices } from '../../../../src/proxy/sql/statements.ts'
import { bytes, columns, facts, read, session } from './shop.ts'

const reading = ['row_count()', 'FOUND_ROWS()', '@@warning_count', '@@Session.`error_count`', 'a+row_count']
const other = ['xrow_count', 'row_counter()', 'found_rowsx', '@@local.error_counts', 'warning_count']

function readsDiagnostics(sql: Buffer): boolean {
  return atOnce(diagnosticsSlices(sql))
}

describe('what an earlier statement has left', () => {
  test('is read by its names, and by no others', () => {
    for (const text of reading) assert.ok(readsDiagnostics(Buffer.from(text)), text)
    for (const text of other) assert.ok(!readsDiagnostics(Buffer.from(text)), text)
  })

  test('is looked for in slices, with the same result wherever they end', () => {
    const piece = 262_144
    for (const text of [...reading, ...other])
      for (let at = piece - 30; at <= piece + 70; at++) {
        const sql = Buffer.alloc(piece + 200, ' ')
        sql.write(text, at)
        assert.equal(readsDiagnostics(sql), reading.includes(text), `${text} at ${at}`)
      }
    const [found, slices] = counted(diagnosticsSlices(Buffer.alloc(16_777_216, '@')))
    assert.deepEqual([found, slices], [false, 64])
  })

  test('is looked for in the slices of a text behind a question, and refused if the text is sent', () => {
    const context = {
      session: session(),
      columns,
      prepared: false,
      factsOf: () => facts,
      isShadowed: () => false,
    }
    const text = bytes(`INSERT INTO orders (name) VALUES (CONCAT('${'@'.repeat(2_000_000)}', ROW_COUNT()))`)
    const [, before] = counted(readingSlices(text, context))
    const [found, slices] = counted(readingBehindQuestion(text, context))
    assert.deepEqual(found, { kind: 'refuse', refusal: diagnosticsLost })
    assert.ok(slices >= before + 7, `${slices} slices behind ${before}`)
    for (const [sql, kind] of [
      ['INSERT INTO orders (name) VALUES (1)', 'fill'],
      ['INSERT INTO orders (id) VALUES (7)', 'relay'],
      ['INSERT INTO orders VALUES (ROW_COUNT())', 'ask'],
    ] as const) {
      const [{ kind: is }] = counted(
        readingBehindQuestion(bytes(sql), { ...context, factsOf: () => undefined }),
      )
      assert.equal(is, kind)
    }
  })

  test('is looked for in the slices of a statement that is prepared', () => {
    const sql = `INSERT INTO orders (name) VALUES (CONCAT('${'@'.repeat(2_000_000)}', ROW_COUNT()))`
    const found = read(sql, { prepared: true })
    assert.ok(found.kind === 'fill')
    const slicesOf = preparedSlices(bytes(sql), found.inserts[0]!, [], false)
    const [fill, slices] = counted(slicesOf)
    assert.ok(fill.readsDiagnostics)
    assert.ok(slices >= 8, `${slices} slices`)
  })
})

function counted<Result>(slices: Slices<Result>): [Result, number] {
  for (let count = 1; ; count++) {
    const step = slices.next()
    if (step.done) return [step.value, count]
  }
}
