/** Definitions of what runs inside the server: procedures, functions, triggers, events. Their bodies have `;` inside. */
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
/** Words behind END that name what ends. */
const ended = new Set(['IF', 'LOOP', 'REPEAT', 'WHILE', 'FOR'])

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

/**
 * Goes to the end of a definition of a routine. Returns false if the end is not certain: blocks are told apart by BEGIN,
 * CASE and END; a body that is another compound statement is followed only to the end of the text.
 */
export function* skipRoutine(cursor: Cursor): Slices<boolean> {
  let depth = 0
  let [isCertain, hasBranches, wordsBehindEnd] = [true, false, 2]
  while (cursor.lexer.kind !== token.end) {
    if (cursor.lexer.kind === token.broken) return false
    if (cursor.isPause) yield
    if (cursor.atMark(mark.semicolon)) {
      if (depth <= 0 && !hasBranches) return isCertain
      cursor.step()
      continue
    }
    const word = wordOf(cursor.lexer)
    cursor.step()
    if (word === 'END') {
      const ofBranch = ended.has(wordOf(cursor.lexer))
      if (ofBranch || cursor.at('CASE')) cursor.step()
      if (!ofBranch && --depth < 0) isCertain = false
    } else if (word === 'BEGIN' || word === 'CASE') depth++
    else if (depth === 0 && startsBranches(word, cursor)) hasBranches = true
    wordsBehindEnd = word === 'END' ? 0 : wordsBehindEnd + 1
  }
  // A label may follow the last END.
  return isCertain && depth === 0 && (wordsBehindEnd <= 1 || !hasBranches)
}

function startsBranches(word: string, cursor: Cursor): boolean {
  return (
    word === 'THEN' ||
    word === 'LOOP' ||
    word === 'WHILE' ||
    (word === 'REPEAT' && !cursor.atMark(mark.leftParen))
  )
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
