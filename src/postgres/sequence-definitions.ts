/**
 * CREATE, ALTER and DROP SEQUENCE. What a generator cannot keep is refused. They take
 * effect at once, in a transaction too: tools for migrations put them into one, and a notice says so.
 * https://www.postgresql.org/docs/15/sql-createsequence.html
 */
import type { AlterSeqStmt, CreateSeqStmt, DefElem, DropStmt, Node, RangeVar } from 'libpg-query'
import { max63 } from '../ids/limits.ts'
import { alterOperation, createOperation, dropOperation } from '../operations/generators.ts'
import { notSupported, unknownRelation } from './errors.ts'
import { sequenceName } from './query/quoting.ts'
import { namesOf, refused } from './query/tree.ts'
import { checkRestart, definitionOf, moveSequence } from './sequence-moves.ts'
import { command, type Session, type Statement } from './session.ts'
import { SqlError } from './sql-error.ts'

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
  int2: 2n ** 15n - 1n,
  smallint: 2n ** 15n - 1n,
  int4: 2n ** 31n - 1n,
  integer: 2n ** 31n - 1n,
  int8: max63,
  bigint: max63,
}

/** CREATE SEQUENCE. */
export function readCreate({
  sequence,
  options,
  if_not_exists: ifMissing = false,
}: CreateSeqStmt): Statement {
  if (sequence?.relpersistence !== 'p')
    throw notSupported(
      'only plain sequences are supported: their ids never repeat',
      'Leave TEMPORARY and UNLOGGED out.',
    )
  const name = generatorOf(sequence)
  const read = readOptions(options)
  return command('CREATE SEQUENCE', (session) => create(session, name, read, ifMissing))
}

/** ALTER SEQUENCE. */
export function readAlter({ sequence, options, missing_ok: ifExists = false }: AlterSeqStmt): Statement {
  const name = generatorOf(sequence)
  const read = readOptions(options)
  return command('ALTER SEQUENCE', (session) => alter(session, name, read, ifExists))
}

/** DROP SEQUENCE. */
export function readDrop({ objects = [], missing_ok: ifExists = false }: DropStmt): Statement {
  const names = objects.map((node) => sequenceName('List' in node ? namesOf(node.List.items) : []))
  return command('DROP SEQUENCE', (session) => drop(session, names, ifExists))
}

function generatorOf({ catalogname, schemaname, relname = '' }: RangeVar = {}): string {
  return sequenceName([catalogname, schemaname, relname].filter((part) => part !== undefined))
}

function readOptions(nodes: readonly Node[] = []): Options {
  const options: Options = {}
  for (const node of nodes) {
    if (!('DefElem' in node)) throw refused('This option of a sequence')
    const given = readOption(node.DefElem)
    for (const key of Object.keys(given))
      if (key in options) throw new SqlError('42601', 'conflicting or redundant options')
    Object.assign(options, given)
  }
  return options
}

/** Options that are whole numbers. */
const numbers: Readonly<Record<string, keyof Options>> = {
  increment: 'increment',
  minvalue: 'min',
  maxvalue: 'max',
  start: 'start',
  restart: 'restart',
  cache: 'cache',
}

function readOption({ defname = '', arg }: DefElem): Options {
  const key = numbers[defname]
  if (key !== undefined) return { [key]: arg === undefined ? null : integerOf(arg) }
  switch (defname) {
    case 'as': {
      const type = (arg && 'TypeName' in arg && namesOf(arg.TypeName.names).at(-1)) || ''
      if (typeMax[type] === undefined)
        throw new SqlError('22023', 'sequence type must be smallint, integer, or bigint')
      return { type }
    }
    case 'cycle':
      return { cycle: arg !== undefined && 'Boolean' in arg && arg.Boolean.boolval === true }
    case 'owned_by': {
      const names = arg && 'List' in arg ? namesOf(arg.List.items) : []
      return { owner: names.length === 1 && names[0] === 'none' ? null : names.join('.') }
    }
    default:
      throw refused(`The option ${defname} of a sequence`)
  }
}

/** A whole number. 22P02 for another number. */
function integerOf(node: Node | undefined): bigint {
  if (node !== undefined && 'Integer' in node) return BigInt(node.Integer.ival ?? 0)
  const text = node !== undefined && 'Float' in node ? (node.Float.fval ?? '') : ''
  if (!/^-?\d{1,40}$/.test(text))
    throw new SqlError('22P02', `invalid input syntax for type bigint: "${text}"`)
  return BigInt(text)
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
  caller.demand(createOperation.name, name)
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
  if (await caller.catalogue.exists(name)) {
    if (!ifMissing) throw new SqlError('42P07', `relation "${name}" already exists`)
    return session.notice('NOTICE', '42P07', `relation "${name}" already exists, skipping`)
  }
  await caller.run(createOperation, {
    name,
    options: {
      kind: 'sequence',
      start,
      ...(increment !== 1n && { increment }),
      ...(largest !== max63 && { max: largest }),
    },
  })
  warnAtOnce(session, 'CREATE SEQUENCE')
}

async function alter(session: Session, name: string, options: Options, ifExists: boolean): Promise<void> {
  const { caller } = session
  refuse(options)
  caller.demand(alterOperation.name, name)
  if (ifExists && !(await caller.catalogue.exists(name)))
    return session.notice('NOTICE', '00000', `relation "${name}" does not exist, skipping`)
  const present = await definitionOf(session, name)
  const { start: first = 1n, max: presentMax = max63, increment: presentIncrement = 1 } = present
  const { type, increment, max, start, restart } = options
  if (start !== undefined && start !== first)
    throw notSupported('START is fixed when a generator is created', 'RESTART WITH moves it forward.')
  const largest = max === null || (max === undefined && type !== undefined) ? typeMax[type ?? 'bigint']! : max
  const changes = {
    ...(increment !== undefined && { increment }),
    ...(largest !== undefined && largest !== presentMax && { max: largest }),
  }
  const isChanged = Object.keys(changes).length > 0
  const value = restart === undefined ? undefined : (restart ?? first)
  const changed = increment === undefined || increment === BigInt(presentIncrement) ? undefined : increment
  if (value !== undefined && isChanged) {
    // A statement that fails changes nothing.
    const block = changed && (changed > presentIncrement ? changed : BigInt(presentIncrement))
    await checkRestart(session, name, value, { ...present, max: largest ?? presentMax }, block)
  }
  // With another increment any value can be the next one: the ids count from it on.
  const floor = value !== undefined && changed !== undefined && { floor: value }
  if (isChanged) await caller.run(alterOperation, { name, changes: { ...changes, ...floor } })
  if (value !== undefined && changed === undefined) await moveSequence(session, name, value, false)
  warnAtOnce(session, 'ALTER SEQUENCE')
}

async function drop(session: Session, names: readonly string[], ifExists: boolean): Promise<void> {
  const { caller } = session
  for (const name of names) caller.demand(dropOperation.name, name)
  const found: string[] = []
  for (const name of new Set(names)) {
    if (await caller.catalogue.exists(name)) found.push(name)
    else if (ifExists) session.notice('NOTICE', '00000', `sequence "${name}" does not exist, skipping`)
    else throw unknownSequence(name)
  }
  for (const name of found) {
    const dropped = await caller.run(dropOperation, { name })
    session.drawn.forget(name)
    if (!dropped && !ifExists) throw unknownSequence(name)
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
