/**
 * `SELECT nextval('x')`, several calls in one list, and over `generate_series(1, n)`: the statements that programs send most,
 * which are not evaluated. What has another form is left to `drawing-statements.ts`.
 *
 * Invariants
 *  1. Each call of nextval in each row gets an id of its own, in the order of rows and columns.
 *  2. The ids of one generator for one statement come from one request: all or none.
 */
import type { Node, SelectStmt } from 'libpg-query'
import type { IssuedIds } from '../commands/in-process.ts'
import { draw, takeOne } from './drawing.ts'
import { unknownRelation } from './errors.ts'
import { nameOfText } from './query/quoting.ts'
import { namesOf } from './query/tree.ts'
import type { Column, ParameterValue, Result } from './result.ts'
import { resultOf } from './result.ts'
import { moveSequence } from './sequence-moves.ts'
import type { Session, Statement } from './session.ts'
import { SqlError } from './sql-error.ts'
import { bytesOf } from './statement-size.ts'
import { booleanOf, encoded, integerOf, types } from './values.ts'

/** A constant, or the index of a parameter. */
type Argument = { readonly text: string } | { readonly parameter: number }
type Target = { readonly name: Argument; readonly column: Column }
type Series = { readonly from: Argument; readonly to: Argument }

const targetsMax = 1664
/** The types that name a generator as its text does, with what a parameter of each is told to be. */
const nameTypes: Readonly<Record<string, number>> = {
  regclass: types.regclass,
  text: types.text,
  varchar: types.varchar,
}
const integerTypes: Readonly<Record<string, number>> = { int8: types.int8, int4: types.int4 }
const int4Max = 2n ** 31n - 1n

/** The types of parameters, as far as they are known. */
class Parameters {
  readonly #types: (number | undefined)[]

  constructor(declared: readonly number[]) {
    this.#types = declared.map((type) => type || undefined)
  }

  /** Whether the parameter can have one of these types. It takes the first unless it has a type. */
  admits(index: number, admitted: readonly number[]): boolean {
    const type = this.#types[index] ?? admitted[0]!
    this.#types[index] = type
    return admitted.includes(type)
  }

  /** The types of all of them; undefined: one is open. */
  all(): readonly number[] | undefined {
    return [...this.#types].includes(undefined) ? undefined : (this.#types as number[])
  }
}

/** A statement that draws ids, from its tree; undefined: it has another form. */
export function readSequenceSelect(
  { targetList = [], fromClause, limitOption: _, op: __, ...others }: SelectStmt,
  text: string,
  declared: readonly number[],
): Statement | undefined {
  if (Object.keys(others).length > 0 || targetList.length > targetsMax) return undefined
  const parameters = new Parameters(declared)
  const targets: Target[] = []
  for (const node of targetList) {
    const target = readTarget(node, parameters)
    if (target === undefined) return undefined
    targets.push(target)
  }
  const series = fromClause && readSeries(fromClause, parameters)
  const parameterTypes = parameters.all()
  if ((fromClause && !series) || targets.length === 0 || parameterTypes === undefined) return undefined
  return statementOf(targets, series, parameterTypes, text)
}

function readTarget(node: Node, parameters: Parameters): Target | undefined {
  if (!('ResTarget' in node)) return undefined
  const { name, val } = node.ResTarget
  let call = val
  let type: number = types.int8
  if (call !== undefined && 'TypeCast' in call) {
    const cast = castTo(call, integerTypes)
    if (cast === undefined) return undefined
    type = cast
    call = call.TypeCast.arg
  }
  const [argument, ...more] = argumentsOf(call, 'nextval') ?? []
  const read = more.length === 0 ? readName(argument, parameters) : undefined
  return read && { name: read, column: { name: name ?? 'nextval', type } }
}

/** The arguments of a plain call of this function; undefined: it is something else. */
function argumentsOf(node: Node | undefined, function_: string): readonly Node[] | undefined {
  if (node === undefined || !('FuncCall' in node)) return undefined
  const { funcname, args = [], funcformat: _, location: __, ...others } = node.FuncCall
  const names = namesOf(funcname)
  const isCalled = names.at(-1) === function_ && (names.at(-2) ?? 'pg_catalog') === 'pg_catalog'
  return isCalled && names.length <= 2 && Object.keys(others).length === 0 ? args : undefined
}

/** The oid of the type that a cast is to, if it is one of these. */
function castTo(node: Node, all: Readonly<Record<string, number>>): number | undefined {
  if (!('TypeCast' in node)) return undefined
  const { names, typmods, arrayBounds } = node.TypeCast.typeName ?? {}
  const [name = '', schema = 'pg_catalog'] = namesOf(names).reverse()
  return typmods || arrayBounds || schema !== 'pg_catalog' || !Object.hasOwn(all, name)
    ? undefined
    : all[name]
}

/** The name of a generator: a constant or a parameter, with casts to types of names. */
function readName(node: Node | undefined, parameters: Parameters): Argument | undefined {
  let inner = node
  let first: number | undefined
  while (inner !== undefined && 'TypeCast' in inner) {
    first = castTo(inner, nameTypes)
    if (first === undefined) return undefined
    inner = inner.TypeCast.arg
  }
  if (inner === undefined) return undefined
  if ('A_Const' in inner) return inner.A_Const.sval && { text: inner.A_Const.sval.sval ?? '' }
  if (!('ParamRef' in inner)) return undefined
  const index = (inner.ParamRef.number ?? 0) - 1
  const admitted = first === undefined ? [types.regclass, types.text, types.varchar] : [first]
  return index >= 0 && parameters.admits(index, admitted) ? { parameter: index } : undefined
}

function readSeries(from: readonly Node[], parameters: Parameters): Series | undefined {
  const [node, ...more] = from
  if (node === undefined || !('RangeFunction' in node) || more.length > 0) return undefined
  const { functions = [], alias: _, ...others } = node.RangeFunction
  const [call] = functions[0] && 'List' in functions[0] ? (functions[0].List.items ?? []) : []
  const bounds = argumentsOf(call, 'generate_series') ?? []
  if (Object.keys(others).length > 0 || functions.length !== 1 || bounds.length !== 2) return undefined
  const [first, last] = bounds.map((bound) => readBound(bound, parameters))
  return first && last && ('text' in first || 'text' in last || first.isCast || last.isCast)
    ? { from: first, to: last }
    : undefined
}

/** A bound of a series: a whole number, or a parameter that is one. Of one without a type the other bound, an integer, decides. */
function readBound(
  node: Node,
  parameters: Parameters,
): (Argument & { readonly isCast?: boolean }) | undefined {
  if ('A_Const' in node) {
    const { ival, fval } = node.A_Const
    if (ival !== undefined) return { text: String(ival.ival ?? 0) }
    return fval !== undefined && /^-?\d{1,18}$/.test(fval.fval ?? '') ? { text: fval.fval! } : undefined
  }
  const cast = castTo(node, integerTypes)
  const inner = cast !== undefined && 'TypeCast' in node ? node.TypeCast.arg : node
  if (inner === undefined || !('ParamRef' in inner)) return undefined
  const index = (inner.ParamRef.number ?? 0) - 1
  const admitted = cast === undefined ? [types.int4, types.int8, types.int2] : [cast]
  return index >= 0 && parameters.admits(index, admitted)
    ? { parameter: index, isCast: cast !== undefined }
    : undefined
}

function statementOf(
  targets: readonly Target[],
  series: Series | undefined,
  parameters: readonly number[],
  text: string,
): Statement {
  const columns = targets.map(({ column }) => column)
  const [{ name, column }] = targets as [Target]
  const isOne = targets.length === 1 && series === undefined && column.type === types.int8
  return {
    parameters,
    columns,
    heldBytes: bytesOf(text, false),
    ...(isOne && 'text' in name && { next: nameOfText(name.text) }),
    run: (session, values) => {
      const read = (argument: Argument) =>
        'text' in argument ? argument.text : (values[argument.parameter] as ParameterValue)
      const rows = series === undefined ? 1 : countOf(read(series.from), read(series.to))
      if (rows === 0) return resultOf([], [])
      return runNext(
        session,
        columns,
        targets.map((target) => nameOf(read(target.name))),
        rows,
      )
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
