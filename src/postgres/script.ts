/**
 * The statements of texts, and whether they may run now.
 *
 * Invariants
 *  1. All of a text is parsed before its first statement runs, as in PostgreSQL: an error of its grammar is told before
 *     anything has an effect. Each statement is compiled when it runs.
 *  2. What a cached text holds is bounded: see `StatementCache`.
 */
import { systemClock } from '../base/clock.ts'
import { workOf } from './long-statements.ts'
import { charactersIn, moved, parse } from './parser.ts'
import type { Read } from './query-text.ts'
import { after, type Column } from './result.ts'
import { requesterOf } from './sequence-lists.ts'
import type { Session, Statement } from './session.ts'
import type { SessionHost } from './session-host.ts'
import { SqlError } from './sql-error.ts'
import type { Script, Source } from './statement-cache.ts'
import { bytesOf, demandReadable, isShort } from './statement-size.ts'
import { compile } from './statements.ts'
import { bytesToText } from './wire-values.ts'

/**
 * A statement of a text. @param before the characters before it in the whole text
 * @param tree its tree as JSON, if it is too long for this thread to parse
 */
function sourceOf(host: SessionHost, text: string, before: number, tree?: string): Source {
  /** The statement, once it is compiled without types that a client has given. */
  let kept: Statement | undefined
  const read = (): Read => {
    if (tree !== undefined) return { text, node: JSON.parse(tree) }
    // Longer ones are queries of the thread of queries.
    return { text, node: isShort(text) ? parse(text)[0]!.node : longQuery }
  }
  const fail = (error: unknown): never => {
    throw moved(error, before)
  }
  return {
    text,
    get heldBytes() {
      return bytesOf(text, false) + (tree?.length ?? 0) + (kept?.heldBytes ?? 0)
    },
    compile(session, declared = []) {
      const isOpen = declared.every((type) => type === 0)
      if (isOpen && kept !== undefined) return kept
      const keep = (statement: Statement) => {
        if (isOpen) kept = statement
        return statement
      }
      const startUs = systemClock.monoUs()
      try {
        const statement = compile(read(), isOpen ? [] : declared, host, session)
        return statement instanceof Promise ? statement.then(keep, fail) : keep(statement)
      } catch (error) {
        return fail(error)
      } finally {
        host.turns.spend(workOf(systemClock.monoUs() - startUs))
      }
    },
  }
}

/** Stands for the tree of a query that only the thread of queries has parsed. */
const longQuery = { SelectStmt: { fromClause: [], op: 'SETOP_NONE' } } as const satisfies Read['node']

/** The statements of the text whose bytes are this Latin-1 text. Throws or rejects with 22021, 42601, 54000. */
export function scriptOf(host: SessionHost, bytes: string, session: Session): Script | Promise<Script> {
  const known = host.cache.get(bytes)
  if (known !== undefined) return known
  const text = bytesToText(bytes)
  if (!isShort(text)) return longScript(host, text, session)
  const startUs = systemClock.monoUs()
  try {
    const script = sourcesOf(host, text, parse(text))
    host.cache.add(bytes, script)
    return script
  } finally {
    host.turns.spend(workOf(systemClock.monoUs() - startUs))
  }
}

async function longScript(host: SessionHost, text: string, session: Session): Promise<Script> {
  demandReadable(text)
  return sourcesOf(host, text, await host.queries.run({ type: 'read', text }, requesterOf(session)))
}

type Place = { readonly from: number; readonly to: number; readonly tree?: string }

function sourcesOf(host: SessionHost, text: string, places: readonly Place[]): Source[] {
  let before = 0
  let at = 0
  return places.map(({ from, to, tree }) => {
    before += charactersIn(text.slice(at, from))
    at = from
    return sourceOf(host, text.slice(from, to), before, tree)
  })
}

/** The only statement of a text; undefined: the text is empty. Throws or rejects with SqlError. */
export function onlyStatement(
  host: SessionHost,
  bytes: string,
  session: Session,
  declared: readonly number[],
): Statement | undefined | Promise<Statement | undefined> {
  return after(scriptOf(host, bytes, session), (sources) => {
    if (sources.length > 1)
      throw new SqlError('42601', 'cannot insert multiple commands into a prepared statement')
    return sources[0]?.compile(session, declared)
  })
}

/** The columns that a statement gives in a session; undefined: it gives no rows. */
export function columnsOf(session: Session, statement: Statement | undefined): readonly Column[] | undefined {
  return statement?.columnsIn === undefined ? statement?.columns : statement.columnsIn(session)
}

/** Throws 25P02 if the transaction has failed, and the statement does not end it. */
export function demandRunnable(
  { transaction }: Session,
  { runsAfterError }: Pick<Statement, 'runsAfterError'>,
): void {
  if (transaction.status === 'E' && !runsAfterError)
    throw new SqlError(
      '25P02',
      'current transaction is aborted, commands ignored until end of transaction block',
    )
}
