/**
 * Statements that draw or move ids among other expressions. They run twice: the first time finds the calls and their arguments
 * in the order of rows and columns, then the calls are carried out, and the second run has their results.
 *
 * Invariants
 *  1. Both runs make the same calls in the same order: whether and how often a call is made depends on no result of a call.
 *  2. A statement that cannot promise this is refused before anything is drawn.
 */
import type { A_Expr, FuncCall, SelectStmt, SubLink } from 'libpg-query'
import { callFunction, drawRows } from './drawing.ts'
import { readBare, readList, runList, uncast } from './drawing-lists.ts'
import { encodeRows, resultOf } from './encoded-rows.ts'
import { notSupported } from './errors.ts'
import { turnTaking } from './long-statements.ts'
import {
  type Analysed,
  analyseStatement,
  type EvaluationContext,
  runStatement,
} from './query/catalog-query.ts'
import { nameOfText } from './query/quoting.ts'
import { Missing, Snapshot } from './query/snapshot.ts'
import { has, namesOf } from './query/tree.ts'
import { oids } from './query/types.ts'
import type { Value } from './query/values.ts'
import { drawsIn, isDrawing } from './query-text.ts'
import type { Result } from './result.ts'
import { demandSequences, factsOf, load } from './sequence-lists.ts'
import type { Session, Statement } from './session.ts'
import { SqlError } from './sql-error.ts'
import { bytesOf } from './statement-size.ts'

/** The most calls of a statement. */
const callsMax = 10_000
/** What a statement on the main thread may make: see `workMax` of the evaluator. */
const mainWorkMax = 60_000
/** Functions whose number of rows would depend on ids. */
const sets: ReadonlySet<string> = new Set([
  'generate_series',
  'unnest',
  'regexp_matches',
  'json_array_elements',
])

/** Compiles a statement that draws or moves ids. Throws SqlError. */
export function compileDrawing(
  node: { readonly SelectStmt: SelectStmt },
  text: string,
  declared: readonly number[],
): Statement {
  const bare = readBare(node.SelectStmt)
  if (bare !== undefined && !declared.includes(0)) {
    const list = { names: [bare.text], series: undefined }
    const { columns, next } = bare
    const heldBytes = bytesOf(text, false)
    return { parameters: declared, columns, heldBytes, next, run: runList(list, columns) }
  }
  if (has(node, (kind) => kind === 'RangeVar')) throw refusedDrawing('in a query of tables')
  demandPlain(node)
  const { tree, named, constants } = withTextArguments(node, declared)
  // The text of a regclass names the sequence: it is no oid yet.
  const inner = Array.from({ length: Math.max(declared.length, ...named.keys()) }, (_, index) =>
    named.has(index + 1) ? oids.text : (declared[index] ?? 0),
  )
  const filled = [...inner]
  const list = readList(tree.SelectStmt, filled)
  // Only the types of a list are needed.
  const { fromClause: _, ...alone } = tree.SelectStmt
  const analysed = list
    ? analyseStatement(
        { SelectStmt: alone },
        Array.from(filled, (type) => type ?? 0),
        text,
      )
    : analyseStatement(tree, inner, text)
  const parameters = analysed.parameters.map((type, index) => named.get(index + 1) ?? type)
  const { columns } = analysed
  if (list !== undefined)
    return { parameters, columns, heldBytes: bytesOf(text, false), run: runList(list, columns) }
  return {
    parameters,
    columns,
    heldBytes: bytesOf(text, true),
    run: (session, values, formats = []) => runTwice(session, analysed, constants, values, formats),
  }
}

type Values = Parameters<typeof runStatement>[1]
type Call = { readonly name: string; readonly args: readonly (string | null)[] }

async function runTwice(
  session: Session,
  analysed: Analysed,
  constants: ReadonlySet<string>,
  values: Values,
  formats: Parameters<typeof encodeRows>[3],
): Promise<Result> {
  const snapshot = new Snapshot()
  const calls: Call[] = []
  await evaluate(session, snapshot, (context) => {
    calls.length = 0
    const note = (name: string, args: readonly Value[]): Value => {
      calls.push({ name, args: args.map((arg) => (arg === null ? null : String(arg))) })
      if (calls.length > callsMax)
        throw new SqlError('54000', `a statement has at most ${callsMax} calls beside other expressions`)
      return 1n
    }
    runStatement(analysed, values, { ...context, draw: note })
  })
  // PostgreSQL looks constant names up before it runs a statement; a call says itself that its name is missing.
  const called = new Set(
    calls.map(({ args }) => (args[0] && !args.includes(null) ? nameOfText(args[0]) : '')),
  )
  await demandSequences(
    session,
    [...constants].filter((name) => !called.has(name)),
  )
  const results = await carryOut(session, calls)
  return evaluate(session, snapshot, (context) => {
    let at = 0
    const take = (): Value => results[at++] ?? null
    const { rows, objects } = runStatement(analysed, values, { ...context, draw: take })
    return resultOf(encodeRows(rows, analysed.columns, objects, formats))
  })
}

/** Runs what evaluates until all sequences that it names are loaded. */
export async function evaluate<T>(
  session: Session,
  snapshot: Snapshot,
  work: (context: EvaluationContext) => T,
): Promise<T> {
  for (;;)
    try {
      return work(contextOf(session, snapshot))
    } catch (error) {
      if (!(error instanceof Missing)) throw error
      await load(session, error.wanted, (loaded) => snapshot.add(loaded))
    }
}

/** What a statement on the main thread runs in. */
export function contextOf(session: Session, snapshot: Snapshot): EvaluationContext {
  return {
    session: factsOf(session),
    snapshot,
    limit: mainWorkMax,
    changeSetting: (name, value, isLocal) => {
      session.settings.set(name, value, isLocal)
      return session.settings.get(name)!
    },
  }
}

/** Carries the calls out in their order. */
async function carryOut(session: Session, calls: readonly Call[]): Promise<readonly Value[]> {
  if (calls.every(({ name }) => name === 'nextval')) {
    const names = calls.map(({ args }) => nameOfText(args[0] ?? ''))
    const drawn = await drawRows(session, names, 1)
    return names.map((_, index) => BigInt(drawn.at(0, index)!))
  }
  const results: Value[] = []
  const takeTurn = turnTaking(session)
  for (const { name, args } of calls) {
    await takeTurn()
    const result = await callFunction(session, name, args)
    results.push(result === null ? null : BigInt(result))
  }
  return results
}

function refusedDrawing(where: string): SqlError {
  return notSupported(
    `nextval and its relatives are not supported ${where}: each row of a list must draw in the same way`,
    'Draw the ids first, in a statement of their own.',
  )
}

/** By kinds of nodes: the parts in which a call is made once, whatever the results of calls. */
const plainParts: Readonly<Record<string, (body: never) => readonly string[]>> = {
  SelectStmt: partsOfSelect,
  RangeSubselect: () => ['subquery'],
  RangeFunction: () => ['functions'],
  List: () => ['items'],
  ResTarget: () => ['val'],
  TypeCast: () => ['arg'],
  NullTest: () => ['arg'],
  A_Indirection: () => ['arg'],
  A_ArrayExpr: () => ['elements'],
  RowExpr: () => ['args'],
  A_Expr: ({ kind }: A_Expr) => (kind === 'AEXPR_OP' ? ['lexpr', 'rexpr'] : []),
  SubLink: ({ subLinkType }: SubLink) =>
    /^(?:ARRAY|EXPR)_SUBLINK$/.test(subLinkType ?? '') ? ['subselect'] : [],
  FuncCall: partsOfCall,
}

function partsOfSelect(select: SelectStmt): readonly string[] {
  const { targetList, fromClause = [], whereClause, valuesLists, op, limitOption, ...others } = select
  const isPlain =
    op === 'SETOP_NONE' && limitOption === 'LIMIT_OPTION_DEFAULT' && Object.keys(others).length === 0
  // What draws in FROM is computed whole, whatever is made of it.
  const from = fromClause.length > 1 ? [] : ['fromClause']
  return isPlain ? ['targetList', 'valuesLists', ...from] : from
}

function partsOfCall(call: FuncCall): readonly string[] {
  const { agg_filter, agg_order, agg_distinct, over, funcname } = call
  const isOdd = agg_filter || agg_order || agg_distinct || over || sets.has(namesOf(funcname).at(-1) ?? '')
  return isDrawing(call) || isOdd ? [] : ['args']
}

/** Demands that the rows and calls of nodes do not depend on the results of the calls. */
function demandPlain(nodes: unknown): void {
  for (const node of [nodes].flat())
    for (const [kind, body] of Object.entries(node as Record<string, object>)) {
      const parts = plainParts[kind]?.(body as never) ?? []
      for (const [key, part] of Object.entries(body).filter(([, each]) => drawsIn(each))) {
        if (!parts.includes(key)) throw refusedDrawing(places[kind] ?? 'in conditions')
        demandPlain(part)
      }
    }
}

/** Where a call is refused, by kinds of nodes. */
const places: Readonly<Record<string, string>> = {
  SelectStmt: 'with DISTINCT, GROUP BY, ORDER BY, LIMIT, WITH or UNION, in WHERE and in joins',
  JoinExpr: 'in joins',
  FuncCall: 'as arguments of such a call',
}

/**
 * The same tree, whose calls take the texts of names: what is a regclass in PostgreSQL is no oid here. `named`: the types that
 * parameters which name sequences are told to have, by their numbers. `constants`: the sequences that constants name.
 */
function withTextArguments(node: { readonly SelectStmt: SelectStmt }, declared: readonly number[]) {
  const named = new Map<number, number>()
  const constants = new Set<string>()
  const tree = structuredClone(node)
  has(tree, (kind, body) => {
    if (kind !== 'FuncCall') return false
    const call = body as FuncCall
    if (!isDrawing(call) || call.args?.[0] === undefined) return false
    const { arg, type } = uncast(call.args[0])
    if (arg === undefined) return false
    if ('ParamRef' in arg) {
      const { number = 0 } = arg.ParamRef
      const own = type === 'text' ? oids.text : type === 'varchar' ? oids.varchar : oids.regclass
      const given = declared[number - 1] || own
      if (![oids.regclass, oids.text, oids.varchar].includes(given as never)) return false
      named.set(number, given)
    }
    if ('A_Const' in arg && arg.A_Const.sval) constants.add(nameOfText(arg.A_Const.sval.sval ?? ''))
    call.args = [arg, ...call.args.slice(1)]
    return false
  })
  return { tree, named, constants }
}
