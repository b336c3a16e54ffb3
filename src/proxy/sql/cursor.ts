/** Goes through the tokens of a text, and ends where it is not certain. */
import { Lexer, token } from './lexer.ts'

/** Thrown where the reading ends. One for all: to make an error takes as long as to read a statement. */
export const unsure = new Error('the text is not certain')

/** Marks of punctuation. */
export const marks = {
  leftParen: 40,
  rightParen: 41,
  comma: 44,
  dot: 46,
  semicolon: 59,
  equal: 61,
  colon: 58,
} as const
/** Bytes behind LAST_INSERT_ID in which a parenthesis and what follows it are looked for. */
const callBytesMax = 64

/** A lexer whose current token is always the next one to be read. Every method throws `unsure` where the text is not certain. */
export class Cursor extends Lexer {
  /** Uses of LAST_INSERT_ID: LAST_INSERT_ID() and variables of its value; and calls with a value. */
  reads = 0
  sets = 0

  /** Goes to the next token. */
  next(): void {
    this.step()
    if (this.kind === token.unsure) throw unsure
  }

  /** Whether the statement ends here. */
  get atEnd(): boolean {
    return this.kind === token.end || this.atMark(marks.semicolon)
  }

  /** The token as a keyword in upper case; '' if it is no word. */
  word(): string {
    const { kind, start, end } = this
    return kind === token.word && end - start <= 20 ? this.text(start, end).toUpperCase() : ''
  }

  /** Bytes of the text, a character for each. */
  text(start: number, end: number): string {
    return this.bytes.toString('latin1', start, end)
  }

  /** Passes over a keyword. `word`: in upper case, of letters alone. */
  takeWord(word: string): boolean {
    const { bytes, start } = this
    if (this.kind !== token.word || this.end - start !== word.length) return false
    for (let at = 0; at < word.length; at++)
      if ((bytes[start + at]! & 0xdf) !== word.charCodeAt(at)) return false
    this.next()
    return true
  }

  atMark(byte: number): boolean {
    return this.kind === token.mark && this.bytes[this.start] === byte
  }

  takeMark(byte: number): boolean {
    if (!this.atMark(byte)) return false
    this.next()
    return true
  }

  demandMark(byte: number): void {
    if (!this.takeMark(byte)) throw unsure
  }

  /** A name without its quotes, and as it stands in the text, a character for each byte. */
  demandName(): { readonly name: string; readonly text: string } {
    const { kind, start, end, bytes } = this
    if (kind !== token.word && kind !== token.quotedName) throw unsure
    const text = this.text(start, end)
    const decoded = /[\x80-\xff]/.test(text) ? bytes.toString('utf8', start, end) : text
    this.next()
    if (kind === token.word) return { name: decoded, text }
    const mark = decoded[0]!
    return { name: decoded.slice(1, -1).replaceAll(mark + mark, mark), text }
  }

  /** Reads a column's name; whether its last part is `name`. Names of columns are equal but for case, in every server. */
  takeColumn(name: string): boolean {
    for (;;) {
      const isOther = this.kind === token.word && this.end - this.start < name.length
      const is = isOther ? this.#skipWord() : sameColumn(this.demandName().name, name)
      if (!this.takeMark(marks.dot)) return is
    }
  }

  #skipWord(): false {
    this.next()
    return false
  }

  /** Goes to the end of the statement. */
  skipStatement(): void {
    while (!this.atEnd) this.next()
  }

  /** Goes to the end of an expression that has at least one token: a comma or a parenthesis, the end, or a clause behind it. */
  skipExpression(): void {
    const { start } = this
    for (let depth = 0; ; this.next()) {
      const byte = this.kind === token.mark ? this.bytes[this.start] : 0
      if (this.kind === token.end || byte === marks.semicolon) {
        if (depth > 0) throw unsure
        break
      }
      if (depth === 0 && (byte === marks.comma || byte === marks.rightParen || this.#atClause())) break
      if (byte === marks.leftParen) depth++
      else if (byte === marks.rightParen) depth--
      this.noteLastInsertId()
    }
    if (this.start === start) throw unsure
  }

  #atClause(): boolean {
    const length = this.end - this.start
    if (this.kind !== token.word || (length !== 2 && length !== 9)) return false
    const word = this.word()
    return word === 'ON' || word === 'AS' || word === 'RETURNING'
  }

  /** LAST_INSERT_ID(), @@last_insert_id, @@session.identity; another use is a call with a value, or unsure. */
  noteLastInsertId(): void {
    const { kind, start, end, bytes } = this
    if (kind === token.variable) {
      if (bytes[start + 1] === 64 && /(?:last_insert_id|identity)$/i.test(this.text(end - 14, end)))
        this.reads++
      // @@`identity`, or a name with spaces inside.
      else if (/^@@(?:session|local|global)?\.?$/i.test(this.text(start, end))) throw unsure
      return
    }
    if (kind !== token.word && kind !== token.quotedName) return
    const quotes = kind === token.quotedName ? 1 : 0
    if (end - start - 2 * quotes !== 14) return
    if (this.text(start + quotes, end - quotes).toUpperCase() !== 'LAST_INSERT_ID') return
    const call = /^\s*\(\s*(.)/s.exec(this.text(end, end + callBytesMax))
    if (call === null || /[-#/]/.test(call[1]!)) throw unsure
    if (call[1] === ')') this.reads++
    else this.sets++
  }
}

/** Names of columns are equal but for case, in every server. */
export function sameColumn(left: string, right: string): boolean {
  return left.length === right.length && left.toLowerCase() === right.toLowerCase()
}
