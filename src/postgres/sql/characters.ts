/** The characters of words, operators and white space, by their UTF-16 units, and comments. */
import { positionOf, SqlError } from './sql-error.ts'

const blank = 1
const wordStart = 2
const wordPart = 4
const operator = 8
const digit = 16

/** What each unit below 128 may be part of. */
const classes = new Uint8Array(128)

function mark(characters: string, flag: number): void {
  for (let index = 0; index < characters.length; index++) classes[characters.charCodeAt(index)]! |= flag
}

const letters = 'abcdefghijklmnopqrstuvwxyz'
mark(' \t\n\r\f\v', blank)
mark(`${letters}${letters.toUpperCase()}_`, wordStart | wordPart)
mark('0123456789', wordPart | digit)
mark('$', wordPart)
mark('~!@#^&|`?+-*/%<>=', operator)

/** White space. NaN, which is behind the end of a text, is nothing: to look it up would make each later look slow. */
export function isBlank(unit: number): boolean {
  return unit < 128 && (classes[unit]! & blank) !== 0
}

/** What a name without quotes may begin with. */
export function isWordStart(unit: number): boolean {
  return unit < 128 ? (classes[unit]! & wordStart) !== 0 : unit >= 128
}

/** What it may go on with. */
export function isWordChar(unit: number): boolean {
  return unit < 128 ? (classes[unit]! & wordPart) !== 0 : unit >= 128
}

/** A decimal digit. */
export function isDigit(unit: number): boolean {
  return unit < 128 && (classes[unit]! & digit) !== 0
}

/** What an operator may consist of. */
export function isOperatorChar(unit: number): boolean {
  return unit < 128 && (classes[unit]! & operator) !== 0
}

/** Folds ASCII letters only, as PostgreSQL does with UTF-8. */
export function foldCase(name: string): string {
  if (!/[A-Z]/.test(name)) return name
  if (!/[\u0080-\uffff]/.test(name)) return name.toLowerCase()
  const units = Buffer.from(name, 'utf16le')
  for (let at = 0; at < units.length; at += 2)
    if (units[at + 1] === 0 && units[at]! >= 65 && units[at]! <= 90) units[at]! += 32
  return units.toString('utf16le')
}

const star = 42
const slash = 47

/** Where the comment that opens at `from` ends. Comments nest. Throws SqlError 42601. */
export function endOfComment(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === slash && text.charCodeAt(at + 1) === star) depth++
    else if (unit === star && text.charCodeAt(at + 1) === slash) depth--
    else continue
    at++
    if (depth === 0) return at + 1
  }
  throw unterminated('/* comment', text, from)
}

/** The error for something that has no end. */
export function unterminated(what: string, text: string, at: number): SqlError {
  return new SqlError('42601', `unterminated ${what} at or near "${text.slice(at, at + 60)}"`, {
    position: positionOf(at),
  })
}
