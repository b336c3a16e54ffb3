/** What the next words of a statement say, without a step of its cursor. `start`: where the statement begins. */
import { Cursor, mark } from './cursor.ts'
import { Lexer, token } from './lexer.ts'
import type { SqlSession } from './session.ts'
import { wordOf } from './words.ts'

const options = { executable: 'leave', parameters: false } as const

/** Whether the second word of the statement is this one. */
export function isFollowedBy(sql: Buffer, session: SqlSession, start: number, word: string): boolean {
  const ahead = new Lexer(sql, session, options, start)
  ahead.solid()
  ahead.solid()
  return wordOf(ahead) === word
}

/** Whether the statement begins with a label: its first word has a colon behind it. */
export function isLabelled(sql: Buffer, session: SqlSession, start: number): boolean {
  const ahead = new Lexer(sql, session, options, start)
  ahead.solid()
  ahead.solid()
  return ahead.kind === token.mark && sql[ahead.start] === mark.colon
}

/** Whether a CREATE makes a temporary table, which is another one than the filled. */
export function isTemporary(sql: Buffer, session: SqlSession, start: number): boolean {
  const ahead = new Cursor(new Lexer(sql, session, options, start), session.charset)
  ahead.step()
  ahead.step()
  if (ahead.take('OR')) ahead.take('REPLACE')
  return ahead.at('TEMPORARY')
}
