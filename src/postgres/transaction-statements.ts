/** BEGIN, COMMIT, ROLLBACK, SAVEPOINT and what else is about transactions. https://www.postgresql.org/docs/15/sql-begin.html */
import type { Node, TransactionStmt } from 'libpg-query'
import { notSupported } from './errors.ts'
import { done } from './result.ts'
import type { Session, Statement } from './session.ts'
import { command } from './statement.ts'

const runsAfterError = { runsAfterError: true } as const

/** BEGIN and its kin. */
export function readTransaction({
  kind,
  options,
  savepoint_name,
  chain = false,
}: TransactionStmt): Statement {
  const name = savepoint_name ?? ''
  switch (kind) {
    case 'TRANS_STMT_BEGIN':
      return begin('BEGIN', modesOf(options))
    case 'TRANS_STMT_START':
      return begin('START TRANSACTION', modesOf(options))
    case 'TRANS_STMT_COMMIT':
      return ending(({ transaction }) => transaction.commit(chain))
    case 'TRANS_STMT_ROLLBACK':
      return ending(({ transaction }) => transaction.rollback(chain))
    case 'TRANS_STMT_SAVEPOINT':
      return command('SAVEPOINT', ({ transaction }) => transaction.save(name))
    case 'TRANS_STMT_RELEASE':
      return command('RELEASE', ({ transaction }) => transaction.release(name))
    case 'TRANS_STMT_ROLLBACK_TO':
      return command('ROLLBACK', ({ transaction }) => transaction.rollbackTo(name), runsAfterError)
    default:
      throw notSupported('two-phase commit is not supported')
  }
}

/** A setting for each mode of a transaction: `ISOLATION LEVEL …`, `READ ONLY`, `DEFERRABLE`. */
export function modesOf(nodes: readonly Node[] = []): readonly (readonly [name: string, value: string])[] {
  return nodes.flatMap((node) => {
    if (!('DefElem' in node)) return []
    const { defname = '', arg } = node.DefElem
    if (arg === undefined || !('A_Const' in arg)) return []
    const { sval, ival } = arg.A_Const
    return [[defname, sval?.sval ?? (ival?.ival ? 'on' : 'off')]]
  })
}

function begin(tag: string, modes: ReturnType<typeof modesOf>): Statement {
  return command(tag, ({ transaction, settings }) => {
    transaction.begin()
    for (const [name, value] of modes) settings.set(name, value, true)
  })
}

function ending(end: (session: Session) => string): Statement {
  return { parameters: [], columns: undefined, ...runsAfterError, run: (session) => done(end(session)) }
}
