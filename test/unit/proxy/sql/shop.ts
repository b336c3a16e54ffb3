/** A database with filled tables, as the tests of `src/proxy/sql` use it. Statements are texts of one character a byte. */
import { fillPrepared, fillText } from '../../../../src/proxy/sql/fill.ts'
import { FilledColumns, parseFilledColumn } from '../../../../src/proxy/sql/filled-columns.ts'
import { idsNeeded } from '../../../../src/proxy/sql/insert.ts'
import type { Reading } from '../../../../src/proxy/sql/reading.ts'
import type { TableFacts } from '../../../../src/proxy/sql/row-reader.ts'
import { type SessionFacts, type SqlSession, sqlSession } from '../../../../src/proxy/sql/session.ts'
import { readStatements } from '../../../../src/proxy/sql/statements.ts'

/** The tables orders and lines, and one with a name that needs quotes. */
export const columns = new FilledColumns(
  ['shop.orders.id=order', 'shop.lines.id=line', 'shop.`odd ``name`.`the id`=odd'].map(parseFilledColumn),
)

/** A strict session in the database shop, with other facts where they are given. */
export function session(facts: Partial<SessionFacts> = {}): SqlSession {
  return sqlSession({
    sqlMode: 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO',
    charset: 'utf8mb4',
    database: 'shop',
    serverVersion: '11.4.2-MariaDB-log',
    ...facts,
  })
}

/** What a statement is read with, besides the session. */
export type Given = Partial<SessionFacts> & {
  readonly prepared?: boolean
  /** Undefined: the server has not been asked. */
  readonly facts?: TableFacts | undefined
  /** Ids are texts. */
  readonly isText?: boolean
  /** A temporary table may have the name of the table. */
  readonly isShadowed?: boolean
}

/** The columns of every table. */
export const facts: TableFacts = { columns: ['id', 'name', 'n'], isText: false }

/** The text in bytes, one for each character. */
export function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** What is done with a statement. */
export function read(text: string, given: Given = {}): Reading {
  return readStatements(bytes(text), {
    session: session(given),
    columns,
    prepared: given.prepared ?? false,
    factsOf: () => ('facts' in given ? given.facts : facts),
    isShadowed: () => given.isShadowed ?? false,
  })
}

/** The statement with the ids 1001, 1002 … in it, `relay`, `ask`, or the number of an error. */
export function filled(text: string, given: Given = {}): string {
  const reading = read(text, given)
  if (reading.kind === 'refuse') return String(reading.refusal.code)
  if (reading.kind !== 'fill') return reading.kind
  const isText = given.isText ?? false
  let last = 1000
  const drawn = reading.inserts.map((insert) => ({
    ids: Array.from({ length: idsNeeded(insert) }, () => `${isText ? 'sms_' : ''}${++last}`),
    isText,
  }))
  return fillText(bytes(text), reading.inserts, drawn).toString('latin1')
}

/** The statement with hidden parameters, and what its parameters are; or as `filled`. */
export function prepared(text: string, given: Given = {}): readonly [string, ...number[]] {
  const reading = read(text, { ...given, prepared: true })
  if (reading.kind === 'refuse') return [String(reading.refusal.code)]
  if (reading.kind !== 'fill') return [reading.kind]
  const fill = fillPrepared(bytes(text), reading.inserts[0]!, reading.parametersAt, given.isText ?? false)
  return [fill.sql.toString('latin1'), ...fill.parameters]
}
