/**
 * CREATE, ALTER and DROP SEQUENCE as ID.CREATE, ID.ALTER and ID.DROP. What a generator cannot keep is refused. They take
 * effect at once, in a transaction too: tools for migrations put them into one, and a notice says so.
 * https://www.postgresql.org/docs/15/sql-createsequence.html
 */
import { max63 } from '../ids/limits.ts'
import { notSupported, unknownRelation } from './errors.ts'
import type { Reader } from './reader.ts'
import { checkRestart, definitionOf, moveSequence } from './sequence-moves.ts'
import type { Session, Statement } from './session.ts'
import { SqlError } from './sql/sql-error.ts'
import { command } from './statement.ts'

type Options = {
  type?: string
  increment?: bigint
  /** null: NO MINVALUE, NO MAXVALUE. */
  min?: bigint | null
  max?: bigint | null
  start?: bigint
  /** null: RESTART without a value. */
  restart?: bigint | null
  cache?: bigint
  cycle?: boolean
  owner?: string | null
}

const typeMax: Readonly<Record<string, bigint>> = {
  smallint: 2n ** 15n - 1n,
  int2: 2n ** 15n - 1n,
  integer: 2n ** 31n - 1n,
  int: 2n ** 31n - 1n,
  int4: 2n ** 31n - 1n,
  bigint: max63,
  int8: max63,
}

/** Reads what follows CREATE SEQUENCE. */
export function readCreate(reader: Reader): Statement {
  const ifMissing = reader.words('if', 'not', 'exists')
  const name = reader.generator()
  const options = readOptions(reader, false)
  return command('CREATE SEQUENCE', (session) => create(session, name, options, ifMissing))
}

/** Reads what follows ALTER SEQUENCE. */
export function readAlter(reader: Reader): Statement {
  const ifExists = reader.words('if', 'exists')
  const name = reader.generator()
  if (reader.words('rename'))
    throw notSupported(
      'a generator cannot be renamed: its name is part of its identity',
      'Create another one with START above the newest id of this one.',
    )
  if (reader.words('owner') || reader.words('set'))
    throw notSupported('generators have no owner and no schema')
  const options = readOptions(reader, true)
  if (Object.keys(options).length === 0) throw reader.error()
  return command('ALTER SEQUENCE', (session) => alter(session, name, options, ifExists))
}

/** Reads what follows DROP SEQUENCE. */
export function readDrop(reader: Reader): Statement {
  const ifExists = reader.words('if', 'exists')
  const names: string[] = []
  do names.push(reader.generator())
  while (reader.symbol(','))
  reader.oneOf('cascade', 'restrict')
  reader.demandEnd()
  return command('DROP SEQUENCE', (session) => drop(session, names, ifExists))
}

function readOptions(reader: Reader, isAlter: boolean): Options {
  const options: Options = {}
  while (!reader.isDone) {
    const given = readOption(reader, isAlter)
    for (const key of Object.keys(given))
      if (key in options) throw new SqlError('42601', 'conflicting or redundant options')
    Object.assign(options, given)
  }
  return options
}

function readOption(reader: Reader, isAlter: boolean): Options {
  if (reader.words('as')) {
    const type = reader.identifier()
    if (typeMax[type] === undefined)
      throw new SqlError('22023', 'sequence type must be smallint, integer, or bigint')
    return { type }
  }
  if (reader.words('increment')) {
    reader.words('by')
    return { increment: reader.integer() }
  }
  if (reader.words('minvalue')) return { min: reader.integer() }
  if (reader.words('maxvalue')) return { max: reader.integer() }
  if (reader.words('no', 'minvalue')) return { min: null }
  if (reader.words('no', 'maxvalue')) return { max: null }
  if (reader.words('no', 'cycle')) return { cycle: false }
  if (reader.words('cycle')) return { cycle: true }
  if (reader.words('cache')) return { cache: reader.integer() }
  if (reader.words('start')) {
    reader.words('with')
    return { start: reader.integer() }
  }
  if (isAlter && reader.words('restart')) {
    const isGiven = reader.words('with') || ['number', 'operator'].includes(reader.token.kind)
    return { restart: isGiven ? reader.integer() : null }
  }
  if (reader.words('owned', 'by')) return { owner: reader.words('none') ? null : reader.generator() }
  throw reader.error()
}

/** Refuses what a generator cannot keep. */
function refuse({ increment, cycle, owner, min, start, cache, restart }: Options): void {
  if (cycle) throw notSupported('CYCLE is not supported: an id is never issued twice')
  if (increment === 0n) throw new SqlError('22023', 'INCREMENT must not be zero')
  if (increment !== undefined && increment < 0n)
    throw notSupported('a negative INCREMENT is not supported: ids increase')
  if (typeof owner === 'string')
    throw notSupported(
      'OWNED BY is not supported: there are no tables',
      'Leave it out, or use OWNED BY NONE.',
    )
  if (cache !== undefined && cache < 1n)
    throw new SqlError('22023', `CACHE (${cache}) must be greater than zero`)
  for (const value of [min, start, restart])
    if (typeof value === 'bigint' && value < 0n)
      throw notSupported('negative values are not supported: ids are not negative')
}

async function create(session: Session, name: string, options: Options, ifMissing: boolean): Promise<void> {
  const { caller } = session
  refuse(options)
  const { type = 'bigint', increment = 1n, min, max } = options
  const words = ['ID.CREATE', name, 'KIND', 'sequence']
  caller.demand(...words)
  const least = min ?? 1n
  const start = options.start ?? least
  const largest = max ?? typeMax[type]!
  if (largest > typeMax[type]!)
    throw new SqlError('22023', `MAXVALUE (${largest}) is out of range for sequence data type ${type}`)
  if (least >= largest)
    throw new SqlError('22023', `MINVALUE (${least}) must be less than MAXVALUE (${largest})`)
  if (start < least)
    throw new SqlError('22023', `START value (${start}) cannot be less than MINVALUE (${least})`)
  if (start > largest)
    throw new SqlError('22023', `START value (${start}) cannot be greater than MAXVALUE (${largest})`)
  if (await caller.exists(name)) {
    if (!ifMissing) throw new SqlError('42P07', `relation "${name}" already exists`)
    return session.notice('NOTICE', '42P07', `relation "${name}" already exists, skipping`)
  }
  words.push('START', String(start))
  if (increment !== 1n) words.push('INCREMENT', String(increment))
  if (largest !== max63) words.push('MAX', String(largest))
  await caller.run(...words)
  warnAtOnce(session, 'CREATE SEQUENCE')
}

async function alter(session: Session, name: string, options: Options, ifExists: boolean): Promise<void> {
  const { caller } = session
  refuse(options)
  caller.demand('ID.ALTER', name, 'MAX', '1')
  if (ifExists && !(await caller.exists(name)))
    return session.notice('NOTICE', '00000', `relation "${name}" does not exist, skipping`)
  const present = await definitionOf(session, name)
  const { start: first = 1n, max: presentMax = max63, increment: presentIncrement = 1 } = present
  const { type, increment, max, start, restart } = options
  if (start !== undefined && start !== first)
    throw notSupported('START is fixed when a generator is created', 'RESTART WITH moves it forward.')
  const words: string[] = []
  if (increment !== undefined) words.push('INCREMENT', String(increment))
  const largest = max === null || (max === undefined && type !== undefined) ? typeMax[type ?? 'bigint']! : max
  if (largest !== undefined && largest !== presentMax) words.push('MAX', String(largest))
  const value = restart === undefined ? undefined : (restart ?? first)
  const changed = increment === undefined || increment === BigInt(presentIncrement) ? undefined : increment
  if (value !== undefined && words.length > 0) {
    // A statement that fails changes nothing.
    const block = changed && (changed > presentIncrement ? changed : BigInt(presentIncrement))
    await checkRestart(session, name, value, { ...present, max: largest ?? presentMax }, block)
  }
  // With another increment any value can be the next one: the ids count from it on.
  const floor = value !== undefined && changed !== undefined ? ['FLOOR', String(value)] : []
  if (words.length > 0) await caller.run('ID.ALTER', name, ...words, ...floor)
  if (value !== undefined && changed === undefined) await moveSequence(session, name, value, false)
  warnAtOnce(session, 'ALTER SEQUENCE')
}

async function drop(session: Session, names: readonly string[], ifExists: boolean): Promise<void> {
  const { caller } = session
  for (const name of names) caller.demand('ID.DROP', name)
  const found: string[] = []
  for (const name of new Set(names)) {
    if (await caller.exists(name)) found.push(name)
    else if (ifExists) session.notice('NOTICE', '00000', `sequence "${name}" does not exist, skipping`)
    else throw unknownSequence(name)
  }
  for (const name of found) {
    const dropped = await caller.run('ID.DROP', name)
    session.drawn.forget(name)
    if (dropped === 0n && !ifExists) throw unknownSequence(name)
  }
  if (found.length > 0) warnAtOnce(session, 'DROP SEQUENCE')
}

function unknownSequence(name: string): SqlError {
  return new SqlError(unknownRelation(name).sqlState, `sequence "${name}" does not exist`)
}

function warnAtOnce(session: Session, what: string): void {
  if (session.transaction.status === 'I') return
  session.notice(
    'WARNING',
    '01000',
    `${what} takes effect at once; a rollback of the transaction does not undo it`,
  )
}
