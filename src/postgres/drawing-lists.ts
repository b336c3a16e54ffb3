/**
 * `SELECT nextval('x')`, several calls in one list, and over `generate_series(1, n)`: the statements that programs send most.
 * They are read once, and their runs evaluate nothing.
 */
import type { Node, SelectStmt } from 'libpg-query'
import { type DrawnRows, drawRows, takeOne } from './drawing.ts'
import { nameOfText } from './query/quoting.ts'
import { namesOf } from './query/tree.ts'
import { oids } from './query/types.ts'
import { type Column, type Formats, type Result, writeRow } from './result.ts'
import { demandSequences } from './sequence-lists.ts'
import type { Statement } from './session.ts'
import { SqlError } from './sql-error.ts'
import { integerOf } from './wire-values.ts'

/** A constant, or the index of a parameter. */
export type Argument = string | { readonly parameter: number }
/** A list of calls of nextval, and the bounds of the series over which it is. */
export type List = {
  readonly names: readonly Argument[]
  readonly series: readonly [from: Argument, to: Argument] | undefined
}

const integers: readonly number[] = [oids.int2, oids.int4, oids.int8]
const integerTypes: Readonly<Record<string, number>> = { int4: oids.int4, int8: oids.int8 }
const int4Max = 2n ** 31n - 1n
const rowsMax = 10_000_000n

/** `SELECT nextval('x')` and nothing else, from its tree as it is parsed; undefined: it has another form. Throws 42602. */
export function readBare({ targetList = [], limitOption: _, op: __, ...others }: SelectStmt) {
  const [target, ...more] = targetList
  if (more.length > 0 || Object.keys(others).length > 0) return undefined
  if (target === undefined || !('ResTarget' in target)) return undefined
  const { name = 'nextval', val } = target.ResTarget
  const [arg] = argumentsOf(val, 'nextval', 1)
  const text = argumentOf(uncast(arg).arg)
  if (typeof text !== 'string') return undefined
  return { text, next: nameOfText(text), columns: [{ name, type: oids.int8 }] }
}

/**
 * Such a list over a series, from a tree whose calls take texts; undefined: it has another form.
 * @param declared the oids of the parameters' types; those of bounds that are open are filled in
 */
export function readList(
  { targetList = [], fromClause, limitOption: _, op: __, ...others }: SelectStmt,
  declared: number[],
): List | undefined {
  if (Object.keys(others).length > 0) return undefined
  const names = targetList.flatMap((node) => {
    if (!('ResTarget' in node)) return []
    const [arg] = argumentsOf(castOf(node.ResTarget.val).inner, 'nextval', 1)
    return argumentOf(arg) ?? []
  })
  if (names.length < targetList.length || names.length === 0) return undefined
  const series = fromClause && readSeries(fromClause, declared)
  return fromClause && !series ? undefined : { names, series }
}

/** A node without a cast to a type of ids, and the oid of that type. */
function castOf(node: Node | undefined): { readonly inner: Node | undefined; readonly type?: number } {
  if (node === undefined || !('TypeCast' in node)) return { inner: node }
  const { typeName, arg } = node.TypeCast
  const type = integerTypes[namesOf(typeName?.names).at(-1) ?? '']
  return type === undefined || typeName?.arrayBounds || typeName?.typmods
    ? { inner: node }
    : { inner: arg, type }
}

/** The arguments of a plain call of this function; none: it is something else. */
function argumentsOf(node: Node | undefined, name: string, count: number): readonly Node[] {
  if (node === undefined || !('FuncCall' in node)) return []
  const { funcname, args = [], funcformat: _, location: __, ...others } = node.FuncCall
  const [called, schema = 'pg_catalog', ...more] = namesOf(funcname).reverse()
  const isCalled = called === name && schema === 'pg_catalog' && more.length === 0
  return isCalled && args.length === count && Object.keys(others).length === 0 ? args : []
}

/** What names a sequence, without casts that keep its text, and the type of the innermost of them. */
export function uncast(named: Node | undefined): { readonly arg: Node | undefined; readonly type?: string } {
  let arg = named
  let type: string | undefined
  while (arg !== undefined && 'TypeCast' in arg) {
    const { names: parts, arrayBounds, typmods } = arg.TypeCast.typeName ?? {}
    const name = namesOf(parts).at(-1) ?? ''
    if (arrayBounds || typmods || !/^(?:regclass|text|varchar)$/.test(name)) break
    type = name
    arg = arg.TypeCast.arg
  }
  return type === undefined ? { arg } : { arg, type }
}

/** The text of a constant, or a parameter; undefined: it is something else. */
export function argumentOf(node: Node | undefined): Argument | undefined {
  if (node === undefined) return undefined
  if ('ParamRef' in node) return { parameter: (node.ParamRef.number ?? 0) - 1 }
  return 'A_Const' in node && node.A_Const.sval ? (node.A_Const.sval.sval ?? '') : undefined
}

/** The bounds of `generate_series(from, to)`. */
export function readSeries(from: readonly Node[], declared: number[]): List['series'] {
  const [node, ...more] = from
  if (node === undefined || !('RangeFunction' in node) || more.length > 0) return undefined
  const { functions = [], alias: _, ...others } = node.RangeFunction
  const [call] = functions[0] && 'List' in functions[0] ? (functions[0].List.items ?? []) : []
  if (Object.keys(others).length > 0 || functions.length !== 1) return undefined
  const bounds = argumentsOf(call, 'generate_series', 2)
  // The type of two parameters without a type is not known.
  if (bounds.every((bound) => 'ParamRef' in bound && !declared[(bound.ParamRef.number ?? 0) - 1]))
    return undefined
  const [first, last] = bounds.map((bound) => boundOf(bound, declared))
  return first === undefined || last === undefined ? undefined : [first, last]
}

/** A bound of a series: a whole number, or a parameter that is one. */
function boundOf(node: Node, declared: number[]): Argument | undefined {
  if ('A_Const' in node) {
    const { ival, fval } = node.A_Const
    if (ival !== undefined) return String(ival.ival ?? 0)
    return /^-?\d{1,18}$/.test(fval?.fval ?? '') ? fval!.fval : undefined
  }
  const { inner, type = oids.int4 } = castOf(node)
  const bound = argumentOf(inner)
  if (typeof bound !== 'object') return undefined
  declared[bound.parameter] ||= type
  return integers.includes(declared[bound.parameter]!) ? bound : undefined
}

/** What runs a list. */
export function runList({ names, series }: List, columns: readonly Column[]): Statement['run'] {
  const columnTypes = columns.map(({ type }) => type)
  return (session, values, formats = []) => {
    const read = (argument: Argument): string | null =>
      typeof argument === 'string' ? argument : (values[argument.parameter] ?? null)
    const rows = series === undefined ? 1 : countOf(read(series[0]), read(series[1]))
    const generators = names.map((argument) => {
      const text = read(argument)
      return text === null ? undefined : nameOfText(text)
    })
    const [first] = generators
    if (rows === 1 && generators.length === 1 && first !== undefined) {
      const id = takeOne(session, first)?.toString()
      if (id !== undefined) return drawnResult({ heldBytes: 0, at: () => id }, 1, columnTypes, formats)
    }
    // Without rows nothing is drawn.
    const drawn =
      rows === 0
        ? demandSequences(session, new Set(generators.filter((each) => each !== undefined))).then(() =>
            drawRows(session, [], 0),
          )
        : drawRows(session, generators, rows)
    return drawn.then((ids) => drawnResult(ids, rows, columnTypes, formats))
  }
}

/** How many rows a series has. */
export function countOf(from: string | null, to: string | null): number {
  if (from === null || to === null) return 0
  const count = integerOf(to) - integerOf(from) + 1n
  if (count > rowsMax)
    throw new SqlError('54000', `${count} rows are above the limit of a statement; ask for fewer at a time`)
  return count > 0n ? Number(count) : 0
}

function drawnResult(
  { heldBytes, at }: DrawnRows,
  count: number,
  columnTypes: readonly number[],
  formats: Formats,
): Result {
  return {
    tag: 'SELECT',
    count,
    heldBytes,
    write: (output, row) =>
      writeRow(output, columnTypes, formats, (column) => fitting(at(row, column), columnTypes[column]!)),
  }
}

function fitting(id: string | null, type: number): string | null {
  if (id !== null && type === oids.int4 && BigInt(id) > int4Max)
    throw new SqlError('22003', 'integer out of range')
  return id
}
