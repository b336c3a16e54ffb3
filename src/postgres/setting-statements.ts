/** SET, SHOW, RESET, DISCARD, DEALLOCATE and their kin: the state of a session. */
import type {
  A_Const,
  DeallocateStmt,
  DiscardStmt,
  Node,
  VariableSetStmt,
  VariableShowStmt,
} from 'libpg-query'
import { notSupported } from './errors.ts'
import { keyOfName } from './prepared-statements.ts'
import { quoteIdentifier } from './query/quoting.ts'
import { namesOf, refused } from './query/tree.ts'
import { type Formats, type Result, writeRow } from './result.ts'
import type { Statement } from './session.ts'
import { unknownParameter } from './settings.ts'
import { SqlError } from './sql-error.ts'
import { command } from './statement.ts'
import { modesOf } from './transaction-statements.ts'
import { types } from './values.ts'

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
      if (name === 'TRANSACTION') return setModes(modesOf(args), '', true)
      if (name === 'SESSION CHARACTERISTICS') return setModes(modesOf(args), 'default_', false)
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
  // Its values are names.
  const written = name === 'search_path' ? values.map(quoteIdentifier) : values
  return setting(name, written.join(', '), isLocal)
}

function setting(name: string, value: string | undefined, isLocal: boolean): Statement {
  return command('SET', (session) => {
    if (isLocal && session.transaction.status === 'I')
      return session.notice('WARNING', '25P01', 'SET LOCAL can only be used in transaction blocks')
    session.settings.set(name, value, isLocal)
  })
}

function setModes(modes: ReturnType<typeof modesOf>, prefix: string, isLocal: boolean): Statement {
  return command('SET', (session) => {
    if (isLocal && session.transaction.status === 'I')
      return session.notice('WARNING', '25P01', 'SET TRANSACTION can only be used in transaction blocks')
    for (const [name, value] of modes) session.settings.set(prefix + name, value, isLocal)
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
export function textOfConstant({ isnull, sval, ival, fval, boolval, bsval }: A_Const): string | null {
  if (isnull) return null
  if (sval !== undefined) return sval.sval ?? ''
  if (fval !== undefined) return fval.fval ?? ''
  if (boolval !== undefined) return String(boolval.boolval ?? false)
  if (bsval !== undefined) throw refused('A string of bits')
  return String(ival?.ival ?? 0)
}

/** `'+08:30' HOUR TO MINUTE` behind INTERVAL: a zone in the form of POSIX, whose sign is the other way round. */
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
    columns: textColumns(columnNames.get(name.toLowerCase()) ?? name),
    run({ settings }, _, formats) {
      const value = settings.get(name)
      if (value === undefined) throw unknownParameter(name)
      return shown([[value]], formats)
    },
  }
}

/** The names that have capital letters. */
const columnNames: ReadonlyMap<string, string> = new Map(
  ['DateStyle', 'IntervalStyle', 'TimeZone'].map((name) => [name.toLowerCase(), name]),
)

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
  return names.map((name) => ({ name, type: types.text }))
}

function shown(rows: readonly (readonly string[])[], formats: Formats = []): Result {
  return {
    tag: 'SHOW',
    count: rows.length,
    write: (output, row) =>
      writeRow(
        output,
        rows[row]!.map(() => types.text),
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
    if (!prepared.delete(keyOfName(name)))
      throw new SqlError('26000', `prepared statement "${name}" does not exist`)
  })
}
