/**
 * Where a definition of a procedure, a function, a trigger or an event ends: the bodies of these have `;` inside.
 *
 * BEGIN, END and other words of blocks are names elsewhere (`SELECT 1 AS begin`). They count only where a statement of a
 * body can start, and END of an expression only behind its CASE.
 */
import { type Cursor, mark } from './cursor.ts'
import { token } from './lexer.ts'
import type { Slices } from './slices.ts'
import { compounds, definitions, inserting, plain, wrappers } from './verbs.ts'
import { wordOf } from './words.ts'

const blocks = new Set([...compounds, 'BEGIN'])
blocks.delete('DECLARE')
/** Blocks in which statements follow directly. */
const open = new Set(['BEGIN', 'LOOP', 'REPEAT'])
/** The first words of bodies. No header has them, but for SET behind CHARACTER. */
const verbs = new Set([
  ...blocks,
  ...plain,
  ...inserting,
  ...wrappers,
  ...definitions,
  ...['SET', 'RETURN', 'PREPARE', 'EXECUTE'],
])

/**
 * Goes to the end of a definition: `;` or the end of the text. The current token is the word that names what is defined.
 * Returns false if the end is not certain; the cursor is then at any token.
 */
export function* skipRoutine(cursor: Cursor): Slices<boolean> {
  const found = yield* findBody(cursor)
  if (found === 'none') return true
  return found === 'body' && (yield* new Body(cursor).readToEnd())
}

/** `none`: the definition has ended. `unclear`: it has a form of Oracle's, or another one that is not known. */
function* findBody(cursor: Cursor): Slices<'body' | 'none' | 'unclear'> {
  const kind = wordOf(cursor.lexer)
  if (kind === 'PACKAGE') return 'unclear'
  const isCalled = kind === 'PROCEDURE' || kind === 'FUNCTION'
  let [depth, hasParameters, before] = [0, false, '']
  for (cursor.step(); ; cursor.step()) {
    if (cursor.lexer.kind === token.broken) return 'unclear'
    if (cursor.atEnd) return depth === 0 ? 'none' : 'unclear'
    if (cursor.isPause) yield
    const word = wordOf(cursor.lexer)
    if (cursor.atMark(mark.leftParen)) depth++
    else if (cursor.atMark(mark.rightParen)) {
      if (--depth < 0) return 'unclear'
      hasParameters = true
    } else if (depth > 0) continue
    else if (isCalled) {
      if (word === 'AS' || word === 'IS') return 'unclear'
      if (hasParameters && verbs.has(word) && !(word === 'SET' && before.startsWith('CHAR'))) return 'body'
    } else if ((word === 'ROW' && before === 'EACH') || (word === 'DO' && kind === 'EVENT')) {
      cursor.step()
      if (cursor.take('FOLLOWS') || cursor.take('PRECEDES')) cursor.skipName()
      return 'body'
    }
    before = word
  }
}

/** The body of a routine. The current token of its cursor is the first one of a statement of it. */
class Body {
  readonly #cursor: Cursor
  /** The blocks that are open. */
  readonly #blocks: string[] = []
  /** Whether the current token can begin a statement; whether the one before it could. */
  #isStart = true
  #wasStart = false
  /** The first word of the statement. */
  #verb = ''
  /** CASE of expressions that are open. */
  #cases = 0

  constructor(cursor: Cursor) {
    this.#cursor = cursor
  }

  /** Goes to the end of the body. Returns false if that is not certain. */
  *readToEnd(): Slices<boolean> {
    const cursor = this.#cursor
    for (;;) {
      if (cursor.lexer.kind === token.broken) return false
      if (cursor.isPause) yield
      if (cursor.atEnd && (this.#blocks.length === 0 || cursor.lexer.kind === token.end))
        return this.#blocks.length === 0 && this.#cases === 0
      if (!this.#take()) return false
    }
  }

  /** Takes the current token. Returns false if it says that the blocks are not understood. */
  #take(): boolean {
    const cursor = this.#cursor
    const [isStart, wasStart] = [this.#isStart, this.#wasStart]
    this.#isStart = false
    this.#wasStart = isStart
    const word = wordOf(cursor.lexer)
    // A label, or the end of a statement.
    if (cursor.atMark(mark.semicolon) || (wasStart && cursor.atMark(mark.colon))) {
      this.#isStart = true
      if (this.#cases > 0) return false
    }
    const isQualifier = cursor.atMark(mark.dot)
    cursor.step()
    if (isQualifier) {
      // The name behind a dot is no keyword.
      if (wordOf(cursor.lexer) !== '') cursor.step()
      return true
    }
    // A label with the name of a keyword.
    if (word === '' || (isStart && cursor.atMark(mark.colon))) return true
    return isStart ? this.#first(word) : this.#further(word)
  }

  /** The first word of a statement. */
  #first(word: string): boolean {
    this.#verb = word
    if (blocks.has(word)) {
      this.#blocks.push(word)
      this.#isStart = open.has(word)
      return true
    }
    if (word === 'END') return this.#end()
    this.#isStart = word === 'ELSE'
    return true
  }

  /** Another word of a statement. */
  #further(word: string): boolean {
    const block = this.#blocks.at(-1)
    if (word === 'CASE') this.#cases++
    else if (word === 'END') {
      if (this.#cases > 0) this.#cases--
      // UNTIL … END REPEAT; elsewhere it is a name.
      else if (this.#verb === 'UNTIL' && this.#cursor.at('REPEAT')) return this.#end()
    } else if (this.#cases > 0) return true
    else if (word === 'HANDLER' && this.#verb === 'DECLARE') return this.#handler()
    else if (word === 'THEN') this.#isStart = block === 'IF' || block === 'CASE'
    else if (word === 'DO' || word === 'LOOP') this.#isStart = block === 'WHILE' || block === 'FOR'
    return true
  }

  /** Behind HANDLER: goes beyond its conditions, to its statement. A condition may have any name. */
  #handler(): boolean {
    const cursor = this.#cursor
    if (!cursor.take('FOR')) return false
    do {
      if (cursor.take('SQLSTATE')) cursor.take('VALUE')
      else cursor.take('NOT')
      if (cursor.atEnd) return false
      cursor.step()
    } while (cursor.takeMark(mark.comma))
    this.#isStart = true
    return true
  }

  /** Behind END of a block. */
  #end(): boolean {
    const cursor = this.#cursor
    const block = this.#blocks.pop()
    if (block === undefined || (block !== 'BEGIN' && !cursor.take(block))) return false
    // A label.
    if (!cursor.atEnd && wordOf(cursor.lexer) !== '') cursor.step()
    return cursor.atEnd
  }
}
