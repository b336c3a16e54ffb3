/** Definitions of what runs inside the server: procedures, functions, triggers, events. Their bodies have `;` inside. */
import { type Cursor, mark } from './cursor.ts'
import { token } from './lexer.ts'
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
export function definesRoutine(cursor: Cursor): boolean {
  cursor.step()
  while (!cursor.atEnd && cursor.lexer.kind !== token.broken && !cursor.atMark(mark.leftParen)) {
    const word = wordOf(cursor.lexer)
    if (routines.has(word)) return true
    if (others.has(word)) return false
    cursor.step()
  }
  return false
}

/**
 * Goes to the end of a definition of a routine. Returns false if the end is not certain: blocks are told apart by BEGIN,
 * CASE and END; a body that is another compound statement is followed only to the end of the text.
 */
export function skipRoutine(cursor: Cursor): boolean {
  let depth = 0
  let [isCertain, hasBranches, wordsBehindEnd] = [true, false, 2]
  while (cursor.lexer.kind !== token.end) {
    if (cursor.lexer.kind === token.broken) return false
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
