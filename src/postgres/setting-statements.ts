/** SET, SHOW, RESET, DISCARD, DEALLOCATE and their kin: the state of a session. */
import { notSupported } from './errors.ts'
import type { Reader } from './reader.ts'
import { resultOf } from './result.ts'
import type { Session, Statement } from './session.ts'
import { unknownParameter } from './settings.ts'
import { quoteIdentifier } from './sql/quoting.ts'
import { SqlError } from './sql/sql-error.ts'
import { command } from './statement.ts'
import { readModes } from './transaction-statements.ts'
import { types } from './values.ts'

/** Reads a statement that begins with `first`, which was taken; undefined: it is about something else. */
export function readSettingStatement(first: string, reader: Reader): Statement | undefined {
  switch (first) {
    case 'set':
      return readSet(reader)
    case 'show':
      return readShow(reader)
    case 'reset':
      return readReset(reader)
    case 'discard':
      return readDiscard(reader)
    case 'deallocate':
      return readDeallocate(reader)
    case 'unlisten':
      if (!reader.symbol('*')) reader.identifier()
      return command('UNLISTEN', () => {})
    default:
      return undefined
  }
}

function readSet(reader: Reader): Statement {
  const isLocal = reader.words('local')
  if (!isLocal && reader.words('session', 'characteristics', 'as', 'transaction'))
    return setModes(readModes(reader), 'default_transaction_', false)
  if (reader.words('session', 'authorization')) {
    if (reader.words('default')) return setting('session_authorization', undefined, false)
    throw notSupported('SET SESSION AUTHORIZATION is not supported', 'Connect as the other user.')
  }
  const { mark } = reader
  if (!isLocal && reader.words('session') && (reader.token.text === '=' || reader.token.text === 'to'))
    reader.reset(mark)
  if (reader.words('transaction')) return setModes(readModes(reader), 'transaction_', true)
  if (reader.words('time', 'zone')) return setting('TimeZone', readZone(reader), isLocal)
  if (reader.words('names'))
    return setting('client_encoding', reader.words('default') ? undefined : readValue(reader), isLocal)
  const beforeSchema = reader.mark
  if (reader.words('schema')) {
    const schema = reader.typed('string')
    if (schema !== undefined) return setting('search_path', quoteIdentifier(schema), isLocal)
    reader.reset(beforeSchema)
  }
  if (reader.words('role')) {
    if (reader.words('none')) return setting('role', undefined, isLocal)
    throw notSupported('SET ROLE is not supported', 'Connect as the other user.')
  }
  const name = readSettingName(reader)
  if (!reader.words('to')) reader.demandSymbol('=')
  if (reader.words('default')) return setting(name, undefined, isLocal)
  const values = [readValue(reader)]
  while (reader.symbol(',')) values.push(readValue(reader))
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

function setModes(modes: ReturnType<typeof readModes>, prefix: string, isLocal: boolean): Statement {
  return command('SET', (session) => {
    if (isLocal && session.transaction.status === 'I')
      return session.notice('WARNING', '25P01', 'SET TRANSACTION can only be used in transaction blocks')
    for (const [name, value] of modes) session.settings.set(prefix + name, value, isLocal)
  })
}

function readZone(reader: Reader): string | undefined {
  if (reader.words('default') || reader.words('local')) return undefined
  if (reader.words('interval')) return readOffset(reader)
  return readValue(reader)
}

/** `'+08:30' HOUR TO MINUTE` behind INTERVAL: a zone in the form of POSIX, whose sign is the other way round. */
function readOffset(reader: Reader): string {
  const text = reader.typed('string')
  if (text === undefined) throw reader.error()
  if (reader.words('hour') && reader.words('to')) reader.demandWords('minute')
  const [, sign = '', hours = '', minutes = '00'] = /^([+-]?)(\d{1,2})(?::([0-5]\d))?$/.exec(text) ?? []
  if (hours === '')
    throw new SqlError(
      '22023',
      `invalid interval for a time zone: "${text}"; give hours and minutes as '+08:00'`,
    )
  const offset = `${hours.padStart(2, '0')}${minutes === '00' ? '' : `:${minutes}`}`
  return sign === '-' ? `<-${offset}>+${offset}` : `<+${offset}>-${offset}`
}

function readSettingName(reader: Reader): string {
  const parts = [reader.shortName()]
  while (reader.symbol('.')) parts.push(reader.shortName())
  return parts.join('.')
}

/** A word, a string or a number. */
function readValue(reader: Reader): string {
  const sign = reader.symbol('-') ? '-' : ''
  const text =
    reader.typed('number') ??
    (sign === '' ? (reader.typed('string') ?? reader.typed('name') ?? reader.typed('quoted')) : undefined)
  if (text === undefined) throw reader.error()
  return sign + text
}

function readShow(reader: Reader): Statement {
  if (reader.words('all')) return showAll
  if (reader.words('time', 'zone')) return show('TimeZone')
  if (reader.words('transaction', 'isolation', 'level')) return show('transaction_isolation')
  if (reader.words('session', 'authorization')) return show('session_authorization')
  return show(readSettingName(reader))
}

function show(name: string): Statement {
  return {
    parameters: [],
    // Names of parameters are the same in each session, but for those that a session has made.
    columns: [{ name: columnNames.get(name.toLowerCase()) ?? name, type: types.text }],
    run({ settings }) {
      const value = settings.get(name)
      if (value === undefined) throw unknownParameter(name)
      return resultOf([types.text], [[value]], 'SHOW')
    },
  }
}

/** The names that have capital letters. */
const columnNames: ReadonlyMap<string, string> = new Map(
  ['DateStyle', 'IntervalStyle', 'TimeZone'].map((name) => [name.toLowerCase(), name]),
)

const showAll: Statement = {
  parameters: [],
  columns: ['name', 'setting', 'description'].map((name) => ({ name, type: types.text })),
  run: ({ settings }) =>
    resultOf(
      [types.text, types.text, types.text],
      settings.all().map(([name, value]) => [name, value, '']),
      'SHOW',
    ),
}

function readReset(reader: Reader): Statement {
  if (reader.words('all')) return command('RESET', ({ settings }) => settings.resetAll())
  const name = reader.words('session', 'authorization')
    ? 'session_authorization'
    : reader.words('time', 'zone')
      ? 'TimeZone'
      : readSettingName(reader)
  return command('RESET', ({ settings }) => settings.set(name, undefined))
}

function readDiscard(reader: Reader): Statement {
  const what = reader.oneOf('all', 'plans', 'sequences', 'temporary', 'temp')
  if (what === undefined) throw reader.error()
  if (what === 'sequences') return command('DISCARD SEQUENCES', ({ drawn }) => drawn.clear())
  if (what !== 'all') return command(`DISCARD ${what === 'plans' ? 'PLANS' : 'TEMP'}`, () => {})
  return command('DISCARD ALL', (session) => {
    if (session.transaction.status !== 'I')
      throw new SqlError('25001', 'DISCARD ALL cannot run inside a transaction block')
    session.discard()
  })
}

function readDeallocate(reader: Reader): Statement {
  reader.words('prepare')
  if (reader.words('all')) return command('DEALLOCATE ALL', ({ prepared }) => prepared.clear())
  const name = reader.shortName()
  return command('DEALLOCATE', (session: Session) => {
    // Names of messages are kept as Latin-1: each character is a byte.
    if (!session.prepared.delete(Buffer.from(name).toString('latin1')))
      throw new SqlError('26000', `prepared statement "${name}" does not exist`)
  })
}
