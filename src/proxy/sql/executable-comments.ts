/**
 * Texts with executable comments, of which a server executes those whose version it has: no reading of such a text shows all
 * that may be executed. A text that could insert into a filled table in one of them is refused.
 */
import { mark } from './cursor.ts'
import type { FilledColumns } from './filled-columns.ts'
import { Lexer, token } from './lexer.ts'
import type { SqlSession } from './session.ts'
import { type Slices, sliceBytes } from './slices.ts'
import { isMark, isWord, wordOf } from './words.ts'

const slash = 47
/** What the further comments of a definition begin with, of which dumps have one for each version. No statement does. */
const parts = new Set(
  'ALGORITHM DEFINER SQL VIEW TRIGGER EVENT PROCEDURE FUNCTION AGGREGATE PACKAGE'.split(' '),
)

/** Whether a text with executable comments may insert into a filled table, depending on which of them are executed. */
export function* mayInsertByVersion(
  sql: Buffer,
  session: SqlSession,
  columns: FilledColumns,
): Slices<boolean> {
  return columns.mentions(sql) && !(yield* isDumpedDefinition(sql, session))
}

/**
 * Whether the text is a definition all of which stands in executable comments, as dumps have it. Whatever a server leaves
 * out, the rest is a definition or no statement at all.
 */
function* isDumpedDefinition(sql: Buffer, session: SqlSession): Slices<boolean> {
  const lexer = new Lexer(sql, session, { executable: 'read', parameters: false })
  let [comments, isInside, isFirst, pauseAt] = [0, false, false, sliceBytes]
  for (let kind = lexer.next(); kind !== token.end; kind = lexer.next()) {
    if (kind === token.broken || kind === token.odd) return false
    if (lexer.start > pauseAt) {
      pauseAt = lexer.start + sliceBytes
      yield
    }
    if (kind === token.executable) {
      // The first token inside, or all of a comment that stands in another.
      if (isFirst || (isInside && sql[lexer.start] === slash)) return false
      isInside = isFirst = sql[lexer.start] === slash
      if (isInside) comments++
    } else if (kind > token.end) {
      if (isFirst && !(comments === 1 ? isWord(lexer, 'CREATE') : parts.has(wordOf(lexer)))) return false
      if (!isInside && !isMark(lexer, mark.semicolon)) return false
      isFirst = false
    }
  }
  return comments > 0
}
