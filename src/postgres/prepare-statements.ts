/** PREPARE and EXECUTE of SQL. https://www.postgresql.org/docs/15/sql-prepare.html */
import { notSupported } from './errors.ts'
import type { Reader } from './reader.ts'
import type { ParameterValue } from './result.ts'
import type { PreparedStatement, Session, Statement } from './session.ts'
import { SqlError } from './sql/sql-error.ts'
import { typeOfText } from './sql/text-input.ts'
import { command } from './statement.ts'
import { twoPhase } from './transaction-statements.ts'

/** About what the type of a parameter takes, in bytes. */
const typeBytes = 8

/** Reads a statement that begins with `first`, which was taken; undefined: it is about something else. @param readQuery reads the rest as a query. */
export function readPrepareStatement(
  first: string,
  reader: Reader,
  readQuery: (reader: Reader, parameterTypes: readonly number[]) => Statement,
): Statement | undefined {
  if (first === 'prepare') return readPrepare(reader, readQuery)
  return first === 'execute' ? readExecute(reader) : undefined
}

function readPrepare(
  reader: Reader,
  readQuery: (reader: Reader, parameterTypes: readonly number[]) => Statement,
): Statement {
  const word = reader.shortName()
  if (word === 'transaction' && reader.token.kind === 'string') throw twoPhase()
  const name = keyOf(word)
  const given: number[] = []
  if (reader.symbol('(')) {
    do given.push(readType(reader))
    while (reader.symbol(','))
    reader.demandSymbol(')')
  }
  reader.demandWords('as')
  const { at } = reader.token
  const statement = readQuery(reader, given)
  const bytes = reader.token.at - at
  const count = Math.max(given.length, statement.parameters.length)
  const types = Array.from({ length: count }, (_, index) => given[index] ?? statement.parameters[index]!)
  const heldBytes = (statement.heldBytes ?? 0) + types.length * typeBytes
  const prepare = command('PREPARE', ({ prepared }) =>
    prepared.add(name, { statement, types, bytes, heldBytes }),
  )
  return { ...prepare, heldBytes }
}

/** The oid of a type: one or several words, a length, and brackets. */
function readType(reader: Reader): number {
  let text = ''
  let depth = 0
  while (!reader.isDone && (depth > 0 || !/^[,)]$/.test(reader.token.text))) {
    const { text: part } = reader.take()
    if (part === '(') depth++
    if (part === ')') depth--
    text += ` ${part}`
  }
  return typeOfText(text.trim().replace(/ (?=[[\]])/g, ''))
}

function readExecute(reader: Reader): Statement {
  const name = reader.shortName()
  const values: ParameterValue[] = []
  if (reader.symbol('(')) {
    do values.push(readValue(reader))
    while (reader.symbol(','))
    if (reader.token.kind === 'operator' && reader.token.text !== ')') throw constantsOnly()
    reader.demandSymbol(')')
  }
  const find = (session: Session) => found(session, name)
  return {
    parameters: [],
    columns: undefined,
    columnsIn: (session) => find(session).statement?.columns,
    run(session) {
      const { statement, types } = find(session)
      if (types.length !== values.length)
        throw new SqlError('42601', `wrong number of parameters for prepared statement "${name}"`, {
          detail: `Expected ${types.length} parameters but got ${values.length}.`,
        })
      return statement!.run(session, values)
    },
  }
}

function found({ prepared }: Session, name: string): PreparedStatement {
  const statement = prepared.get(keyOf(name))
  if (statement?.statement === undefined)
    throw new SqlError('26000', `prepared statement "${name}" does not exist`)
  return statement
}

/** A constant, with casts that change nothing of its text. */
function readValue(reader: Reader): ParameterValue {
  const value = readConstant(reader)
  while (reader.symbol('::')) {
    reader.identifier()
    if (reader.symbol('[')) reader.demandSymbol(']')
  }
  return value
}

function readConstant(reader: Reader): ParameterValue {
  const word = reader.oneOf('null', 'true', 'false')
  if (word !== undefined) return word === 'null' ? null : word
  const sign = reader.symbol('-') ? '-' : ''
  const text = reader.typed('number') ?? (sign === '' ? reader.typed('string') : undefined)
  if (text === undefined) throw constantsOnly()
  return sign + text
}

function constantsOnly(): Error {
  return notSupported('EXECUTE takes constants only', 'Write the value of the expression.')
}

/** Names of messages are kept as Latin-1: each character is a byte. */
function keyOf(name: string): string {
  return Buffer.from(name).toString('latin1')
}
