/**
 * Functions that PostgreSQL lacks, each in a statement of its own: `SELECT fahao_next('order', gene => 37)`, over
 * `generate_series(1, n)` too, `SELECT fahao_encode('event', MOMENT)`, and `SELECT * FROM fahao_bounds('event', FROM, TO)`.
 */
import type { FuncCall, Node, SelectStmt } from 'libpg-query'
import { nextOperation } from '../operations/drawing.ts'
import { boundsOperation, encodeOperation } from '../operations/moments.ts'
import { type Argument, argumentOf, countOf, readSeries } from './drawing-lists.ts'
import { notSupported } from './errors.ts'
import { nameOfText } from './query/quoting.ts'
import { has, namesOf } from './query/tree.ts'
import { oids } from './query/types.ts'
import { type Column, type ParameterValue, type Result, writeRow } from './result.ts'
import type { Session, Statement } from './session.ts'
import { SqlError } from './sql-error.ts'
import { integerOf } from './wire-values.ts'

/** The arguments of a call, by their names. Undefined: not given. */
type Given = Readonly<Record<string, string | undefined>>

/** Rows, whose texts are made when they are sent: an id of a permuted generator takes microseconds. */
type Rows = {
  readonly count: number
  readonly heldBytes: number
  at(row: number, column: number): string | null
}

/** A function, as it is called. */
type Called = {
  readonly operation: { readonly name: string }
  /** The names of its arguments, in their order. */
  readonly arguments: readonly string[]
  /** The first that may be left out. */
  readonly optionalFrom: number
  readonly columns: readonly string[]
  /** The rows that it gives. Rejects with the FahaoError of the operation. */
  call(session: Session, name: string, given: Given, count: number): Promise<Rows>
}

const functions: Readonly<Record<string, Called>> = {
  fahao_next: {
    operation: nextOperation,
    arguments: ['name', 'gene', 'by', 'at', 'above', 'key'],
    optionalFrom: 1,
    columns: ['fahao_next'],
    async call({ caller }, name, { gene, by, at, above, key }, count) {
      if (count === 0) return rowsOf([])
      const ids = await caller.run(nextOperation, {
        name,
        count: BigInt(count),
        gene: gene === undefined ? undefined : integerOf(gene),
        by,
        at,
        above: above === undefined ? undefined : integerOf(above),
        key,
      })
      return { count, heldBytes: ids.heldBytes, at: (row) => ids.at(row) }
    },
  },
  fahao_encode: {
    operation: encodeOperation,
    arguments: ['name', 'at'],
    optionalFrom: 2,
    columns: ['fahao_encode'],
    async call({ caller }, name, { at }) {
      const { id, text = id } = await caller.ask(encodeOperation, name, {
        ...{ layout: undefined, node: undefined, sequence: undefined, gene: undefined },
        generator: name,
        at: at!,
      })
      return rowsOf([[text]])
    },
  },
  fahao_bounds: {
    operation: boundsOperation,
    arguments: ['name', 'from', 'to'],
    optionalFrom: 2,
    columns: ['start', 'end'],
    async call({ caller }, name, { from, to }) {
      const { ranges, texts = ranges } = await caller.ask(boundsOperation, name, {
        layout: undefined,
        generator: name,
        from: from!,
        to,
      })
      return rowsOf(texts.map(({ start, end }) => [start, end]))
    },
  },
}

/** What a text may be cast to. */
const casts: Readonly<Record<string, number>> = { uuid: oids.uuid, int8: oids.int8, text: oids.text }

/** Whether a part of a tree calls one of them. */
export function callsFunctionOfFahao(value: unknown): boolean {
  return has(value, (kind, call) => kind === 'FuncCall' && nameIn(call as FuncCall) !== undefined)
}

/** Compiles a statement that calls one. Throws 0A000 where it does more. */
export function compileFunctionOfFahao({
  SelectStmt: select,
}: {
  readonly SelectStmt: SelectStmt
}): Statement {
  const { targetList = [], fromClause = [], limitOption: _, op: __, ...others } = select
  const [target] = targetList
  const val = target !== undefined && 'ResTarget' in target ? target.ResTarget.val : undefined
  if (Object.keys(others).length > 0 || targetList.length !== 1 || val === undefined) throw refused()
  const isStar = 'ColumnRef' in val && val.ColumnRef.fields?.some((field) => 'A_Star' in field)
  const { node, type } = isStar ? { node: callIn(fromClause), type: oids.text } : castOf(val)
  const name = node !== undefined && 'FuncCall' in node ? nameIn(node.FuncCall) : undefined
  if (node === undefined || !('FuncCall' in node) || name === undefined) throw refused()
  const called = functions[name]!
  if (isStar !== (name === 'fahao_bounds')) throw refused()
  const parameters: number[] = []
  const given = argumentsOf(name, called, node.FuncCall, parameters)
  const series = isStar || fromClause.length === 0 ? undefined : readSeries(fromClause, parameters)
  if (!isStar && fromClause.length > 0 && (series === undefined || name !== 'fahao_next')) throw refused()
  const title = target !== undefined && 'ResTarget' in target ? target.ResTarget.name : undefined
  const columns = called.columns.map(
    (column): Column => ({ name: isStar ? column : (title ?? column), type }),
  )
  return { parameters: Array.from(parameters, (each) => each ?? oids.text), columns, run }

  async function run(
    session: Session,
    values: readonly ParameterValue[],
    formats: readonly number[] = [],
  ): Promise<Result> {
    const read = (argument: Argument) =>
      typeof argument === 'string' ? argument : (values[argument.parameter] ?? undefined)
    const texts = Object.fromEntries([...given].map(([key, argument]) => [key, read(argument)]))
    // A missing moment of an imported row would draw an id of now.
    const missing = [...given.keys()].find((each) => texts[each] === undefined)
    if (missing !== undefined)
      throw new SqlError('22004', `the argument ${missing} of ${name} is NULL; give a value, or leave it out`)
    const count = series === undefined ? 1 : countOf(read(series[0]) ?? null, read(series[1]) ?? null)
    await refuseCast(session, called, nameOfText(texts.name!), type)
    const rows = await called.call(session, nameOfText(texts.name!), texts, count)
    const types = columns.map((column) => column.type)
    return {
      tag: 'SELECT',
      count: rows.count,
      heldBytes: rows.heldBytes,
      write: (output, row) => writeRow(output, types, formats, (column) => rows.at(row, column)),
    }
  }
}

function rowsOf(texts: readonly (readonly (string | null)[])[]): Rows {
  return { count: texts.length, heldBytes: texts.length * 100, at: (row, column) => texts[row]![column]! }
}

/** Throws 42846 where the texts of a generator are none of the type, before an id is drawn. */
async function refuseCast(
  { caller }: Session,
  { operation }: Called,
  name: string,
  type: number,
): Promise<void> {
  if (type === oids.text) return
  caller.demand(operation.name, name)
  const { format = '{id}' } = await caller.definition(name)
  if (type === oids.int8 ? format === '{id}' : /^uuidv[78]$/.test(format)) return
  throw new SqlError(
    '42846',
    `ids of "${name}" have the format ${format}, and cannot be cast so; leave the cast out`,
  )
}

/** The arguments of a call by their names. @param parameters gets the types of those that are parameters */
function argumentsOf(
  name: string,
  called: Called,
  call: FuncCall,
  parameters: number[],
): ReadonlyMap<string, Argument> {
  const given = new Map<string, Argument>()
  for (const [index, node] of (call.args ?? []).entries()) {
    const isNamed = 'NamedArgExpr' in node
    const own = isNamed ? node.NamedArgExpr.name : called.arguments[index]
    const argument = givenBy(isNamed ? node.NamedArgExpr.arg : node)
    if (own === undefined || !called.arguments.includes(own) || given.has(own))
      throw new SqlError('42883', `${name} has the arguments ${called.arguments.join(', ')}, each once`)
    if (argument === undefined)
      throw notSupported(`the argument ${own} of ${name} is not a constant or a parameter; compute it before`)
    given.set(own, argument)
    if (typeof argument === 'object') parameters[argument.parameter] = oids.text
  }
  const missing = called.arguments.slice(0, called.optionalFrom).find((each) => !given.has(each))
  if (missing !== undefined) throw new SqlError('42883', `${name} needs its argument ${missing}`)
  return given
}

/** A constant or a parameter, with or without a cast. */
function givenBy(node: Node | undefined): Argument | undefined {
  if (node === undefined) return undefined
  if ('TypeCast' in node) return givenBy(node.TypeCast.arg)
  if ('A_Const' in node && node.A_Const.ival) return String(node.A_Const.ival.ival ?? 0)
  return argumentOf(node)
}

/** A call in a cast, and the type of the column. */
function castOf(node: Node): { readonly node: Node | undefined; readonly type: number } {
  if (!('TypeCast' in node)) return { node, type: oids.text }
  const type = casts[namesOf(node.TypeCast.typeName?.names).at(-1) ?? '']
  if (type === undefined) throw notSupported(`ids are cast to ${Object.keys(casts).join(', ')} only`)
  return { node: node.TypeCast.arg, type }
}

/** The call that FROM consists of. */
function callIn([node, ...more]: readonly Node[]): Node | undefined {
  if (node === undefined || !('RangeFunction' in node) || more.length > 0) return undefined
  const { functions: calls = [], alias: _, ...others } = node.RangeFunction
  if (Object.keys(others).length > 0 || calls.length !== 1) return undefined
  return calls[0] && 'List' in calls[0] ? calls[0].List.items?.[0] : undefined
}

function nameIn({ funcname }: FuncCall): string | undefined {
  const [name, ...schema] = namesOf(funcname).reverse()
  return name !== undefined && schema.length === 0 && Object.hasOwn(functions, name) ? name : undefined
}

function refused(): SqlError {
  return notSupported(
    'fahao_next and its relatives are statements of their own',
    "Write SELECT fahao_next('order', gene => 37), SELECT fahao_encode('event', MOMENT) or SELECT * FROM fahao_bounds('event', FROM, TO).",
  )
}
