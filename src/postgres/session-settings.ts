/**
 * The parameters of a session, for SET, SHOW and ParameterStatus: those that drivers read and set. Few have an effect; the
 * others keep the value that the client has given.
 * https://www.postgresql.org/docs/15/runtime-config-client.html
 *
 * Invariants
 *  1. What a transaction has set is undone when it rolls back; what it has set with LOCAL, when it ends.
 *  2. At most `customMax` values differ from their defaults, of at most `valueMax` characters each; names that are the
 *     client's own have at most `nameMax`.
 *  3. `changes` grows with each change of a value.
 */
import { SqlError } from './sql-error.ts'

const customMax = 200
const valueMax = 4096
const nameMax = 256
/** About what is held for each value, and for each character of it and of its name, in bytes. */
const heldPer = Object.freeze({ value: 64, character: 2 })

type Parameter = {
  /** The name as SHOW ALL and ParameterStatus write it. */
  readonly name: string
  readonly value: string
  /** Whether clients are told each change. */
  readonly reported?: true
  /** Cannot be set. */
  readonly fixed?: true
  /** The value to keep for a given one. Throws 22023 if it has no meaning here. */
  readonly read?: (given: string, name: string) => string
}

const onOff = (given: string, name: string): string => {
  const word = given.toLowerCase()
  if (['on', 'true', 'yes', '1', 't', 'y'].includes(word)) return 'on'
  if (['off', 'false', 'no', '0', 'f', 'n'].includes(word)) return 'off'
  throw new SqlError('22023', `parameter "${name}" requires a Boolean value`)
}
const only =
  (...values: readonly string[]) =>
  (given: string, name: string): string => {
    const plain = given.toLowerCase().replaceAll(/[-_ ]/g, '')
    const found = values.find((value) => value.toLowerCase().replaceAll(/[-_ ]/g, '') === plain)
    if (found !== undefined) return found
    throw new SqlError('22023', `invalid value for parameter "${name}": "${given}"`, {
      hint: `This server knows ${values.join(', ')}.`,
    })
  }
const encoding = (given: string, name: string): string => {
  // asyncpg writes it with quotes.
  const plain = given.toLowerCase().replaceAll(/[-_ '"]/g, '')
  if (plain === 'utf8' || plain === 'unicode') return 'UTF8'
  if (plain === 'sqlascii') return 'SQL_ASCII'
  throw new SqlError('22023', `invalid value for parameter "${name}": "${given}"`, {
    hint: 'This server speaks UTF8 only; set client_encoding to UTF8.',
  })
}
/** The units of times in ms, the largest first. */
const units: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  min: 60_000,
  s: 1000,
  ms: 1,
  us: 0.001,
}
const durationMaxMs = 2 ** 31 - 1
/** A time in ms, or with a unit; it is shown in the largest unit that has no fraction. */
const duration = (given: string, name: string): string => {
  const [, number, unit = 'ms'] =
    /^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(us|ms|s|min|h|d)?\s*$/i.exec(given) ?? []
  const factor = units[unit]
  if (number === undefined || factor === undefined)
    throw new SqlError('22023', `invalid value for parameter "${name}": "${given}"`, {
      hint: 'Valid units for this parameter are "us", "ms", "s", "min", "h", and "d".',
    })
  const ms = Math.round(Number(number) * factor)
  if (ms < 0 || ms > durationMaxMs)
    throw new SqlError(
      '22023',
      `${ms} ms is outside the valid range for parameter "${name}" (0 ms .. ${durationMaxMs} ms)`,
    )
  if (ms === 0) return '0'
  const [shown, size] = Object.entries(units).find(([, each]) => ms % each === 0)!
  return `${ms / size}${shown}`
}
const isolation = only('read committed', 'read uncommitted', 'repeatable read', 'serializable')
const styles: Readonly<Record<string, string>> = {
  iso: 'ISO',
  sql: 'SQL',
  postgres: 'Postgres',
  german: 'German',
}
/** A style, an order of the parts, or both: `ISO, DMY`. */
const dateStyle = (given: string, name: string): string => {
  const words = given.toLowerCase().split(/[,\s]+/)
  const style = words.map((word) => styles[word]).find((known) => known !== undefined)
  const order = words.find((word) => ['mdy', 'dmy', 'ymd'].includes(word))
  if ((style ?? order) === undefined)
    throw new SqlError('22023', `invalid value for parameter "${name}": "${given}"`)
  return `${style ?? 'ISO'}, ${(order ?? 'mdy').toUpperCase()}`
}

/** PostgreSQL's version that drivers choose their behaviour by. */
const postgresVersion = '15.0'
/** `postgresVersion` as a number. */
const versionNumber = '150000'

const written: readonly Parameter[] = [
  { name: 'application_name', value: '', reported: true },
  { name: 'bytea_output', value: 'hex', read: only('hex', 'escape') },
  { name: 'check_function_bodies', value: 'on', read: onOff },
  { name: 'client_encoding', value: 'UTF8', reported: true, read: encoding },
  { name: 'client_min_messages', value: 'notice' },
  { name: 'DateStyle', value: 'ISO, MDY', reported: true, read: dateStyle },
  { name: 'default_transaction_deferrable', value: 'off', read: onOff },
  { name: 'default_transaction_isolation', value: 'read committed', read: isolation },
  { name: 'default_transaction_read_only', value: 'off', reported: true, read: onOff },
  { name: 'escape_string_warning', value: 'on', read: onOff },
  { name: 'extra_float_digits', value: '1' },
  { name: 'idle_in_transaction_session_timeout', value: '0', read: duration },
  { name: 'in_hot_standby', value: 'off', reported: true, fixed: true },
  { name: 'integer_datetimes', value: 'on', reported: true, fixed: true },
  { name: 'IntervalStyle', value: 'postgres', reported: true },
  { name: 'is_superuser', value: 'off', reported: true, fixed: true },
  { name: 'jit', value: 'off', read: onOff },
  { name: 'lock_timeout', value: '0', read: duration },
  { name: 'max_identifier_length', value: '63', fixed: true },
  { name: 'max_index_keys', value: '32', fixed: true },
  { name: 'role', value: 'none', read: only('none') },
  { name: 'row_security', value: 'on', read: onOff },
  { name: 'search_path', value: '"$user", public' },
  { name: 'server_encoding', value: 'UTF8', reported: true, fixed: true },
  { name: 'server_version', value: postgresVersion, reported: true, fixed: true },
  { name: 'server_version_num', value: versionNumber, fixed: true },
  { name: 'session_authorization', value: '', reported: true, fixed: true },
  // Strings are read by the rules of `on`.
  { name: 'standard_conforming_strings', value: 'on', reported: true, read: only('on') },
  { name: 'statement_timeout', value: '0', read: duration },
  { name: 'synchronize_seqscans', value: 'on', read: onOff },
  { name: 'synchronous_commit', value: 'on' },
  { name: 'TimeZone', value: 'UTC', reported: true },
  { name: 'transaction_deferrable', value: 'off', read: onOff },
  { name: 'transaction_isolation', value: 'read committed', read: isolation },
  { name: 'transaction_read_only', value: 'off', read: onOff },
  { name: 'xmloption', value: 'content' },
]
const parameters: ReadonlyMap<string, Parameter> = new Map(
  written.map((each) => [each.name.toLowerCase(), each]),
)

/** The name of a parameter as the server writes it. */
export function nameOfParameter(name: string): string {
  return parameters.get(name.toLowerCase())?.name ?? name
}

/** What the parameters say of the server and the session. */
export type ServerFacts = { readonly version: string; readonly user: string }

type Values = ReadonlyMap<string, string>

/** The values at a time, to go back to. */
export type SettingsMark = {
  readonly session: Values
  readonly current: Values
  /** About how much memory they take, in bytes. */
  readonly heldBytes: number
}

/** The parameters of one session. */
export class SessionSettings {
  /** How often values may have changed. */
  changes = 0
  /** Values of the server, and of the connection's first message, which RESET goes back to. */
  readonly #initial: Map<string, string>
  /** What was set for the session, and what holds now. Neither map changes once it is here. */
  #session: Values = new Map()
  #current: Values = new Map()
  #heldBytes = 0

  constructor(server: ServerFacts) {
    this.#initial = new Map([
      ['server_version', `${postgresVersion} (Fahao ${server.version})`],
      ['session_authorization', server.user],
    ])
  }

  /** About how much memory the values take that were set, in bytes. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** The parameters whose changes clients are told. */
  *reported(): Iterable<readonly [name: string, value: string]> {
    for (const { name, reported } of parameters.values()) if (reported) yield [name, this.get(name)!]
  }

  /** Every parameter, by name. */
  all(): (readonly [name: string, value: string])[] {
    const known = [...parameters.values()].map(({ name }) => [name, this.get(name)!] as const)
    const custom = [...this.#current].filter(([name]) => !parameters.has(name))
    return [...known, ...custom].sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))
  }

  /** The name as the server writes it, and the value; undefined: there is no such parameter. */
  get(name: string): string | undefined {
    const key = name.toLowerCase()
    const given = this.#current.get(key) ?? this.#initial.get(key)
    if (given !== undefined) return given
    // A transaction begins with the session's defaults.
    return key.startsWith('transaction_') && parameters.has(key)
      ? this.get(`default_${key}`)
      : parameters.get(key)?.value
  }

  /** The value of a parameter that is a time, in ms. */
  milliseconds(name: string): number {
    const [, number = '0', unit = 'ms'] = /^(\d+)(\w+)?$/.exec(this.get(name) ?? '') ?? []
    return Number(number) * units[unit]!
  }

  /** The parameters of the connection's first message. Throws for one that is unknown, or if they are too many. */
  start(given: readonly (readonly [name: string, value: string])[]): void {
    for (const [name, value] of given) {
      this.#initial.set(name.toLowerCase(), this.#checked(name, value))
      if (this.#initial.size > customMax) throw tooMany()
    }
  }

  /** SET; undefined: to the default. `local`: until the transaction ends. */
  set(name: string, given: string | undefined, isLocal = false): void {
    const key = name.toLowerCase()
    const value = given === undefined ? this.#default(name) : this.#checked(name, given)
    this.#current = changed(this.#current, key, value)
    if (!isLocal) this.#session = changed(this.#session, key, value)
    this.#count()
  }

  /** RESET ALL. */
  resetAll(): void {
    this.#go(new Map(), new Map())
  }

  /** Remembers the present values. */
  mark(): SettingsMark {
    return { session: this.#session, current: this.#current, heldBytes: this.#heldBytes }
  }

  /** Goes back to the values of a mark. */
  restore({ session, current }: SettingsMark): void {
    this.#go(session, current)
  }

  /** Undoes what was set with LOCAL. */
  endTransaction(): void {
    this.#go(this.#session, this.#session)
  }

  #go(session: Values, current: Values): void {
    if (session === this.#session && current === this.#current) return
    this.#session = session
    this.#current = current
    this.#count()
  }

  #count(): void {
    this.changes++
    this.#heldBytes = heldBytesOf(this.#session) + heldBytesOf(this.#current)
  }

  #default(name: string): undefined {
    if (this.get(name) === undefined && !name.includes('.')) throw unknownParameter(name)
    return undefined
  }

  #checked(name: string, given: string): string {
    if (!parameters.has(name.toLowerCase()) && this.#current.size >= customMax) throw tooMany()
    return checkedValue(name, given)
  }
}

/** The value that a parameter has when it is set to `given`. Throws 22023, 42622, 42704, 54000, 55P02. */
export function checkedValue(name: string, given: string): string {
  const parameter = parameters.get(name.toLowerCase())
  if (given.length > valueMax)
    throw new SqlError(
      '54000',
      `the value of "${name}" is longer than ${valueMax} characters; give a shorter one`,
    )
  if (parameter?.fixed) throw new SqlError('55P02', `parameter "${parameter.name}" cannot be changed`)
  if (parameter !== undefined) return parameter.read?.(given, parameter.name) ?? given
  // A name with a dot belongs to an extension or an application, and may have any value.
  if (!name.includes('.')) throw unknownParameter(name)
  if (name.length > nameMax)
    throw new SqlError(
      '42622',
      `the name of a parameter has at most ${nameMax} characters; give a shorter one`,
    )
  return given
}

function tooMany(): SqlError {
  return new SqlError('54000', `a session sets at most ${customMax} parameters; reset some`)
}

function heldBytesOf(values: Values): number {
  let bytes = 0
  for (const [name, value] of values)
    bytes += heldPer.value + (name.length + value.length) * heldPer.character
  return bytes
}

function changed(values: Values, key: string, value: string | undefined): Values {
  const copy = new Map(values)
  if (value === undefined) copy.delete(key)
  else copy.set(key, value)
  return copy
}

/** 42704, in PostgreSQL's words. */
export function unknownParameter(name: string): SqlError {
  return new SqlError('42704', `unrecognized configuration parameter "${name}"`)
}
