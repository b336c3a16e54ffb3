/** FROM: tables, queries, functions and joins become steps. Each step adds a part to the rows of those before it. */
import type { Alias, JoinExpr, Node, RangeFunction, RangeSubselect, RangeVar } from 'libpg-query'
import { SqlError } from '../sql-error.ts'
import { analyse, analyseCondition } from './analyse-expression.ts'
import {
  type Column,
  combined,
  type Expression,
  type Frame,
  isConstant,
  type Query,
  type Row,
  rowsOf,
  withNames,
} from './analysed.ts'
import { findCall, itemsOf } from './calls.ts'
import { findTable } from './catalog-rows.ts'
import { commonType } from './coercion.ts'
import { type Joined, type Part, type Plan, planOf } from './joins.ts'
import { applied } from './operators.ts'
import { type Binding, columnKey, type Item, type Scope } from './scope.ts'
import { builtInName, kindOf, located, namesOf, refused } from './tree.ts'
import { oids } from './types.ts'

type Steps = { readonly parts: Joined[]; readonly filters: Expression[] }

/** Analyses FROM and WHERE. */
export function analyseFrom(nodes: readonly Node[], where: Node | undefined, scope: Scope): Plan {
  const steps: Steps = { parts: [], filters: [] }
  for (const node of nodes) add(node, steps, scope)
  if (where !== undefined)
    for (const each of conjuncts(where)) steps.filters.push(analyseCondition(each, scope, 'WHERE'))
  return planOf(steps.parts, steps.filters)
}

/** The conditions that all must hold for a condition to hold. */
function conjuncts(node: Node): readonly Node[] {
  if ('BoolExpr' in node && node.BoolExpr.boolop === 'AND_EXPR')
    return (node.BoolExpr.args ?? []).flatMap(conjuncts)
  return [node]
}

function add(node: Node, steps: Steps, scope: Scope): void {
  if ('JoinExpr' in node) addJoin(node.JoinExpr, steps, scope)
  else steps.parts.push({ part: located(node, () => leafOf(node, scope)) })
}

function addJoin(join: JoinExpr, steps: Steps, scope: Scope): void {
  const { jointype, isNatural, alias, larg, rarg, quals, usingClause } = join
  if (isNatural || alias || (jointype !== 'JOIN_INNER' && jointype !== 'JOIN_LEFT') || !larg || !rarg)
    throw refused(isNatural ? 'NATURAL JOIN' : `The join ${jointype ?? ''}`)
  const start = scope.items.length
  add(larg, steps, scope)
  const middle = scope.items.length
  const isLeft = jointype === 'JOIN_LEFT'
  const conditions = () => {
    if (usingClause !== undefined)
      return namesOf(usingClause).map((name) => merge(name, start, middle, scope))
    return quals === undefined ? [] : conjuncts(quals).map((each) => analyseCondition(each, scope, 'JOIN/ON'))
  }
  if (isLeft) {
    const part = located(rarg, () => leafOf(rarg, scope))
    steps.parts.push({ part, on: conditions() })
  } else {
    add(rarg, steps, scope)
    steps.filters.push(...conditions())
  }
}

/** A column of USING: the equality of both, and the right one is hidden. */
function merge(name: string, start: number, middle: number, scope: Scope): Expression {
  const all = scope.named(name).filter(({ item }) => item >= start)
  const [left, right, ...others] = all
  if (
    left === undefined ||
    right === undefined ||
    left.item >= middle ||
    right.item < middle ||
    others.length > 0
  )
    throw refused(`USING (${name}) of other than one column on each side`)
  scope.hidden.add(columnKey(right))
  const [a, b] = [left, right].map(({ item, column }) => scope.read(item, column)) as [Expression, Expression]
  // Columns that compare need not have a type together.
  commonType([a.type, b.type])
  return applied('=', a, b)
}

function leafOf(node: Node, scope: Scope): Part {
  if ('RangeVar' in node) return tableOf(node.RangeVar, scope)
  if ('RangeSubselect' in node) return queryOf(node.RangeSubselect, scope)
  if ('RangeFunction' in node) return functionOf(node.RangeFunction, scope)
  throw refused('JoinExpr' in node ? 'A join on the right side of a LEFT JOIN' : `FROM ${kindOf(node)}`)
}

function tableOf({ catalogname, schemaname, relname = '', alias }: RangeVar, scope: Scope): Part {
  if (catalogname) throw refused('A name with a database')
  const binding = schemaname === undefined ? scope.binding(relname) : undefined
  if (binding !== undefined) {
    const { columns } = binding
    const item = scope.add({ name: alias?.aliasname ?? relname, columns: renamed(columns, alias) })
    const { query } = binding
    if (query !== undefined) return withQuery(item, binding, query, scope)
    return { item, depends: 'outer', rows: ({ run }) => (run.memory.get(binding) ?? []) as readonly Row[] }
  }
  const table = findTable(schemaname === undefined ? [relname] : [schemaname, relname])
  const item = scope.add({
    name: alias?.aliasname ?? relname,
    ...(alias === undefined && { schema: schemaname ?? (table.oid === 0 ? 'public' : 'pg_catalog') }),
    columns: renamed(table.columns, alias),
  })
  return { item, depends: 'nothing', table, rows: () => [] }
}

/** A query of WITH reads the frame around the query that has the WITH. */
function withQuery(item: number, { around }: Binding, query: Query, scope: Scope): Part {
  if (isConstant(query)) return constantPart(item, query)
  let depth = 0
  for (
    let each: Scope | undefined = scope;
    each !== undefined && each !== around;
    each = each.around.parent
  ) {
    each.readsOuter ||= query.readsOuter
    depth++
  }
  const rows = (frame: Frame) => {
    let outer: Frame | undefined = frame
    for (let level = 0; level < depth; level++) outer = outer?.outer
    return query.run(outer, frame.run)
  }
  return { item, depends: 'outer', rows }
}

function constantPart(item: number, query: Query): Part {
  return { item, depends: 'nothing', rows: (frame) => rowsOf(query, undefined, frame.run) }
}

function queryOf({ subquery, lateral, alias }: RangeSubselect, scope: Scope): Part {
  if (subquery === undefined || !('SelectStmt' in subquery)) throw refused('This query in FROM')
  if (alias === undefined) throw new SqlError('42601', 'subquery in FROM must have an alias')
  if (lateral) throw refused('A query of FROM with LATERAL')
  const query = scope.around.query(subquery.SelectStmt, { ...scope.around, working: undefined })
  if (!isConstant(query)) throw refused('A query of FROM that reads a query further out')
  const item = scope.add({ name: alias.aliasname ?? '', columns: renamed(query.columns, alias) })
  return constantPart(item, query)
}

function functionOf(
  { functions = [], is_rowsfrom, ordinality, coldeflist, alias }: RangeFunction,
  scope: Scope,
): Part {
  if (is_rowsfrom || coldeflist || functions.length !== 1) throw refused('This form of a function in FROM')
  const [call] = functions[0] && 'List' in functions[0] ? (functions[0].List.items ?? []) : functions
  if (call === undefined || !('FuncCall' in call)) throw refused('This form of a function in FROM')
  const { funcname, args = [], ...rest } = call.FuncCall
  if (rest.agg_order || rest.agg_star || rest.over || rest.func_variadic) throw refused('This call in FROM')
  const name = builtInName(funcname)
  const values = args.map((arg) => analyse(arg, scope))
  // unnest of several arrays stands for several calls, whose rows are beside each other.
  const isSeveral = name === 'unnest' && values.length > 1
  const calls = (isSeveral ? values.map((value) => [value]) : [values]).map((each) => findCall(name, each))
  const isVolatile = calls.some(({ definition }) => definition.isVolatile)
  const { uses, isOpen } = combined(oids.void, values, () => null)
  const label = alias?.aliasname ?? name
  const columns = calls.flatMap(({ fields, result }): Column[] =>
    fields !== undefined
      ? fields.map((field) => ({ ...field, modifier: -1 }))
      : [{ name: isSeveral ? name : label, type: result, modifier: -1 }],
  )
  const isScalar = columns.length === 1 && !ordinality
  if (ordinality) columns.push({ name: 'ordinality', type: oids.int8, modifier: -1 })
  const item = scope.add({ name: label, columns: renamed(columns, alias), isScalar } satisfies Item)
  const rows = (frame: Frame): readonly Row[] => {
    const lists = calls.map((each) => itemsOf(each, frame))
    const length = Math.max(...lists.map((list) => list.length))
    return Array.from({ length }, (_, index) => {
      // A call that gives rows gives lists of their fields.
      const row = lists.flatMap((list, at) =>
        calls[at]!.fields ? (list[index] as Row) : [list[index] ?? null],
      )
      return ordinality ? [...row, BigInt(index + 1)] : row
    })
  }
  return { item, depends: uses !== 0 ? 'tuple' : isOpen || isVolatile ? 'outer' : 'nothing', rows }
}

function renamed(columns: readonly Column[], alias: Alias | undefined): readonly Column[] {
  return withNames(columns, namesOf(alias?.colnames), `table "${alias?.aliasname}"`)
}
