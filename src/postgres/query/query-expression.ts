/** Whole queries: WITH, UNION, VALUES (PostgreSQL's manual, chapters 7.4, 7.7 and 7.8). */
import type { Node, RangeVar, SelectStmt, WithClause } from 'libpg-query'
import { SqlError } from '../sql-error.ts'
import { analyse } from './analyse-expression.ts'
import { type Column, type Frame, type Query, type Row, type Run, withNames } from './analysed.ts'
import { coerced, commonType, type ParameterTypes } from './coercion.ts'
import { isOrdered } from './operators.ts'
import { type Binding, type QueryContext, Scope } from './scope.ts'
import { analyseSelect, distinct } from './select.ts'
import { has, namesOf, refused } from './tree.ts'
import { formatType, oids } from './types.ts'
import { keyOf } from './values.ts'

/** Analyses the query of a statement. */
export function analyseStatementQuery(select: SelectStmt, parameters: ParameterTypes): Query {
  return analyseQuery(select, { parameters, analyse, query: analyseQuery, parent: undefined, bindings: [] })
}

function analyseQuery(select: SelectStmt, around: QueryContext): Query {
  return settledTypes(open(select, around))
}

/** A query whose columns may be of open type. */
function open(select: SelectStmt, given: QueryContext): Query {
  const around = select.withClause ? withBindings(select.withClause, given) : given
  const { op = 'SETOP_NONE', all, larg, rarg, valuesLists, withClause: _, ...rest } = select
  if (op === 'SETOP_NONE' && valuesLists === undefined) return analyseSelect(select, around)
  if (select.sortClause || select.limitCount || select.limitOffset || select.lockingClause) {
    // ORDER BY and LIMIT of UNION and VALUES are those of a query around it.
    for (const node of select.sortClause ?? []) demandOutput(node)
    const subquery = { SelectStmt: { op, all, larg, rarg, valuesLists } as SelectStmt }
    const fromClause = [{ RangeSubselect: { subquery, alias: { aliasname: '' } } }]
    return analyseSelect({ ...rest, targetList: [everything], fromClause }, around)
  }
  if (valuesLists !== undefined) return values(valuesLists, around)
  if (op !== 'SETOP_UNION' || larg === undefined || rarg === undefined) throw refused('INTERSECT and EXCEPT')
  return united(all === true, open(larg, around), open(rarg, around))
}

function values(valuesLists: readonly Node[], around: QueryContext): Query {
  const scope = new Scope(around)
  const lists = valuesLists.map((list) => ('List' in list ? (list.List.items ?? []) : []))
  const rows = lists.map((list) => list.map((item) => analyse(item, scope)))
  const width = rows[0]?.length ?? 0
  if (rows.some((row) => row.length !== width))
    throw new SqlError('42601', 'VALUES lists must all be the same length')
  const columns = Array.from({ length: width }, (_, index): Column => {
    const type = commonType(rows.map((row) => row[index]!.type))
    return { name: `column${index + 1}`, type, modifier: -1 }
  })
  const typed = rows.map((row) => row.map((item, at) => coerced(item, columns[at]!.type)))
  return madeQuery(columns, scope.readsOuter, (outer, run) => {
    const frame: Frame = { rows: [], outer, run, slots: [] }
    return typed.map((row) => row.map((item) => item.run(frame)))
  })
}

/** Adds the queries of WITH. */
function withBindings(clause: WithClause, given: QueryContext): QueryContext {
  let around: QueryContext = { ...given, working: undefined }
  for (const node of clause.ctes ?? []) {
    if (!('CommonTableExpr' in node)) throw refused('This form of WITH')
    const { ctename = '', ctequery, aliascolnames, search_clause, cycle_clause } = node.CommonTableExpr
    if (ctequery === undefined || !('SelectStmt' in ctequery) || search_clause || cycle_clause)
      throw refused('This form of WITH')
    const select = ctequery.SelectStmt
    const names = namesOf(aliascolnames)
    const isRecursive = clause.recursive === true && namesTable(select, ctename)
    const query = isRecursive ? recursive(select, ctename, names, around) : analyseQuery(select, around)
    const columns = withNames(query.columns, names, `WITH query "${ctename}"`)
    around = {
      ...around,
      bindings: [...around.bindings, { name: ctename, columns, query, around: given.parent }],
    }
  }
  return around
}

/** WITH RECURSIVE: the rows of the second query, again and again, for those that it found before. */
function recursive(select: SelectStmt, name: string, names: readonly string[], around: QueryContext): Query {
  const { op, all, larg, rarg } = select
  const isPlain = op === 'SETOP_UNION' && larg && rarg && !namesTable(larg, name)
  if (!isPlain || select.sortClause || select.limitCount || select.limitOffset || select.withClause)
    throw refused('This form of WITH RECURSIVE')
  const first = analyseQuery(larg, around)
  const types = first.columns.map(({ type }) => type)
  if (!all && types.some((type) => !isOrdered(type))) throw refused('UNION of such columns')
  const columns = first.columns.map(({ source: _, ...column }) => column)
  const working: Binding = {
    name,
    columns: withNames(columns, names, `WITH query "${name}"`),
    query: undefined,
    around: around.parent,
  }
  const next = open(rarg, { ...around, bindings: [...around.bindings, working], working })
  for (const [index, column] of next.columns.entries())
    if (column.type !== types[index] && column.type !== oids.unknown)
      throw refused('WITH RECURSIVE of two types')
  const typed = next.retyped(types)
  return madeQuery(columns, first.readsOuter || next.readsOuter, (outer, run) =>
    iterated(first, typed, working, all === true, outer, run),
  )
}

function iterated(
  first: Query,
  next: Query,
  working: Binding,
  keepsAll: boolean,
  outer: Frame | undefined,
  run: Run,
): readonly Row[] {
  const seen = new Set<string>()
  const isFresh = (row: Row) => {
    const key = row.map(keyOf).join()
    return keepsAll || (!seen.has(key) && seen.add(key))
  }
  const found: Row[] = []
  const rowsAfter = (query: Query) => query.run(outer, run).filter(isFresh)
  for (let rows = rowsAfter(first); rows.length > 0; rows = rowsAfter(next)) {
    for (const row of rows) found.push(row)
    run.keep(rows.length)
    run.memory.set(working, rows)
  }
  return found
}

function united(all: boolean, left: Query, right: Query): Query {
  if (left.columns.length !== right.columns.length)
    throw new SqlError('42601', 'each UNION query must have the same number of columns')
  const types = left.columns.map((column, index) => {
    const type = commonType([column.type, right.columns[index]!.type])
    if (!all && !isOrdered(type)) throw refused(`UNION of ${formatType(type)}`)
    return type
  })
  const [a, b] = [left.retyped(types), right.retyped(types)]
  const columns = left.columns.map(({ name, modifier }, index): Column => {
    const isSame = modifier === right.columns[index]!.modifier
    return { name, type: types[index]!, modifier: isSame ? modifier : -1 }
  })
  return madeQuery(columns, a.readsOuter || b.readsOuter, (outer, run) => {
    const rows = [...a.run(outer, run), ...b.run(outer, run)]
    return all ? rows : distinct(rows)
  })
}

function madeQuery(columns: readonly Column[], readsOuter: boolean, run: Query['run']): Query {
  return {
    columns,
    readsOuter,
    run,
    retyped(types) {
      if (types.some((type, index) => type !== columns[index]!.type))
        throw refused('A UNION whose columns take another type')
      return this
    },
  }
}

/** Columns of open type become texts. */
function settledTypes(query: Query): Query {
  if (query.columns.every(({ type }) => type !== oids.unknown)) return query
  return query.retyped(query.columns.map(({ type }) => (type === oids.unknown ? oids.text : type)))
}

const everything: Node = { ResTarget: { val: { ColumnRef: { fields: [{ A_Star: {} }] } } } }

/** ORDER BY of UNION and VALUES is by the numbers and names of columns. */
function demandOutput(node: Node): void {
  const value = 'SortBy' in node ? node.SortBy.node : undefined
  const isNumber = value && 'A_Const' in value
  const isName = value && 'ColumnRef' in value && value.ColumnRef.fields?.length === 1
  if (!isNumber && !isName)
    throw new SqlError('0A000', 'invalid UNION/INTERSECT/EXCEPT ORDER BY clause', {
      detail: 'Only result column names can be used, not expressions or functions.',
    })
}

/** Whether a query, or one inside of it, names a table. */
function namesTable(select: SelectStmt, name: string): boolean {
  return has(select, (kind, body) => {
    if (kind !== 'RangeVar') return false
    const { relname, schemaname } = body as RangeVar
    return relname === name && schemaname === undefined
  })
}
