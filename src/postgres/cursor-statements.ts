/** DECLARE, FETCH, MOVE and CLOSE. https://www.postgresql.org/docs/15/sql-fetch.html */
import { type Direction, fetchFrom, moveFrom } from './cursors.ts'
import { notSupported } from './errors.ts'
import { nowUs } from './postgres-time.ts'
import type { Reader } from './reader.ts'
import { done, type Result } from './result.ts'
import type { Session, Statement } from './session.ts'
import { SqlError } from './sql/sql-error.ts'
import { command } from './statement.ts'

/** Reads a statement that begins with `first`, which was taken; undefined: it is about something else. @param readQuery reads the rest as a query. */
export function readCursorStatement(
  first: string,
  reader: Reader,
  readQuery: (reader: Reader) => Statement,
): Statement | undefined {
  if (first === 'declare') return readDeclare(reader, readQuery)
  if (first === 'fetch') return readFetch(reader)
  if (first === 'move') return readMove(reader)
  if (first !== 'close') return undefined
  if (reader.words('all')) return command('CLOSE CURSOR ALL', ({ cursors }) => cursors.clear())
  const name = reader.shortName()
  return command('CLOSE CURSOR', ({ cursors }) => cursors.close(name))
}

function readDeclare(reader: Reader, readQuery: (reader: Reader) => Statement): Statement {
  const name = reader.shortName()
  let isForward = false
  for (let word = readOption(reader); word !== undefined; word = readOption(reader)) {
    if (word === 'binary')
      throw notSupported('BINARY cursors are not supported', 'Ask for binary values in Bind.')
    if (word === 'no') {
      reader.demandWords('scroll')
      isForward = true
    }
  }
  reader.demandWords('cursor')
  const isHeld = reader.words('with', 'hold')
  if (!isHeld) reader.words('without', 'hold')
  reader.demandWords('for')
  const query = readQuery(reader)
  const columns = query.columns ?? []
  const text = reader.text
  const keep = (session: Session, result: Result) => {
    session.cursors.add({
      name,
      text,
      isHeld,
      isForward,
      sinceUs: nowUs(),
      columns,
      result,
      position: 0,
      serial: 0,
    })
    return done('DECLARE CURSOR')
  }
  return {
    parameters: query.parameters,
    columns: undefined,
    ...(query.heldBytes !== undefined && { heldBytes: query.heldBytes }),
    run(session, values) {
      if (!isHeld && session.transaction.status === 'I')
        throw new SqlError('25P01', 'DECLARE CURSOR can only be used in transaction blocks')
      // Before ids are drawn.
      session.cursors.demandFree(name)
      const result = query.run(session, values)
      return result instanceof Promise
        ? result.then((settled) => keep(session, settled))
        : keep(session, result)
    },
  }
}

function readOption(reader: Reader): string | undefined {
  return reader.oneOf('binary', 'insensitive', 'asensitive', 'no', 'scroll')
}

function readFetch(reader: Reader): Statement {
  const { direction, name } = readWay(reader)
  return {
    parameters: [],
    columns: [],
    columnsIn: ({ cursors }) => cursors.get(name).columns,
    run: ({ cursors }) => fetchFrom(cursors.get(name), direction),
  }
}

function readMove(reader: Reader): Statement {
  const { direction, name } = readWay(reader)
  return {
    parameters: [],
    columns: undefined,
    run: ({ cursors }) => done(`MOVE ${moveFrom(cursors.get(name), direction)}`),
  }
}

/** `[direction] [FROM | IN] name`. A name may be one of the words of a direction. */
function readWay(reader: Reader): { readonly direction: Direction; readonly name: string } {
  const { mark } = reader
  const direction = readDirection(reader)
  if (direction !== undefined) {
    reader.oneOf('from', 'in')
    const { kind } = reader.token
    if (kind === 'name' || kind === 'quoted') return { direction, name: reader.shortName() }
  }
  reader.reset(mark)
  reader.oneOf('from', 'in')
  return { direction: { kind: 'by', count: 1 }, name: reader.shortName() }
}

function readDirection(reader: Reader): Direction | undefined {
  if (reader.words('next')) return { kind: 'by', count: 1 }
  if (reader.words('prior')) return { kind: 'by', count: -1 }
  if (reader.words('first')) return { kind: 'to', row: 1 }
  if (reader.words('last')) return { kind: 'to', row: -1 }
  if (reader.words('absolute')) return { kind: 'to', row: Number(reader.integer()) }
  if (reader.words('relative')) return { kind: 'step', row: Number(reader.integer()) }
  if (reader.words('forward')) return { kind: 'by', count: readCount(reader) ?? 1 }
  if (reader.words('backward')) return { kind: 'by', count: -(readCount(reader) ?? 1) }
  const count = readCount(reader)
  return count === undefined ? undefined : { kind: 'by', count }
}

function readCount(reader: Reader): number | undefined {
  if (reader.words('all')) return Number.POSITIVE_INFINITY
  const { kind, text } = reader.token
  const isNumber = kind === 'number' || (kind === 'operator' && (text === '-' || text === '+'))
  return isNumber ? Number(reader.integer()) : undefined
}
