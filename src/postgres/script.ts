/** The statements of a text, and whether they may run now. */
import type { ConversationHost } from './host.ts'
import type { Column } from './result.ts'
import type { Session, Statement } from './session.ts'
import { SqlError } from './sql/sql-error.ts'
import type { Script } from './statement-cache.ts'
import { bytesToText } from './values.ts'

/** About how long it takes to read a byte of a statement, as a reply of so many bytes. */
const workBytes = 8

/** The statements of the text whose bytes are this Latin-1 text, from the cache if they are there. */
export function scriptOf({ cache, compile, turns }: ConversationHost, bytes: string): Script {
  const known = cache.get(bytes)
  if (known !== undefined) return known
  turns.spend(bytes.length * workBytes)
  const script = compile(bytesToText(bytes))
  cache.add(bytes, script)
  return script
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
