/**
 * The statements of texts, and whether they may run now.
 *
 * Invariants
 *  1. All statements of a text are compiled before the first of them runs, as in PostgreSQL: an error in the last one is told
 *     before the first one has an effect.
 *  2. One statement at a time is compiled: between two of them, other connections have their turn.
 *  3. What is compiled from a text of several statements is kept only if it is small; others are compiled again when they run.
 */
import type { Compilation, ConversationHost } from './host.ts'
import type { Column } from './result.ts'
import type { Session, Statement } from './session.ts'
import { SqlError } from './sql/sql-error.ts'
import { cachedBytesMax, type Script, scriptBytesMax } from './statement-cache.ts'
import { bytesToText } from './values.ts'

/** The statements of a simple query, from the first to the last. */
export interface Statements {
  /** About how much memory they take, in bytes. */
  readonly heldBytes: number
  /** Whether it is known that there is no further one. */
  readonly isOver: boolean
  /** The next one; undefined: there is none. */
  next(): Statement | undefined
}

/** Statements that are compiled. */
class KeptStatements implements Statements {
  readonly heldBytes: number
  readonly #script: Script
  #at = 0

  /** @param heldBytes what they take if they are not in the cache. */
  constructor(script: Script, heldBytes = 0) {
    this.#script = script
    this.heldBytes = heldBytes
  }

  get isOver(): boolean {
    return this.#at >= this.#script.length
  }

  next(): Statement | undefined {
    return this.#script[this.#at++]
  }
}

/** Statements that are compiled again, each when it runs. */
class CompiledStatements implements Statements {
  readonly isOver = false
  readonly #host: ConversationHost
  readonly #compilation: Compilation

  constructor(host: ConversationHost, text: string) {
    this.#host = host
    this.#compilation = host.compile(text)
  }

  get heldBytes(): number {
    return this.#compilation.heldBytes
  }

  next(): Statement | undefined {
    return compileNext(this.#host, this.#compilation)
  }
}

/** The compilation of the text of a simple query, a statement in each step. */
export class Reading {
  readonly #host: ConversationHost
  /** Undefined: the text is too long for the cache. */
  readonly #bytes: string | undefined
  readonly #text: string
  readonly #compilation: Compilation
  readonly #script: Statement[] = []
  #scriptBytes = 0
  #count = 0

  /** @param bytes the text, as Latin-1. Throws 22021. */
  constructor(host: ConversationHost, bytes: string) {
    this.#host = host
    this.#bytes = bytes.length > cachedBytesMax ? undefined : bytes
    this.#text = bytesToText(bytes)
    this.#compilation = host.compile(this.#text)
  }

  /** About how much memory it takes, in bytes. */
  get heldBytes(): number {
    return this.#compilation.heldBytes + (this.#isKept ? this.#scriptBytes : 0)
  }

  /** Compiles a statement. Returns all of them after the last one. Throws 42601, 0A000, 54000. */
  step(): Statements | undefined {
    const statement = compileNext(this.#host, this.#compilation)
    if (statement === undefined) return this.#end()
    this.#scriptBytes += statement.heldBytes ?? 0
    this.#count++
    if (this.#isKept) this.#script.push(statement)
    else this.#script.length = 0
    return undefined
  }

  get #isKept(): boolean {
    return this.#isSmall || this.#count === 1
  }

  get #isSmall(): boolean {
    return this.#bytes !== undefined && this.#scriptBytes <= scriptBytesMax
  }

  #end(): Statements {
    if (this.#isSmall) this.#host.cache.add(this.#bytes!, this.#script)
    if (this.#isKept) return new KeptStatements(this.#script, this.#isSmall ? 0 : this.#scriptBytes)
    return new CompiledStatements(this.#host, this.#text)
  }
}

function compileNext({ turns }: ConversationHost, compilation: Compilation): Statement | undefined {
  try {
    return compilation.next()
  } finally {
    turns.spend(compilation.work)
  }
}

/** The statements of the text whose bytes are this Latin-1 text, if they are in the cache. */
export function cachedStatements({ cache }: ConversationHost, bytes: string): Statements | undefined {
  const known = cache.get(bytes)
  return known && new KeptStatements(known)
}

/** The only statement of a text; undefined: the text is empty. Throws 42601, 0A000, 54000. */
export function onlyStatement(host: ConversationHost, bytes: string): Statement | undefined {
  const script = host.cache.get(bytes) ?? compileOne(host, bytes)
  if (script.length > 1)
    throw new SqlError('42601', 'cannot insert multiple commands into a prepared statement')
  return script[0]
}

/** Up to two statements: those of a longer text are not wanted. */
function compileOne(host: ConversationHost, bytes: string): Script {
  const compilation = host.compile(bytesToText(bytes))
  const statement = compileNext(host, compilation)
  if (statement === undefined) return []
  const second = compileNext(host, compilation)
  if (second !== undefined) return [statement, second]
  host.cache.add(bytes, [statement])
  return [statement]
}

/** The columns that a statement gives in a session; undefined: it gives no rows. */
export function columnsOf(session: Session, statement: Statement | undefined): readonly Column[] | undefined {
  return statement?.columnsIn === undefined ? statement?.columns : statement.columnsIn(session)
}

/** Throws 25P02 if the transaction has failed, and the statement does not end it. */
export function demandRunnable({ transaction }: Session, { runsAfterError }: Statement): void {
  if (transaction.status === 'E' && !runsAfterError)
    throw new SqlError(
      '25P02',
      'current transaction is aborted, commands ignored until end of transaction block',
    )
}
