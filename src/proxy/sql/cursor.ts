/** Goes through the tokens of a statement, and notices uses of LAST_INSERT_ID. */
import type { Charset } from './charsets.ts'
import { type Lexer, token } from './lexer.ts'
import { type Refusal, unreadable } from './refusal.ts'
import { sliceBytes } from './slices.ts'
import { equalsIgnoringCase, isMark, isName, isWord } from './words.ts'

/** A statement that the proxy does not send. Thrown while it is read, and caught by `readStatements`. */
export class Refused extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

/** The bytes of the marks that statements are read by. */
export const mark = {
  leftParen: 40,
  rightParen: 41,
  star: 42,
  comma: 44,
  dot: 46,
  colon: 58,
  semicolon: 59,
  equal: 61,
  question: 63,
} as const

const functionName = 'LAST_INSERT_ID'
const otherName = 'IDENTITY'
const atSign = 64

/** What the next token may be, behind the start of a use of LAST_INSERT_ID. */
const after = { nothing: 0, function: 1, parenthesis: 2, variableDot: 3, variableName: 4 } as const
/** Parts of a name: catalogue, database, table, column. */
const partsMax = 4

/** The current token is the next one to be read. */
export class Cursor {
  readonly lexer: Lexer
  readonly charset: Charset
  /** How often LAST_INSERT_ID() or a variable of its value was passed. */
  reads = 0
  /** How often LAST_INSERT_ID(…) was passed. */
  sets = 0
  nameStart = 0
  nameEnd = 0
  nameKind: number = token.word
  #after: number = after.nothing
  /** Where the present slice ends. */
  #pauseAt = sliceBytes
  /** Of an expression that is being passed: its open parentheses and its tokens. */
  #depth = 0
  #tokens = 0

  constructor(lexer: Lexer, charset: Charset) {
    this.lexer = lexer
    this.charset = charset
  }

  /** Goes to the next token. */
  step(): void {
    const { lexer } = this
    const kind = lexer.solid()
    if (this.#after !== after.nothing && this.#isFollowed(kind)) return
    if (kind === token.word || kind === token.quotedName) {
      if (this.#isNamed(functionName)) this.#after = after.function
    } else if (kind === token.variable) this.#variable()
  }

  /** Whether the token, which is behind the start of a use, belongs to it alone. */
  #isFollowed(kind: number): boolean {
    const state = this.#after
    this.#after = after.nothing
    switch (state) {
      case after.function:
        if (!this.atMark(mark.leftParen)) return false
        this.#after = after.parenthesis
        return true
      case after.parenthesis:
        if (this.atMark(mark.rightParen)) this.reads++
        else this.sets++
        return false
      case after.variableDot:
        if (!this.atMark(mark.dot)) return false
        this.#after = after.variableName
        return true
      default:
        if (kind !== token.word && kind !== token.quotedName) return false
        if (this.#isNamed(functionName) || this.#isNamed(otherName)) this.reads++
        this.#after = after.variableDot
        return true
    }
  }

  /** Whether the token is this name, which may be quoted. */
  #isNamed(name: string): boolean {
    const { bytes, start, end, kind } = this.lexer
    const quotes = kind === token.quotedName ? 1 : 0
    return equalsIgnoringCase(bytes, start + quotes, end - quotes, name)
  }

  /** @@last_insert_id, @@identity, with a scope or without one; the parts of the name may be quoted, and stand apart. */
  #variable(): void {
    const { bytes, start, end } = this.lexer
    if (bytes[start + 1] !== atSign) return
    if (this.#endsIn(functionName) || this.#endsIn(otherName)) this.reads++
    const last = bytes[end - 1]
    this.#after = last === atSign || last === mark.dot ? after.variableName : after.variableDot
  }

  /** Whether the last part of the variable is this name. */
  #endsIn(name: string): boolean {
    const { bytes, end } = this.lexer
    const at = end - name.length
    const before = bytes[at - 1]
    return (before === atSign || before === mark.dot) && equalsIgnoringCase(bytes, at, end, name)
  }

  /** Whether the token is this keyword, in upper case. */
  at(word: string): boolean {
    return isWord(this.lexer, word)
  }

  /** Whether the token is this mark. */
  atMark(byte: number): boolean {
    return isMark(this.lexer, byte)
  }

  /** Whether the statement ends here. */
  get atEnd(): boolean {
    return this.lexer.kind === token.end || this.atMark(mark.semicolon)
  }

  /** Goes beyond this keyword, if it is the token. */
  take(word: string): boolean {
    if (!this.at(word)) return false
    this.step()
    return true
  }

  /** Goes beyond this mark, if it is the token. */
  takeMark(byte: number): boolean {
    if (!this.atMark(byte)) return false
    this.step()
    return true
  }

  /** Goes beyond this mark, or refuses the statement. */
  demandMark(byte: number): void {
    if (!this.takeMark(byte)) this.fail()
  }

  /** Goes beyond this keyword, or refuses the statement. */
  demand(word: string): void {
    if (!this.take(word)) this.fail()
  }

  /** Goes beyond a name with qualifiers; `nameStart`, `nameEnd` and `nameKind` are its last part. */
  skipName(): void {
    const { lexer } = this
    let parts = 0
    // `.t.c` is a column of a table of the current database.
    this.takeMark(mark.dot)
    do {
      if (!isName(lexer) || ++parts > partsMax) this.fail()
      this.nameStart = lexer.start
      this.nameEnd = lexer.end
      this.nameKind = lexer.kind
      this.step()
    } while (this.takeMark(mark.dot))
  }

  /** Whether a slice has been read: the reading may pause. True once for each. */
  get isPause(): boolean {
    if (this.lexer.start < this.#pauseAt) return false
    this.#pauseAt = this.lexer.start + sliceBytes
    return true
  }

  /**
   * Goes to the end of an expression: a comma, the end of the statement, or what `isEnd` accepts, outside of parentheses.
   * Refuses an expression without tokens. False: the reading may pause; call it again to go on.
   */
  skipExpression(isEnd: () => boolean): boolean {
    for (; ; this.#tokens++) {
      if (this.lexer.kind === token.broken || this.#atQuestion) this.fail()
      if (this.isPause) return false
      if (this.atEnd || (this.#depth === 0 && (this.atMark(mark.comma) || isEnd()))) {
        if (this.#tokens === 0 || this.#depth > 0) this.fail()
        this.#tokens = 0
        return true
      }
      if (this.atMark(mark.leftParen)) this.#depth++
      else if (this.atMark(mark.rightParen) && --this.#depth < 0) this.fail()
      this.step()
    }
  }

  /** A question mark directly before a name: no parameter, which servers refuse, and one where the text is edited between. */
  get #atQuestion(): boolean {
    if (!this.atMark(mark.question)) return false
    const { bytes, end } = this.lexer
    return end < bytes.length && /[\w$\x80-\xff]/.test(String.fromCharCode(bytes[end]!))
  }

  /** Refuses the statement as one that cannot be read. */
  fail(): never {
    const { bytes, start, kind } = this.lexer
    const near = kind === token.end ? 'its end' : `'${latin1Start(bytes, start)}'`
    throw new Refused(
      unreadable(
        `the statement inserts into a table whose ids are filled in, and cannot be read near ${near}; correct it`,
      ),
    )
  }
}

const shownBytes = 40

function latin1Start(bytes: Buffer, start: number): string {
  const text = String.fromCharCode(...bytes.subarray(start, start + shownBytes))
  return text.replace(/[^\x20-\x7e]/g, '?')
}
