/** A database with filled tables, as the tests of `src/proxy/sql` use it. Statements are texts of one character a byte. */
import { atOnce } from '../../../../src/engine/advance-rules.ts'
import { FilledColumns, parseFilledColumn } from '../../../../src/proxy/sql/configured-columns.ts'
import { fillPrepared, fillText } from '../../../../src/proxy/sql/fill-ids.ts'
import { type Reading, readText } from '../../../../src/proxy/sql/insert-reader.ts'
import { type SessionFacts, type SqlSession, sqlSession } from '../../../../src/proxy/sql/session.ts'

/** The tables orders and lines, and one with a name that needs quotes. */
export const columns = new FilledColumns(
  ['shop.orders.id=order', 'shop.lines.id=line', 'shop.`odd ``name`.`the id`=odd'].map(parseFilledColumn),
  false,
)

/** A session in the database shop, with other facts where they are given. */
export function session(facts: Partial<SessionFacts> = {}): SqlSession {
  return sqlSession({ sqlMode: 'STRICT_TRANS_TABLES', charset: 'utf8mb4', database: 'shop', ...facts })
}

/** What a statement is read with, in addition to the session. */
export type Given = Partial<SessionFacts> & {
  readonly isPrepared?: boolean
  /** The columns of every table. */
  readonly all?: readonly string[]
  /** Ids are texts. */
  readonly isText?: boolean
}

/** The text in bytes, one for each character. */
export function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** What a text has. */
export function read(
  text: string,
  { isPrepared = false, all = ['id', 'name', 'n'], ...facts }: Given = {},
): Reading {
  return atOnce(readText(bytes(text), { session: session(facts), columns, isPrepared, columnsOf: () => all }))
}

/** The statement with the ids 1001, 1002 … in it; `as it came` if it needs none, or was not read. */
export function filled(text: string, given: Given = {}): string {
  const needing = read(text, given).inserts.filter(({ rows }) => rows.length > 0)
  if (needing.length === 0) return 'as it came'
  const isText = given.isText ?? false
  let last = 1000
  const drawn = needing.map(({ rows }) => ({
    ids: rows.map(() => `${isText ? 'sms_' : ''}${++last}`),
    isText,
  }))
  return atOnce(fillText(bytes(text), needing, drawn)).toString('latin1')
}

/** The statement with hidden parameters, and what its parameters are: the client's, or `id 0` of a row. */
export function prepared(text: string, given: Given = {}): readonly [string, ...(number | string)[]] {
  const { inserts, parametersAt } = read(text, { ...given, isPrepared: true })
  const [insert] = inserts
  if (insert === undefined || insert.rows.length === 0) return ['as it came']
  const fill = fillPrepared(bytes(text), insert, parametersAt, given.isText ?? false)
  const parameters = fill.parameters.map((each) => (each < 0 ? `id ${-1 - each}` : each))
  return [fill.sql.toString('latin1'), ...parameters]
}
