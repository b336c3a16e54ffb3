/** The words and names of statements. */
import type { Charset } from './charsets.ts'
import { type Lexer, token } from './lexer.ts'
import { shortText } from './short-texts.ts'

const backquote = 96

/** Whether the token is this keyword. `word` is in upper case. */
export function isWord(lexer: Lexer, word: string): boolean {
  return lexer.kind === token.word && equalsIgnoringCase(lexer.bytes, lexer.start, lexer.end, word)
}

/** Whether these bytes are `word`, which is in upper case, but for the case of ASCII letters. */
export function equalsIgnoringCase(bytes: Buffer, start: number, end: number, word: string): boolean {
  if (end - start !== word.length) return false
  for (let index = 0; index < word.length; index++) {
    const byte = bytes[start + index]!
    const upper = byte >= 97 && byte <= 122 ? byte - 32 : byte
    if (upper !== word.charCodeAt(index)) return false
  }
  return true
}

/** Whether the token is this mark, given as a byte. */
export function isMark(lexer: Lexer, byte: number): boolean {
  return lexer.kind === token.mark && lexer.bytes[lexer.start] === byte
}

/** The token as a keyword in upper case; '' if it is no word. */
export function wordOf(lexer: Lexer): string {
  return lexer.kind === token.word ? shortText(lexer.bytes, lexer.start, lexer.end).toUpperCase() : ''
}

/** Bytes as text of one character for each byte. */
export function latin1(bytes: Buffer, start: number, end: number): string {
  return bytes.toString('latin1', start, end)
}

/** Whether the token can be a name. */
export function isName(lexer: Lexer): boolean {
  return lexer.kind === token.word || lexer.kind === token.quotedName
}

/** The name that the token is; undefined if its characters are unknown to the proxy. */
export function nameOf(lexer: Lexer, charset: Charset): string | undefined {
  return nameIn(lexer.bytes, lexer.start, lexer.end, lexer.kind, charset)
}

/** The name that a token of this kind and place is. */
export function nameIn(
  bytes: Buffer,
  start: number,
  end: number,
  kind: number,
  charset: Charset,
): string | undefined {
  if (kind === token.word) return charset.decode(bytes, start, end)
  const name = charset.decode(bytes, start + 1, end - 1)
  const quote = bytes[start] === backquote ? '`' : '"'
  return name?.includes(quote) ? name.replaceAll(quote + quote, quote) : name
}

/** Names of columns are equal but for case, in every server. */
export function sameColumn(left: string, right: string): boolean {
  return left.length === right.length && left.toLowerCase() === right.toLowerCase()
}

/** Whether a text has only printable ASCII, which is the same in every character set. */
export function isAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}
