/** BEGIN, COMMIT, ROLLBACK, SAVEPOINT and what else is about transactions. https://www.postgresql.org/docs/15/sql-begin.html */
import { notSupported } from './errors.ts'
import type { Reader } from './reader.ts'
import { done } from './result.ts'
import type { Session, Statement } from './session.ts'
import { command } from './statement.ts'

const runsAfterError = { runsAfterError: true } as const
const levels = [['serializable'], ['repeatable', 'read'], ['read', 'committed'], ['read', 'uncommitted']]

/** Reads a statement that begins with `first`, which was taken; undefined: it is about something else. */
export function readTransactionStatement(first: string, reader: Reader): Statement | undefined {
  switch (first) {
    case 'begin':
      reader.oneOf('work', 'transaction')
      return begin('BEGIN', readModes(reader))
    case 'start':
      reader.demandWords('transaction')
      return begin('START TRANSACTION', readModes(reader))
    case 'commit':
    case 'end':
      if (first === 'commit' && reader.words('prepared')) throw twoPhase()
      return ending(reader, (session, chain) => session.transaction.commit(chain))
    case 'abort':
      return ending(reader, (session, chain) => session.transaction.rollback(chain))
    case 'rollback':
      if (reader.words('prepared')) throw twoPhase()
      return readRollback(reader)
    case 'savepoint': {
      const name = reader.shortName()
      return command('SAVEPOINT', ({ transaction }) => transaction.save(name))
    }
    case 'release': {
      reader.words('savepoint')
      const name = reader.shortName()
      return command('RELEASE', ({ transaction }) => transaction.release(name))
    }
    default:
      return undefined
  }
}

/** A setting for each mode of a transaction: `ISOLATION LEVEL …`, `READ ONLY`, `DEFERRABLE`. */
export function readModes(reader: Reader): readonly (readonly [name: string, value: string])[] {
  const modes: (readonly [string, string])[] = []
  while (!reader.isDone) {
    if (modes.length > 0) reader.symbol(',')
    if (reader.words('isolation', 'level')) {
      const level = levels.find((words) => reader.words(...words))
      if (level === undefined) throw reader.error()
      modes.push(['isolation', level.join(' ')])
    } else if (reader.words('read', 'only')) modes.push(['read_only', 'on'])
    else if (reader.words('read', 'write')) modes.push(['read_only', 'off'])
    else if (reader.words('deferrable')) modes.push(['deferrable', 'on'])
    else if (reader.words('not', 'deferrable')) modes.push(['deferrable', 'off'])
    else throw reader.error()
  }
  return modes
}

function begin(tag: string, modes: ReturnType<typeof readModes>): Statement {
  return command(tag, ({ transaction, settings }) => {
    transaction.begin()
    for (const [name, value] of modes) settings.set(`transaction_${name}`, value, true)
  })
}

function readRollback(reader: Reader): Statement {
  const { mark } = reader
  reader.oneOf('work', 'transaction')
  if (reader.words('to')) {
    reader.words('savepoint')
    const name = reader.shortName()
    return command('ROLLBACK', ({ transaction }) => transaction.rollbackTo(name), runsAfterError)
  }
  reader.reset(mark)
  return ending(reader, (session, chain) => session.transaction.rollback(chain))
}

function ending(reader: Reader, end: (session: Session, chain: boolean) => string): Statement {
  reader.oneOf('work', 'transaction')
  const noChain = reader.words('and', 'no', 'chain')
  const chain = !noChain && reader.words('and', 'chain')
  return {
    parameters: [],
    columns: undefined,
    ...runsAfterError,
    run: (session) => done(end(session, chain)),
  }
}

/** 0A000 for PREPARE TRANSACTION and its kin. */
export function twoPhase(): Error {
  return notSupported('two-phase commit is not supported')
}
