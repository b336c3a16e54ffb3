/**
 * The words of a statement, by the rules of PostgreSQL's manual, chapter 4.1: names, quoted names, strings in all forms
 * (with `standard_conforming_strings` on), numbers, operators, parameters and comments.
 *
 * A parser of our own, because PostgreSQL's own in WebAssembly (libpg-query) does not fit a server: a statement such as
 * `SELECT 1+1+1…` of 20 kB ends in a trap that leaves its one instance broken for all later statements, each instance takes
 * 128 MB, and a statement of 2 MB blocks the event loop for seconds.
 */
import { ownText } from './own-text.ts'
import { positionOf, SqlError } from './sql-error.ts'

/** What a token is. `name`: a word in lower case; `quoted`: a name in double quotes; `end`: after the last token. */
export type TokenKind = 'name' | 'quoted' | 'string' | 'bits' | 'number' | 'operator' | 'parameter' | 'end'

/** One word of a statement. */
export type Token = {
  readonly kind: TokenKind
  /** Of a name: folded to lower case; of a string: its value; of others: as they stand. */
  readonly text: string
  /** A name as it stands, where that differs. */
  readonly raw?: string
  /** Where it starts and ends, in UTF-16 units. */
  readonly at: number
  readonly to: number
}

const space = /[ \t\n\r\f\v]+/y
const word = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y
const number = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y
const parameter = /\$\d+/y
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y
const operatorChars = /[~!@#^&|`?+\-*/%<>=]+/y
const afterString = /[ \t\r\f\v]*\n[ \t\n\r\f\v]*'/y

/** A savepoint, a setting or a portal may keep a token of a longer text, and must not keep the text. */
const keptMax = 4096

/** The tokens of a text, with `end` last. Throws SqlError 42601, and 54000 when there are more than `tokensMax`. */
export function tokenize(text: string, tokensMax = 20_000): Token[] {
  const tokens: Token[] = []
  for (let at = skip(text, 0); at < text.length; at = skip(text, at)) {
    if (tokens.length >= tokensMax)
      throw new SqlError('54000', `the statement has more than ${tokensMax} words; send shorter statements`)
    const token = readToken(text, at)
    tokens.push(text.length > keptMax ? ownToken(token) : token)
    at = token.to
  }
  tokens.push({ kind: 'end', text: '', at: text.length, to: text.length })
  return tokens
}

function ownToken(token: Token): Token {
  const { text, raw } = token
  return { ...token, text: ownText(text), ...(raw === undefined ? {} : { raw: ownText(raw) }) }
}

/** Where the next token starts: behind white space and comments, which nest. */
function skip(text: string, from: number): number {
  let at = from
  for (;;) {
    const blank = matchAt(space, text, at)
    if (blank !== undefined) at += blank.length
    else if (text.startsWith('--', at)) {
      const end = text.indexOf('\n', at)
      at = end < 0 ? text.length : end
    } else if (text.startsWith('/*', at)) at = endOfComment(text, at)
    else return at
  }
}

function endOfComment(text: string, from: number): number {
  const mark = /\/\*|\*\//g
  mark.lastIndex = from
  let depth = 0
  for (let found = mark.exec(text); found; found = mark.exec(text)) {
    depth += found[0] === '/*' ? 1 : -1
    if (depth === 0) return mark.lastIndex
  }
  throw unterminated('/* comment', text, from)
}

function readToken(text: string, at: number): Token {
  const first = text[at]!
  if (first === "'") return readString(text, at, at + 1, false)
  if (first === '"') return readQuoted(text, at, at + 1)
  const prefixed = readPrefixed(text, at)
  if (prefixed) return prefixed
  const name = matchAt(word, text, at)
  if (name !== undefined) return nameToken(name, at)
  const digits = matchAt(number, text, at)
  if (digits !== undefined) return readNumber(text, at, digits)
  if (first === '$') return readDollar(text, at)
  return readOperator(text, at)
}

function nameToken(name: string, at: number): Token {
  const text = foldCase(name)
  return { kind: 'name', text, ...(text === name ? {} : { raw: name }), at, to: at + name.length }
}

/** `E'…'`, `N'…'`, `B'…'`, `X'…'`, `U&'…'`, `U&"…"`. */
function readPrefixed(text: string, at: number): Token | undefined {
  const letter = text[at]!.toLowerCase()
  const next = text[at + 1]
  if (next === "'") {
    if (letter === 'e') return readString(text, at, at + 2, true)
    if (letter === 'n') return readString(text, at, at + 2, false)
    if (letter === 'b' || letter === 'x') {
      const { text: digits, to } = readString(text, at, at + 2, false)
      return { kind: 'bits', text: letter + digits, at, to }
    }
  }
  if (letter !== 'u' || next !== '&') return undefined
  if (text[at + 2] === "'") return unescapeUnicode(readString(text, at, at + 3, false))
  return text[at + 2] === '"' ? unescapeUnicode(readQuoted(text, at, at + 3)) : undefined
}

function readString(text: string, at: number, from: number, escapes: boolean): Token {
  let value = ''
  let start = from
  for (let index = from; ; index++) {
    const char = text[index]
    if (char === undefined) throw unterminated('quoted string', text, at)
    if (char === '\\' && escapes) {
      value += text.slice(start, index)
      const [unescaped, length] = readEscape(text, index)
      value += unescaped
      index += length - 1
      start = index + 1
    } else if (char === "'") {
      value += text.slice(start, index)
      if (text[index + 1] === "'") {
        start = ++index
        continue
      }
      const more = matchAt(afterString, text, index + 1)
      if (more === undefined) return { kind: 'string', text: value, at, to: index + 1 }
      index += more.length
      start = index + 1
    }
  }
}

const plainEscapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

function readEscape(text: string, at: number): [value: string, length: number] {
  const rest = text.slice(at + 1, at + 10)
  const code =
    /^u([0-9a-fA-F]{4})/.exec(rest) ?? /^U([0-9a-fA-F]{8})/.exec(rest) ?? /^x([0-9a-fA-F]{1,2})/.exec(rest)
  if (code) return [codePoint(Number.parseInt(code[1]!, 16), at), code[0].length + 1]
  const octal = /^[0-7]{1,3}/.exec(rest)
  if (octal) return [codePoint(Number.parseInt(octal[0], 8), at), octal[0].length + 1]
  const char = rest[0]
  if (char === undefined || char === 'u' || char === 'U')
    throw new SqlError('22025', 'invalid Unicode escape', { position: positionOf(at) })
  return [plainEscapes[char] ?? char, 2]
}

function codePoint(code: number, at: number): string {
  if (code === 0 || code > 0x10ffff || (code > 0x7f && code < 0x80))
    throw new SqlError('22021', 'invalid byte sequence for encoding "UTF8": 0x00', {
      position: positionOf(at),
    })
  return String.fromCodePoint(code)
}

function unescapeUnicode(token: Token): Token {
  const text = token.text.replace(
    /\\(?:([0-9a-fA-F]{4})|\+([0-9a-fA-F]{6})|(\\)|)/g,
    (_, short?: string, long?: string, backslash?: string) => {
      if (backslash) return '\\'
      const digits = short ?? long
      if (!digits) throw new SqlError('42601', 'invalid Unicode escape', { position: positionOf(token.at) })
      return codePoint(Number.parseInt(digits, 16), token.at)
    },
  )
  return { ...token, text }
}

function readQuoted(text: string, at: number, from: number): Token {
  let value = ''
  for (let start = from; ; ) {
    const end = text.indexOf('"', start)
    if (end < 0) throw unterminated('quoted identifier', text, at)
    value += text.slice(start, end)
    if (text[end + 1] !== '"') {
      if (value === '')
        throw new SqlError('42601', 'zero-length delimited identifier at or near """"', {
          position: positionOf(at),
        })
      return { kind: 'quoted', text: value, at, to: end + 1 }
    }
    value += '"'
    start = end + 2
  }
}

function readNumber(text: string, at: number, digits: string): Token {
  // `1..2` is a range of PL/pgSQL: the dots belong to no number.
  const clipped = digits.endsWith('.') && text[at + digits.length] === '.' ? digits.slice(0, -1) : digits
  const to = at + clipped.length
  if (matchAt(word, text, to) !== undefined)
    throw new SqlError('42601', `trailing junk after numeric literal at or near "${clipped}${text[to]}"`, {
      position: positionOf(at),
    })
  return { kind: 'number', text: clipped, at, to }
}

function readDollar(text: string, at: number): Token {
  const number = matchAt(parameter, text, at)
  if (number !== undefined) return { kind: 'parameter', text: number.slice(1), at, to: at + number.length }
  const tag = matchAt(dollarTag, text, at)
  if (tag === undefined)
    throw new SqlError('42601', 'syntax error at or near "$"', { position: positionOf(at) })
  const end = text.indexOf(tag, at + tag.length)
  if (end < 0) throw unterminated('dollar-quoted string', text, at)
  return { kind: 'string', text: text.slice(at + tag.length, end), at, to: end + tag.length }
}

function readOperator(text: string, at: number): Token {
  const chars = matchAt(operatorChars, text, at)
  if (chars !== undefined)
    return { kind: 'operator', text: operatorOf(chars), at, to: at + operatorOf(chars).length }
  const pair = text.slice(at, at + 2)
  if (pair === '::' || pair === ':=' || pair === '..') return { kind: 'operator', text: pair, at, to: at + 2 }
  if (/[()[\],;.:]/.test(text[at]!)) return { kind: 'operator', text: text[at]!, at, to: at + 1 }
  throw new SqlError('42601', `syntax error at or near "${text[at]}"`, { position: positionOf(at) })
}

/** An operator ends before a comment, and in + or - only if it has one of the characters that no standard operator has. */
function operatorOf(chars: string): string {
  const comment = chars.search(/--|\/\*/)
  let text = comment > 0 ? chars.slice(0, comment) : chars
  if (!/[~!@#^&|`?%]/.test(text)) while (text.length > 1 && /[+-]$/.test(text)) text = text.slice(0, -1)
  return text
}

/** Folds ASCII letters only, as PostgreSQL does with UTF-8. */
function foldCase(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

function unterminated(what: string, text: string, at: number): SqlError {
  return new SqlError('42601', `unterminated ${what} at or near "${text.slice(at, at + 60)}"`, {
    position: positionOf(at),
  })
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}
