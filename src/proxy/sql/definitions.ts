/** What CREATE and ALTER define. */
import { type Cursor, mark } from './cursor.ts'
import { token } from './lexer.ts'
import type { Slices } from './slices.ts'
import { wordOf } from './words.ts'

const routines = new Set(['PROCEDURE', 'FUNCTION', 'TRIGGER', 'EVENT', 'PACKAGE'])
const others = new Set([
  'TABLE',
  'VIEW',
  'INDEX',
  'DATABASE',
  'SCHEMA',
  'USER',
  'ROLE',
  'SERVER',
  'SEQUENCE',
  'TABLESPACE',
  'LOGFILE',
  'SERVERS',
])

/** Goes on in a CREATE or ALTER, whose verb is the current token, until it is known; whether it defines a routine. */
export function* definesRoutine(cursor: Cursor): Slices<boolean> {
  cursor.step()
  while (!cursor.atEnd && cursor.lexer.kind !== token.broken && !cursor.atMark(mark.leftParen)) {
    const word = wordOf(cursor.lexer)
    if (routines.has(word)) return true
    if (others.has(word)) return false
    if (cursor.isPause) yield
    cursor.step()
  }
  return false
}

/** The texts of definitions. Each is searched once for the name of a table. */
export class Definitions {
  /** In lower case. */
  readonly #texts: string[] = []
  /** How many were searched for a name, and whether one has it. */
  readonly #searched = new Map<string, { count: number; isFound: boolean }>()

  add(text: string): void {
    this.#texts.push(text.toLowerCase())
  }

  /** Whether one of them has the name of this table. */
  has(table: string): boolean {
    const { length } = this.#texts
    if (length === 0) return false
    const known = this.#searched.get(table) ?? { count: 0, isFound: false }
    const name = Buffer.from(table).toString('latin1').toLowerCase()
    while (known.count < length && !known.isFound) known.isFound = this.#texts[known.count++]!.includes(name)
    this.#searched.set(table, known)
    return known.isFound
  }
}
