/** PREPARE and EXECUTE of SQL. https://www.postgresql.org/docs/15/sql-prepare.html */
import type { ExecuteStmt, Node, PrepareStmt } from 'libpg-query'
import { notSupported } from './errors.ts'
import { keyOfName } from './prepared-statements.ts'
import { typeNamedBy } from './query/expressions.ts'
import { refused } from './query/tree.ts'
import { queryIn } from './query-text.ts'
import type { ParameterValue } from './result.ts'
import type { PreparedStatement, Session, Statement } from './session.ts'
import { textOfConstant } from './setting-statements.ts'
import { SqlError } from './sql-error.ts'
import { command } from './statement.ts'

/** About what the type of a parameter takes, in bytes. */
const typeBytes = 8

/** PREPARE. @param compileQuery compiles its query. */
export function readPrepare(
  prepare: PrepareStmt,
  text: string,
  compileQuery: (declared: readonly number[]) => Statement | Promise<Statement>,
): Statement | Promise<Statement> {
  if (queryIn({ PrepareStmt: prepare }) === undefined) throw refused('PREPARE of such a statement')
  const { name = '', argtypes = [] } = prepare
  const given = argtypes.map(typeOf)
  const query = compileQuery(given)
  const preparing = (statement: Statement): Statement => {
    const count = Math.max(given.length, statement.parameters.length)
    const types = Array.from({ length: count }, (_, index) => given[index] || statement.parameters[index]!)
    const heldBytes = (statement.heldBytes ?? 0) + types.length * typeBytes
    const prepared = { statement, types, bytes: Buffer.byteLength(text), heldBytes }
    return { ...command('PREPARE', (session) => session.prepared.add(keyOfName(name), prepared)), heldBytes }
  }
  return query instanceof Promise ? query.then(preparing) : preparing(query)
}

/** The oid of a type. A length changes nothing of a parameter. */
function typeOf(node: Node): number {
  if (!('TypeName' in node)) throw refused('This form of a type')
  const { typmods: _, ...type } = node.TypeName
  return typeNamedBy(type)
}

/** EXECUTE. */
export function readExecute({ name = '', params = [] }: ExecuteStmt): Statement {
  const values = params.map(parameterOf)
  const find = (session: Session) => found(session, name)
  return {
    parameters: [],
    columns: undefined,
    columnsIn: (session) => find(session).statement?.columns,
    run(session, _, formats) {
      const { statement, types } = find(session)
      if (types.length !== values.length)
        throw new SqlError('42601', `wrong number of parameters for prepared statement "${name}"`, {
          detail: `Expected ${types.length} parameters but got ${values.length}.`,
        })
      return statement!.run(session, values, formats)
    },
  }
}

function found({ prepared }: Session, name: string): PreparedStatement {
  const statement = prepared.get(keyOfName(name))
  if (statement?.statement === undefined)
    throw new SqlError('26000', `prepared statement "${name}" does not exist`)
  return statement
}

/** A constant, with casts that change nothing of its text. */
function parameterOf(node: Node): ParameterValue {
  if ('A_Const' in node) return textOfConstant(node.A_Const)
  if ('TypeCast' in node && node.TypeCast.arg !== undefined) return parameterOf(node.TypeCast.arg)
  throw notSupported('EXECUTE takes constants only', 'Write the value of the expression.')
}
