/**
 * Texts with executable comments, of which a server executes those whose version it has: no reading of such a text shows all
 * that may be executed. A text that could insert into a filled table in one of them is refused.
 */
import { mark } from './cursor.ts'
import type { FilledColumns } from './filled-columns.ts'
import { Lexer, token } from './lexer.ts'
import type { SqlSession } from './session.ts'
import { type Slices, sliceBytes } from './slices.ts'
import { isMark, isName, isWord, nameOf, wordOf } from './words.ts'

const [slash, commentEnd] = [47, '*/']
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
  return columns.mentions(sql) && (yield* new Versions(sql, session, columns).mayInsert())
}

/** Reads a text as a server that executes all its comments, and notices what depends on that. */
class Versions {
  readonly #lexer: Lexer
  readonly #session: SqlSession
  readonly #columns: FilledColumns
  #isInside = false
  /** No token of the present comment was read. */
  #isFirst = false
  #comments = 0
  /** Whether all is a definition in comments, as dumps have it: whatever is left out, no other statement remains. */
  #isDefinition = true
  #inserts = false
  #names = false
  /** Behind REPLACE or INSERT, which are functions with a parenthesis. */
  #isPending = false

  constructor(sql: Buffer, session: SqlSession, columns: FilledColumns) {
    this.#lexer = new Lexer(sql, session, { executable: 'read', parameters: false })
    this.#session = session
    this.#columns = columns
  }

  *mayInsert(): Slices<boolean> {
    const lexer = this.#lexer
    let pauseAt = sliceBytes
    for (let kind = lexer.next(); kind !== token.end; kind = lexer.next()) {
      if (lexer.start > pauseAt) {
        pauseAt = lexer.start + sliceBytes
        yield
      }
      // Another reading has other tokens.
      if (kind === token.broken || kind === token.odd || this.#isCut(kind)) return true
      if (kind === token.executable) {
        if (!this.#comment()) return true
      } else if (kind > token.end) this.#token()
    }
    const isDefinition = this.#isDefinition && this.#comments > 0
    return !isDefinition && (this.#inserts || this.#isPending) && this.#names
  }

  /** Whether the token goes beyond the comment that it begins in, so that the comment ends inside of it if it is left out. */
  #isCut(kind: number): boolean {
    const { bytes, start, end } = this.#lexer
    return this.#isInside && kind !== token.executable && bytes.subarray(start, end).includes(commentEnd)
  }

  /** The beginning or the end of a comment. Returns false for one inside of another. */
  #comment(): boolean {
    const isOpening = this.#lexer.bytes[this.#lexer.start] === slash
    if (isOpening && this.#isInside) return false
    // One without a token does not begin a definition.
    if (this.#isFirst) this.#isDefinition = false
    this.#inserts ||= this.#isPending
    this.#isPending = false
    this.#isInside = this.#isFirst = isOpening
    if (isOpening) this.#comments++
    return true
  }

  #token(): void {
    const lexer = this.#lexer
    const word = wordOf(lexer)
    if (this.#isFirst && !(this.#comments === 1 ? isWord(lexer, 'CREATE') : parts.has(word)))
      this.#isDefinition = false
    if (!this.#isInside && !isMark(lexer, mark.semicolon)) this.#isDefinition = false
    this.#isFirst = false
    if (this.#isPending && !isMark(lexer, mark.leftParen)) this.#inserts = true
    this.#isPending = word === 'INSERT' || word === 'REPLACE'
    if (word === 'LOAD') this.#inserts = true
    // What is named stands in a text.
    if (word === 'PREPARE' || word === 'EXECUTE') this.#inserts = this.#names = true
    if (isName(lexer)) {
      const name = nameOf(lexer, this.#session.charset)
      this.#names ||= name === undefined || this.#columns.hasTable(name)
    }
  }
}
