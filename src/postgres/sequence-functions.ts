/**
 * `SELECT nextval('x')` and its relatives, alone, several in one list, and over `generate_series(1, n)`: the statements that
 * programs send most. What has another form is left to the evaluator of SELECT.
 *
 * Invariants
 *  1. Each call of nextval in each row gets an id of its own, in the order of rows and columns.
 *  2. The ids of one generator for one statement come from one request: all or none.
 */
import type { IssuedIds } from '../commands/in-process.ts'
import { draw, takeOne } from './drawing.ts'
import { unknownRelation } from './errors.ts'
import { nameOfText } from './names.ts'
import type { Reader } from './reader.ts'
import type { Column, ParameterValue, Result } from './result.ts'
import { resultOf } from './result.ts'
import { moveSequence } from './sequence-moves.ts'
import type { Session, Statement } from './session.ts'
import { targetsMax } from './sql/scope.ts'
import { SqlError } from './sql/sql-error.ts'
import { pacing } from './turn.ts'
import { booleanOf, encoded, integerOf, types } from './values.ts'

type Function = 'nextval' | 'currval' | 'lastval' | 'setval'
/** A constant, or the index of a parameter. */
type Argument = { readonly text: string } | { readonly parameter: number }
type Target = { readonly call: Function; readonly args: readonly Argument[]; readonly column: Column }
type Series = { readonly from: Argument; readonly to: Argument }

const functions: readonly Function[] = ['nextval', 'currval', 'lastval', 'setval']
/** The types of the arguments of each. */
const argumentTypes: Readonly<Record<Function, readonly number[]>> = {
  nextval: [types.regclass],
  currval: [types.regclass],
  lastval: [],
  setval: [types.regclass, types.int8, types.bool],
}
const integerTypes: Readonly<Record<string, number>> = {
  bigint: types.int8,
  int8: types.int8,
  integer: types.int4,
  int: types.int4,
  int4: types.int4,
}
const nameTypes = ['regclass', 'text', 'varchar']
const int4Max = 2n ** 31n - 1n
/** Statements that call more than nextval carry out their calls one after the other. */
const mixedCallsMax = 10_000

/** Reads what follows SELECT; undefined, and the reader is where it was: the statement has another form. */
export function readSequenceSelect(reader: Reader): Statement | undefined {
  const { mark } = reader
  const parameters = new Map<number, number>()
  const targets: Target[] = []
  do {
    const target = readTarget(reader, parameters)
    if (target === undefined) return back(reader, mark)
    targets.push(target)
    // The evaluator words the error.
    if (targets.length > targetsMax) return back(reader, mark)
  } while (reader.symbol(','))
  let series: Series | undefined
  if (reader.words('from')) {
    series = readSeries(reader, parameters)
    if (series === undefined) return back(reader, mark)
  }
  if (!reader.isDone) return back(reader, mark)
  return statementOf(targets, series, parameters)
}

function back(reader: Reader, mark: number): undefined {
  reader.reset(mark)
}

function readTarget(reader: Reader, parameters: Map<number, number>): Target | undefined {
  reader.words('pg_catalog') && reader.symbol('.')
  const call = reader.oneOf(...functions) as Function | undefined
  if (call === undefined || !reader.symbol('(')) return undefined
  const args: Argument[] = []
  const wanted = argumentTypes[call]
  while (!reader.symbol(')')) {
    if (args.length > 0 && !reader.symbol(',')) return undefined
    const arg = readArgument(reader, wanted[args.length], parameters)
    if (arg === undefined) return undefined
    args.push(arg)
  }
  if (args.length !== wanted.length && !(call === 'setval' && args.length === 2)) return undefined
  let type: number = types.int8
  while (reader.symbol('::')) {
    const cast = integerTypes[reader.typed('name') ?? '']
    if (cast === undefined) return undefined
    type = cast
  }
  const label = reader.words('as') ? reader.identifier() : readLabel(reader)
  return { call, args, column: { name: label ?? call, type } }
}

/** A name after an expression that is no key word which may stand there. */
function readLabel(reader: Reader): string | undefined {
  const { kind, text } = reader.token
  if (kind === 'quoted') return reader.take().text
  const follows = [
    'from',
    'where',
    'group',
    'having',
    'isnull',
    'notnull',
    'order',
    'limit',
    'offset',
    'fetch',
    'for',
    'into',
    'union',
  ]
  return kind === 'name' && !follows.includes(text) ? reader.take().text : undefined
}

function readArgument(
  reader: Reader,
  type: number | undefined,
  parameters: Map<number, number>,
): Argument | undefined {
  if (type === undefined) return undefined
  const number = reader.typed('parameter')
  if (number !== undefined) {
    const index = Number(number) - 1
    const isText = type === types.regclass && readCasts(reader, nameTypes) === 'text'
    if (type !== types.regclass) readCasts(reader, [...Object.keys(integerTypes), 'boolean'])
    // Above the limit of the protocol, or a type that another use has: the evaluator words the error.
    if (!(index >= 0 && index < 65_535)) return undefined
    const wanted = isText ? types.text : type
    if ((parameters.get(index) ?? wanted) !== wanted) return undefined
    parameters.set(index, wanted)
    return { parameter: index }
  }
  if (type === types.regclass) {
    const text = reader.typed('string')
    if (text === undefined) return undefined
    readCasts(reader, nameTypes)
    return { text }
  }
  if (type === types.bool) {
    const word = reader.oneOf('true', 'false')
    return word === undefined ? undefined : { text: word }
  }
  const sign = reader.symbol('-') ? '-' : ''
  const digits = reader.typed('number')
  if (digits === undefined || !/^\d+$/.test(digits)) return undefined
  return { text: sign + digits }
}

/** Takes casts to these types; the first of them. */
function readCasts(reader: Reader, names: readonly string[]): string | undefined {
  let first: string | undefined
  while (true) {
    const { mark } = reader
    if (!reader.symbol('::')) return first
    const name = reader.oneOf(...names)
    if (name === undefined) {
      reader.reset(mark)
      return first
    }
    first ??= name
  }
}

function readSeries(reader: Reader, parameters: Map<number, number>): Series | undefined {
  reader.words('pg_catalog') && reader.symbol('.')
  if (!reader.words('generate_series') || !reader.symbol('(')) return undefined
  const from = readArgument(reader, types.int8, parameters)
  if (from === undefined || !reader.symbol(',')) return undefined
  const to = readArgument(reader, types.int8, parameters)
  if (to === undefined || !reader.symbol(')')) return undefined
  const label = reader.words('as') ? reader.identifier() : readLabel(reader)
  if (label !== undefined && reader.symbol('(')) {
    reader.identifier()
    reader.demandSymbol(')')
  }
  return { from, to }
}

function statementOf(
  targets: readonly Target[],
  series: Series | undefined,
  parameters: ReadonlyMap<number, number>,
): Statement | undefined {
  const parameterTypes = Array.from({ length: parameters.size }, (_, index) => parameters.get(index))
  // A number was left out.
  if (parameterTypes.includes(undefined)) return undefined
  const columns = targets.map(({ column }) => column)
  const first = targets[0]!
  const isOne = targets.length === 1 && first.call === 'nextval' && first.column.type === types.int8
  const next = isOne && !series && 'text' in first.args[0]! ? nameOfText(first.args[0].text) : undefined
  return {
    parameters: parameterTypes as number[],
    columns,
    ...(next !== undefined && { next }),
    run: (session, values) => {
      const read = (argument: Argument) =>
        'text' in argument ? argument.text : (values[argument.parameter] as ParameterValue)
      const rows = series === undefined ? 1 : countOf(read(series.from), read(series.to))
      if (rows > 0 && targets.every(({ call }) => call === 'nextval'))
        return runNext(
          session,
          columns,
          targets.map(({ args }) => nameOf(read(args[0]!))),
          rows,
        )
      return runMixed(session, targets, rows, read)
    },
  }
}

/** The generator of an argument; undefined: NULL. */
function nameOf(text: string | null): string | undefined {
  return text === null ? undefined : nameOfText(text)
}

function countOf(from: string | null, to: string | null): number {
  if (from === null || to === null) return 0
  const count = integerOf(to) - integerOf(from) + 1n
  if (count > 10_000_000n)
    throw new SqlError('54000', `${count} rows are above the limit of a statement; ask for fewer at a time`)
  return count > 0n ? Number(count) : 0
}

function runNext(
  session: Session,
  columns: readonly Column[],
  names: readonly (string | undefined)[],
  rows: number,
): Result | Promise<Result> {
  const columnTypes = columns.map(({ type }) => type)
  if (rows === 1 && names.length === 1 && names[0] !== undefined) {
    const run = takeOne(session, names[0])
    if (run !== undefined) return resultOf(columnTypes, [[fitting(run.toString(), columnTypes[0]!)]])
  }
  return drawRows(session, columnTypes, names, rows)
}

async function drawRows(
  session: Session,
  columnTypes: readonly number[],
  names: readonly (string | undefined)[],
  rows: number,
): Promise<Result> {
  const places = placesOf(names)
  const ids = new Map<string, IssuedIds>()
  for (const [name, uses] of places.uses) ids.set(name, await draw(session, name, rows * uses))
  // lastval is the id of the last call.
  const last = names.findLast((name) => name !== undefined)
  if (last !== undefined) session.drawn.of(last)
  const columns = names.map((name, index) => ({
    drawn: name === undefined ? undefined : ids.get(name),
    uses: name === undefined ? 0 : places.uses.get(name)!,
    first: places.first[index]!,
    type: columnTypes[index]!,
  }))
  return {
    tag: 'SELECT',
    count: rows,
    heldBytes: [...ids.values()].reduce((sum, { heldBytes }) => sum + heldBytes, 0),
    cell(row, column, format) {
      const { drawn, uses, first, type } = columns[column]!
      return drawn === undefined ? null : encoded(fitting(drawn.at(row * uses + first), type), type, format)
    },
  }
}

/** How often each generator stands in a list, and how often the one at each place stands before it. */
function placesOf(names: readonly (string | undefined)[]) {
  const uses = new Map<string, number>()
  const first = names.map((name) => {
    if (name === undefined) return 0
    const before = uses.get(name) ?? 0
    uses.set(name, before + 1)
    return before
  })
  return { uses, first }
}

async function runMixed(
  session: Session,
  targets: readonly Target[],
  rows: number,
  read: (argument: Argument) => string | null,
): Promise<Result> {
  if (rows * targets.length > mixedCallsMax)
    throw new SqlError(
      '54000',
      `${rows * targets.length} calls are above the limit of ${mixedCallsMax} with other functions than nextval`,
    )
  const pace = pacing(session)
  const made: (string | null)[][] = []
  for (let row = 0; row < rows; row++) {
    const cells: (string | null)[] = []
    for (const { call, args, column } of targets) {
      await pace()
      const value = await callFunction(session, call, args.map(read))
      cells.push(value === null ? null : fitting(value, column.type))
    }
    made.push(cells)
  }
  return resultOf(
    targets.map(({ column }) => column.type),
    made,
  )
}

/** Calls a function of sequences. NULL as an argument gives NULL. */
export async function callFunction(
  session: Session,
  call: string,
  args: readonly (string | null)[],
): Promise<string | null> {
  if (args.includes(null)) return null
  if (call === 'lastval') return session.drawn.last
  const name = nameOfText(args[0]!)
  if (call === 'nextval') {
    const run = takeOne(session, name)
    return run === undefined ? (await draw(session, name, 1)).at(0) : run.toString()
  }
  if (call === 'currval') {
    const { caller, drawn } = session
    caller.demand('ID.NEXT', name)
    if (caller.find(name) === undefined && !(await caller.exists(name))) throw unknownRelation(name)
    return drawn.current(name)
  }
  return moveSequence(session, name, integerOf(args[1]!), booleanOf(args[2] ?? 'true'))
}

function fitting(id: string, type: number): string {
  if (type === types.int4 && BigInt(id) > int4Max) throw new SqlError('22003', 'integer out of range')
  return id
}
