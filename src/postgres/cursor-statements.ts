/** DECLARE, FETCH, MOVE and CLOSE. https://www.postgresql.org/docs/15/sql-fetch.html */
import type { ClosePortalStmt, DeclareCursorStmt, FetchStmt } from 'libpg-query'
import { type Direction, fetchFrom, moveFrom } from './cursors.ts'
import { notSupported } from './errors.ts'
import { nowUs } from './postgres-time.ts'
import { done, type Result } from './result.ts'
import type { Session, Statement } from './session.ts'
import { SqlError } from './sql-error.ts'
import { command } from './statement.ts'

/** PostgreSQL's bits of the options of DECLARE (`src/include/nodes/parsenodes.h`). */
const option = { binary: 0x1, noScroll: 0x4, hold: 0x20 }
/** How the parser writes ALL. */
const all = 2 ** 31 - 1

/** DECLARE. @param compileQuery compiles its query. */
export function readDeclare(
  { portalname = '', options = 0 }: DeclareCursorStmt,
  text: string,
  compileQuery: () => Statement | Promise<Statement>,
): Statement | Promise<Statement> {
  if ((options & option.binary) !== 0)
    throw notSupported('BINARY cursors are not supported', 'Ask for binary values in Bind.')
  const isForward = (options & option.noScroll) !== 0
  const isHeld = (options & option.hold) !== 0
  const query = compileQuery()
  const declare = (compiled: Statement) =>
    declaring({ name: portalname, text: text.trim(), isForward, isHeld }, compiled)
  return query instanceof Promise ? query.then(declare) : declare(query)
}

type Declared = {
  readonly name: string
  readonly text: string
  readonly isForward: boolean
  readonly isHeld: boolean
}

function declaring(declared: Declared, query: Statement): Statement {
  const { columns = [] } = query
  const keep = (session: Session, result: Result) => {
    session.cursors.add({ ...declared, sinceUs: nowUs(), columns, result, position: 0, serial: 0 })
    return done('DECLARE CURSOR')
  }
  return {
    parameters: query.parameters,
    columns: undefined,
    ...(query.heldBytes !== undefined && { heldBytes: query.heldBytes }),
    run(session, values) {
      if (!declared.isHeld && session.transaction.status === 'I')
        throw new SqlError('25P01', 'DECLARE CURSOR can only be used in transaction blocks')
      // Before ids are drawn.
      session.cursors.demandFree(declared.name)
      const result = query.run(session, values)
      return result instanceof Promise
        ? result.then((settled) => keep(session, settled))
        : keep(session, result)
    },
  }
}

/** FETCH and MOVE. */
export function readFetch({ direction, howMany, portalname: name = '', ismove }: FetchStmt): Statement {
  const way = wayOf(direction, Number(howMany ?? 0))
  if (ismove)
    return {
      parameters: [],
      columns: undefined,
      run: ({ cursors }) => done(`MOVE ${moveFrom(cursors.get(name), way)}`),
    }
  return {
    parameters: [],
    columns: [],
    columnsIn: ({ cursors }) => cursors.get(name).columns,
    run: ({ cursors }, _, formats) => fetchFrom(cursors.get(name), way, formats),
  }
}

function wayOf(direction: FetchStmt['direction'], howMany: number): Direction {
  if (direction === 'FETCH_ABSOLUTE') return { kind: 'to', row: howMany }
  if (direction === 'FETCH_RELATIVE') return { kind: 'step', row: howMany }
  const count = howMany === all ? Number.POSITIVE_INFINITY : howMany
  return { kind: 'by', count: direction === 'FETCH_BACKWARD' ? -count : count }
}

/** CLOSE. */
export function readClose({ portalname: name }: ClosePortalStmt): Statement {
  if (name === undefined) return command('CLOSE CURSOR ALL', ({ cursors }) => cursors.clear())
  return command('CLOSE CURSOR', ({ cursors }) => cursors.close(name))
}
