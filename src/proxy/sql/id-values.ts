/**
 * What stands in an id's place: whether it asks for an id, as it would with AUTO_INCREMENT.
 *
 * With AUTO_INCREMENT, MariaDB and MySQL generate an id where the value stored into the column is NULL or rounds to 0
 * (`handler::update_auto_increment`), which holds for numbers, texts and bits. All was tried on MariaDB 10.11.
 */
import { type Lexer, token } from './lexer.ts'
import type { SqlSession } from './session.ts'
import { isMark, isWord, latin1, nameOf, sameColumn } from './words.ts'

/**
 * `absent`, `null`, `default`, `zero`: an id is asked for. `given`: it stays. `parameter`: known when the statement is
 * executed. `unclear`: a text that is 0 in an integer column, with a warning. `expression`: not known before.
 */
export type IdState =
  | 'absent'
  | 'null'
  | 'default'
  | 'zero'
  | 'given'
  | 'parameter'
  | 'unclear'
  | 'expression'

const [leftParen, rightParen, plus, minus, backslash, letterN, quote] = [40, 41, 43, 45, 92, 78, 34]
/** Values of more bytes, with the comments inside of them, or of more tokens, are expressions: to read them would take too long. */
const [valueBytesMax, tokensMax] = [65_536, 1000]
const number = /^[ \t-\r]*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[ \t-\r]*$/
const numericStart = /^[ \t-\r]*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/

/**
 * Whether a text that is stored into an integer column becomes 0: surely, only with a warning, or not at all. `expression`:
 * that depends on whether bytes from 0x80 on around a 0 are spaces for the server, as 0xA0 is in latin1.
 */
export function stateOfText(text: string): 'zero' | 'unclear' | 'given' | 'expression' {
  if (number.test(text)) return decimalIsZero(text) ? 'zero' : 'given'
  const bare = /[\x80-\xff]/.test(text) ? withoutOddSpaces(text) : ''
  if (number.test(bare) && decimalIsZero(bare)) return 'expression'
  const start = numericStart.exec(text)
  return start === null || decimalIsZero(start[0]) ? 'unclear' : 'given'
}

function withoutOddSpaces(text: string): string {
  const isSpace = (at: number) => /[ \t-\r\x80-\xff]/.test(text[at]!)
  let [start, end] = [0, text.length]
  while (start < end && isSpace(start)) start++
  while (start < end && isSpace(end - 1)) end--
  return text.slice(start, end)
}

/** The integer that a text is, as MySQL writes one that is positive and has up to 64 bits; else undefined. */
export function positiveInteger(text: string): bigint | undefined {
  if (!/^[1-9]\d{0,19}$/.test(text)) return undefined
  const value = BigInt(text)
  return value < 1n << 64n ? value : undefined
}

/** Whether a number becomes 0 in an integer column. Servers round halves of DOUBLE to the even neighbour, which is 0. */
export function doubleIsZero(value: number): boolean {
  return Math.abs(value) <= 0.5
}

/** A literal with an exponent is a DOUBLE, any other is exact. */
function literalIsZero(text: string): boolean {
  return /e/i.test(text) ? doubleIsZero(Number(text)) : decimalIsZero(text)
}

/** Whether an exact number, or a text, becomes 0 in an integer column: servers round its halves away from 0. */
function decimalIsZero(text: string): boolean {
  const [, whole = '', fraction = '', exponent = '0'] = /(\d*)\.?(\d*)(?:e([+-]?\d+))?/i.exec(
    text.replace(/^[\s+-]+/, ''),
  )!
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  if (/[1-9]/.test(digits.slice(0, Math.max(0, point)))) return false
  return point < 0 || (digits[point] ?? '0') < '5'
}

/**
 * Reads the value that starts at the current token, and returns what it is. The current token is then the one behind the
 * value, or, for an expression, any of its tokens.
 */
export function readIdValue(lexer: Lexer, session: SqlSession, column: string): IdState {
  const until = lexer.start + valueBytesMax
  let depth = 0
  for (; isMark(lexer, leftParen) && depth <= tokensMax && lexer.end <= until; lexer.solid()) depth++
  const state =
    depth > 0 && (isWord(lexer, 'DEFAULT') || isWord(lexer, 'IGNORE'))
      ? 'expression'
      : readPrimary(lexer, session, column, until)
  for (; depth > 0 && isMark(lexer, rightParen) && lexer.end <= until; lexer.solid()) depth--
  return depth > 0 ? 'expression' : state
}

/** `until`: where the value ends at the latest, here and below. */
function readPrimary(lexer: Lexer, session: SqlSession, column: string, until: number): IdState {
  if (lexer.end > until) return 'expression'
  switch (lexer.kind) {
    case token.parameter:
      return after(lexer, 'parameter')
    case token.string:
    case token.nationalString:
      return readText(lexer, session, until)
    case token.number:
      return after(lexer, literalIsZero(textOf(lexer)) ? 'zero' : 'given')
    case token.bits:
      return after(lexer, stateOfBits(textOf(lexer), session))
    case token.mark:
      return readMark(lexer, session, until)
    case token.word:
      return readWord(lexer, session, column, until)
    default:
      return 'expression'
  }
}

function after(lexer: Lexer, state: IdState): IdState {
  lexer.solid()
  return state
}

function textOf(lexer: Lexer): string {
  return latin1(lexer.bytes, lexer.start, lexer.end)
}

/** A sign in front of a number, or `\N`, which MySQL 8 has no more. */
function readMark(lexer: Lexer, session: SqlSession, until: number): IdState {
  if (isMark(lexer, backslash)) {
    const isNull = lexer.bytes[lexer.end] === letterN
    lexer.next()
    const isWhole = lexer.end - lexer.start === 1 && session.dialect === 'mariadb'
    return isNull && isWhole ? after(lexer, 'null') : 'expression'
  }
  const isSign = () => (isMark(lexer, plus) || isMark(lexer, minus)) && lexer.end <= until
  for (let left = tokensMax; left > 0 && isSign(); left--) lexer.solid()
  if (lexer.kind !== token.number || lexer.end > until) return 'expression'
  return after(lexer, literalIsZero(textOf(lexer)) ? 'zero' : 'given')
}

function readWord(lexer: Lexer, session: SqlSession, column: string, until: number): IdState {
  if (isWord(lexer, 'NULL')) return after(lexer, 'null')
  if (isWord(lexer, 'FALSE')) return after(lexer, 'zero')
  if (isWord(lexer, 'TRUE')) return after(lexer, 'given')
  if (isWord(lexer, 'IGNORE')) return session.dialect === 'mariadb' ? after(lexer, 'default') : 'expression'
  if (isWord(lexer, 'DEFAULT')) return readDefault(lexer, session, column, until)
  const isIntroducer = textOf(lexer).startsWith('_')
  lexer.solid()
  return isIntroducer && lexer.kind === token.string ? readText(lexer, session, until) : 'expression'
}

/** DEFAULT, or DEFAULT(id). */
function readDefault(lexer: Lexer, session: SqlSession, column: string, until: number): IdState {
  lexer.solid()
  if (!isMark(lexer, leftParen)) return 'default'
  lexer.solid()
  let name = ''
  for (let parts = 1; ; parts++) {
    const isName = lexer.kind === token.word || lexer.kind === token.quotedName
    if (!isName || parts > tokensMax || lexer.end > until) return 'expression'
    name = nameOf(lexer, session.charset) ?? ''
    lexer.solid()
    if (!isMark(lexer, 46)) break
    lexer.solid()
  }
  if (!isMark(lexer, rightParen) || !sameColumn(name, column)) return 'expression'
  return after(lexer, 'default')
}

/** Strings that follow each other are one. */
function readText(lexer: Lexer, session: SqlSession, until: number): IdState {
  let [text, tokens] = ['', 0]
  for (; lexer.kind === token.string || lexer.kind === token.nationalString; lexer.solid()) {
    if (lexer.end > until || ++tokens > tokensMax) return 'expression'
    text += contentOf(lexer, session)
  }
  if (text === '' && session.emptyStringIsNull) return 'null'
  return stateOfText(text)
}

/** The bytes that a literal of a text stands for, also in hexadecimal digits or bits; '' for another token. */
export function literalText(lexer: Lexer, session: SqlSession): string {
  if (lexer.kind === token.string || lexer.kind === token.nationalString) return contentOf(lexer, session)
  if (lexer.kind !== token.bits) return ''
  const digits = textOf(lexer).slice(2).replace("'", '')
  if (/^(?:0x|x')/i.test(textOf(lexer))) return Buffer.from(digits, 'hex').toString('latin1')
  return (digits.match(/[01]{8}/g) ?? [])
    .map((bits) => String.fromCharCode(Number.parseInt(bits, 2)))
    .join('')
}

/** The bytes that the string stands for, as text of one character each. */
function contentOf(lexer: Lexer, session: SqlSession): string {
  const opening = lexer.kind === token.nationalString ? lexer.start + 1 : lexer.start
  const closing = lexer.bytes[opening] === quote ? '"' : "'"
  const raw = latin1(lexer.bytes, opening + 1, lexer.end - 1).replaceAll(closing + closing, closing)
  return session.noBackslashEscapes
    ? raw
    : raw.replace(/\\([\s\S])/g, (_, char: string) => escapes[char] ?? char)
}

const escapes: Readonly<Record<string, string>> = { 0: '\0', n: '\n', t: '\t', r: '\r', b: '\b', Z: '\x1a' }

/** MariaDB takes x'…' for a text; all else is a number. */
function stateOfBits(text: string, session: SqlSession): IdState {
  const quoted = /^x'(.*)'$/i.exec(text)?.[1]
  if (quoted !== undefined && session.dialect === 'mariadb')
    return stateOfText(Buffer.from(quoted, 'hex').toString('latin1'))
  return /^(?:0[xb]|[xb]')0*'?$/i.test(text) ? 'zero' : 'given'
}
