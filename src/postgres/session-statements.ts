/**
 * What is about the session: transactions, settings, cursors, prepared statements.
 * https://www.postgresql.org/docs/15/sql-commands.html
 */
import type {
  A_Const,
  ClosePortalStmt,
  DeallocateStmt,
  DeclareCursorStmt,
  DiscardStmt,
  ExecuteStmt,
  FetchStmt,
  Node,
  PrepareStmt,
  TransactionStmt,
  VariableSetStmt,
  VariableShowStmt,
} from 'libpg-query'
import { type Direction, fetchFrom, moveFrom } from './cursors.ts'
import { notSupported } from './errors.ts'
import { typeNamedBy } from './query/analyse-expression.ts'
import { quoteIdentifier } from './query/quoting.ts'
import { namesOf, refused } from './query/tree.ts'
import { oids } from './query/types.ts'
import { queryIn } from './query-text.ts'
import { after, done, type Formats, type ParameterValue, type Result, writeRow } from './result.ts'
import { nowUs } from './sequence-lists.ts'
import { command, type PreparedStatement, type Session, type Statement } from './session.ts'
import { nameOfParameter, unknownParameter } from './session-settings.ts'
import { SqlError } from './sql-error.ts'

/** BEGIN, COMMIT, ROLLBACK and savepoints. */
export function readTransaction({
  kind,
  options,
  savepoint_name: name = '',
  chain = false,
}: TransactionStmt): Statement {
  const runsAfterError = { runsAfterError: true } as const
  switch (kind) {
    case 'TRANS_STMT_BEGIN':
    case 'TRANS_STMT_START': {
      const modes = modesOf(options)
      return command(kind === 'TRANS_STMT_BEGIN' ? 'BEGIN' : 'START TRANSACTION', (session) => {
        session.transaction.begin()
        for (const [mode, value] of modes) session.settings.set(mode, value, true)
      })
    }
    case 'TRANS_STMT_COMMIT':
      return command(({ transaction }) => transaction.commit(chain), undefined, runsAfterError)
    case 'TRANS_STMT_ROLLBACK':
      return command(({ transaction }) => transaction.rollback(chain), undefined, runsAfterError)
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
function modesOf(nodes: readonly Node[] = []): readonly (readonly [name: string, value: string])[] {
  return nodes.flatMap((node) => {
    if (!('DefElem' in node)) return []
    const { defname = '', arg } = node.DefElem
    if (arg === undefined || !('A_Const' in arg)) return []
    const { sval, ival } = arg.A_Const
    return [[defname, sval?.sval ?? (ival?.ival ? 'on' : 'off')]]
  })
}

/** SET and RESET. */
export function readSet({
  kind,
  name: given = '',
  args = [],
  is_local: isLocal = false,
}: VariableSetStmt): Statement {
  const name = given === 'timezone' ? 'TimeZone' : given
  switch (kind) {
    case 'VAR_RESET_ALL':
      return command('RESET', ({ settings }) => settings.resetAll())
    case 'VAR_RESET':
      return command('RESET', ({ settings }) => settings.set(name, undefined))
    case 'VAR_SET_DEFAULT':
      return setting(name, undefined, isLocal)
    case 'VAR_SET_MULTI':
      if (name === 'TRANSACTION') return settingAll('SET TRANSACTION', modesOf(args), true)
      if (name === 'SESSION CHARACTERISTICS')
        return settingAll(
          'SET',
          modesOf(args).map(([mode, value]) => [`default_${mode}`, value]),
          false,
        )
      throw notSupported(`SET ${name} is not supported`)
    case 'VAR_SET_VALUE':
      return setValues(name, args.map(textOfValueNode), isLocal)
    default:
      throw notSupported('SET … FROM CURRENT is not supported')
  }
}

function setValues(name: string, values: readonly string[], isLocal: boolean): Statement {
  if (name === 'session_authorization')
    throw notSupported('SET SESSION AUTHORIZATION is not supported', 'Connect as the other user.')
  if (name === 'role') {
    if (values[0] === 'none') return setting('role', undefined, isLocal)
    throw notSupported('SET ROLE is not supported', 'Connect as the other user.')
  }
  // search_path lists names.
  const written = name === 'search_path' ? values.map(quoteIdentifier) : values
  return setting(name, written.join(', '), isLocal)
}

function setting(name: string, value: string | undefined, isLocal: boolean): Statement {
  return settingAll('SET LOCAL', [[name, value]], isLocal)
}

function settingAll(
  what: string,
  values: readonly (readonly [name: string, value: string | undefined])[],
  isLocal: boolean,
): Statement {
  return command('SET', (session) => {
    if (isLocal && session.transaction.status === 'I')
      return session.notice('WARNING', '25P01', `${what} can only be used in transaction blocks`)
    for (const [name, value] of values) session.settings.set(name, value, isLocal)
  })
}

/** A word, a string or a number; or the offset of a time zone. */
function textOfValueNode(node: Node): string {
  if ('A_Const' in node) return textOfConstant(node.A_Const) ?? ''
  if ('TypeCast' in node) {
    const { arg, typeName } = node.TypeCast
    if (namesOf(typeName?.names).at(-1) === 'interval' && arg && 'A_Const' in arg)
      return offsetOf(textOfConstant(arg.A_Const) ?? '')
  }
  throw refused('This value of a parameter')
}

/** The text of a constant; null: NULL. */
function textOfConstant({ isnull, sval, ival, fval, boolval, bsval }: A_Const): string | null {
  if (isnull) return null
  if (sval !== undefined) return sval.sval ?? ''
  if (fval !== undefined) return fval.fval ?? ''
  if (boolval !== undefined) return String(boolval.boolval ?? false)
  if (bsval !== undefined) throw refused('A string of bits')
  return String(ival?.ival ?? 0)
}

/** `'+08:30' HOUR TO MINUTE` behind INTERVAL: a zone in the form of POSIX, whose sign is the opposite. */
function offsetOf(text: string): string {
  const [, sign = '', hours = '', minutes = '00'] = /^([+-]?)(\d{1,2})(?::([0-5]\d))?$/.exec(text) ?? []
  if (hours === '')
    throw new SqlError(
      '22023',
      `invalid interval for a time zone: "${text}"; give hours and minutes as '+08:00'`,
    )
  const offset = `${hours.padStart(2, '0')}${minutes === '00' ? '' : `:${minutes}`}`
  return sign === '-' ? `<-${offset}>+${offset}` : `<+${offset}>-${offset}`
}

/** SHOW. */
export function readShow({ name = '' }: VariableShowStmt): Statement {
  if (name === 'all') return showAll
  return {
    parameters: [],
    // Names of parameters are the same in each session, but for those that a session has made.
    columns: textColumns(nameOfParameter(name)),
    run({ settings }, _, formats) {
      const value = settings.get(name)
      if (value === undefined) throw unknownParameter(name)
      return shown([[value]], formats)
    },
  }
}

const showAll: Statement = {
  parameters: [],
  columns: textColumns('name', 'setting', 'description'),
  run: ({ settings }, _, formats) =>
    shown(
      settings.all().map(([name, value]) => [name, value, '']),
      formats,
    ),
}

function textColumns(...names: readonly string[]) {
  return names.map((name) => ({ name, type: oids.text }))
}

function shown(rows: readonly (readonly string[])[], formats: Formats = []): Result {
  return {
    tag: 'SHOW',
    count: rows.length,
    write: (output, row) =>
      writeRow(
        output,
        rows[row]!.map(() => oids.text),
        formats,
        (column) => rows[row]![column]!,
      ),
  }
}

/** DISCARD. */
export function readDiscard({ target }: DiscardStmt): Statement {
  if (target === 'DISCARD_SEQUENCES') return command('DISCARD SEQUENCES', ({ drawn }) => drawn.clear())
  if (target !== 'DISCARD_ALL')
    return command(target === 'DISCARD_PLANS' ? 'DISCARD PLANS' : 'DISCARD TEMP', () => {})
  return command('DISCARD ALL', (session) => {
    if (session.transaction.status !== 'I')
      throw new SqlError('25001', 'DISCARD ALL cannot run inside a transaction block')
    session.discard()
  })
}

/** DEALLOCATE. */
export function readDeallocate({ isall, name = '' }: DeallocateStmt): Statement {
  if (isall) return command('DEALLOCATE ALL', ({ prepared }) => prepared.clear())
  return command('DEALLOCATE', ({ prepared }) => {
    if (!prepared.delete(name)) throw new SqlError('26000', `prepared statement "${name}" does not exist`)
  })
}

/** PostgreSQL's bits of the options of DECLARE (`src/include/nodes/parsenodes.h`). */
const option = { binary: 0x1, noScroll: 0x4, hold: 0x20 }
/** How the parser writes ALL. */
const all = 2 ** 31 - 1

/** DECLARE. @param compileQuery compiles its query. */
export function readDeclare(
  { portalname: name = '', options = 0 }: DeclareCursorStmt,
  text: string,
  compileQuery: () => Statement | Promise<Statement>,
): Statement | Promise<Statement> {
  if ((options & option.binary) !== 0)
    throw notSupported('BINARY cursors are not supported', 'Ask for binary values in Bind.')
  const isForward = (options & option.noScroll) !== 0
  const isHeld = (options & option.hold) !== 0
  const declare = ({ columns = [], parameters, heldBytes, run }: Statement): Statement => ({
    parameters,
    columns: undefined,
    ...(heldBytes !== undefined && { heldBytes }),
    run(session, values) {
      const { cursors, transaction } = session
      if (!isHeld && transaction.status === 'I')
        throw new SqlError('25P01', 'DECLARE CURSOR can only be used in transaction blocks')
      // Before ids are drawn.
      cursors.demandFree(name)
      return after(run(session, values), (result) => {
        const facts = { name, text: text.trim(), isForward, isHeld, sinceUs: nowUs() }
        cursors.add({ facts, columns, result, position: 0, serial: 0 })
        return done('DECLARE CURSOR')
      })
    },
  })
  return after(compileQuery(), declare)
}

/** FETCH and MOVE. */
export function readFetch({ direction, howMany, portalname: name = '', ismove }: FetchStmt): Statement {
  const way = wayOf(direction, Number(howMany ?? 0))
  if (ismove) return command(({ cursors }) => `MOVE ${moveFrom(cursors.get(name), way)}`)
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
  const preparing = (statement: Statement): Statement => {
    const count = Math.max(given.length, statement.parameters.length)
    const types = Array.from({ length: count }, (_, index) => given[index] || statement.parameters[index]!)
    const heldBytes = (statement.heldBytes ?? 0) + types.length * typeBytes
    const prepared = { statement, types, bytes: Buffer.byteLength(text), heldBytes }
    return { ...command('PREPARE', (session) => session.prepared.add(name, prepared)), heldBytes }
  }
  return after(compileQuery(given), preparing)
}

/** The oid of a type. A length changes nothing of a parameter. */
function typeOf(node: Node): number {
  if (!('TypeName' in node)) throw refused('This form of a type')
  const { typmods: _, ...type } = node.TypeName
  return typeNamedBy(type)
}

/** EXECUTE. */
export function readExecute({ name = '', params = [] }: ExecuteStmt): Statement {
  const values = params.map(constantOf)
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
  const statement = prepared.get(name)
  if (statement?.statement === undefined)
    throw new SqlError('26000', `prepared statement "${name}" does not exist`)
  return statement
}

/** A constant, with casts that change nothing of its text. */
function constantOf(node: Node): ParameterValue {
  if ('A_Const' in node) return textOfConstant(node.A_Const)
  if ('TypeCast' in node && node.TypeCast.arg !== undefined) return constantOf(node.TypeCast.arg)
  throw notSupported('EXECUTE takes constants only', 'Write the value of the expression.')
}
