/** Whole queries: WITH, UNION, VALUES (PostgreSQL's manual, chapters 7.4, 7.7 and 7.8). */
import type { Node, SelectStmt, WithClause } from 'libpg-query'
import { SqlError } from '../sql-error.ts'
import { cast, commonType, type ParameterTypes } from './coercion.ts'
import type { Column, Expression, Frame, Query, Row, Run } from './expression.ts'
import { analyse } from './expressions.ts'
import { isOrdered } from './operators.ts'
import { type Binding, type Queries, Scope } from './scope.ts'
import { analyseSelect, distinct, limited, limitsOf } from './select.ts'
import { comparing, sortKeyOf } from './sorting.ts'
import { namesOf, refused } from './tree.ts'
import { formatType, oids } from './types.ts'
import { keyOf } from './values.ts'

/** Analyses queries of one statement. */
export class QueryAnalyser implements Queries {
  readonly parameters: ParameterTypes

  constructor(parameters: ParameterTypes) {
    this.parameters = parameters
  }

  query(select: SelectStmt, parent: Scope | undefined, bindings: readonly Binding[]): Query {
    return settledTypes(this.#open(select, parent, bindings))
  }

  /** A query whose columns may be of open type. */
  #open(select: SelectStmt, parent: Scope | undefined, bindings: readonly Binding[]): Query {
    const known = select.withClause ? this.#with(select.withClause, parent, bindings) : bindings
    if (select.valuesLists !== undefined)
      return this.#ordered(this.#values(select, parent, known), select, parent)
    if (select.op === 'SETOP_NONE' || select.op === undefined)
      return analyseSelect(select, this, parent, known)
    const query = this.#union(select, this.#branches(select, parent, known))
    return this.#ordered(query, select, parent)
  }

  #branches(
    { op, larg, rarg }: SelectStmt,
    parent: Scope | undefined,
    bindings: readonly Binding[],
  ): [Query, Query] {
    if (op !== 'SETOP_UNION' || larg === undefined || rarg === undefined)
      throw refused('INTERSECT and EXCEPT')
    return [this.#open(larg, parent, bindings), this.#open(rarg, parent, bindings)]
  }

  #union({ all }: SelectStmt, [left, right]: readonly [Query, Query]): Query {
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
    return madeQuery(columns, readsOf(a, b), (outer, run) => {
      const rows = [...a.run(outer, run), ...b.run(outer, run)]
      return all ? rows : distinct(rows)
    })
  }

  #values({ valuesLists = [] }: SelectStmt, parent: Scope | undefined, bindings: readonly Binding[]): Query {
    const scope = new Scope(this, parent, bindings)
    const lists = valuesLists.map((list) => ('List' in list ? (list.List.items ?? []) : []))
    const rows = lists.map((list) => list.map((item) => analyse(item, scope)))
    const width = rows[0]?.length ?? 0
    if (rows.some((row) => row.length !== width))
      throw new SqlError('42601', 'VALUES lists must all be the same length')
    const types = Array.from({ length: width }, (_, index) => {
      const all = rows.map((row) => row[index]!.type)
      if (all.every((type) => type === oids.unknown)) return oids.unknown
      const type = commonType(all)
      return type
    })
    return this.#rows(rows, types, scope)
  }

  #rows(rows: readonly (readonly Expression[])[], types: readonly number[], scope: Scope): Query {
    const typed = rows.map((row) => row.map((item, index) => cast(this.parameters, item, types[index]!)))
    const columns = types.map((type, index): Column => ({ name: `column${index + 1}`, type, modifier: -1 }))
    return {
      columns,
      readsOuter: scope.readsOuter,
      readsWorking: scope.readsWorking,
      run(outer, run) {
        const frame: Frame = { rows: [], outer, run, slots: [] }
        return typed.map((row) => row.map((item) => item.run(frame)))
      },
      retyped: (wanted) => this.#rows(rows, wanted, scope),
    }
  }

  /** ORDER BY, LIMIT and OFFSET of UNION and VALUES: by the names and numbers of columns. */
  #ordered(open: Query, select: SelectStmt, parent: Scope | undefined): Query {
    if (!select.sortClause && !select.limitCount && !select.limitOffset) return open
    const query = settledTypes(open)
    const scope = new Scope(this, parent, [])
    scope.add({ name: '', columns: query.columns })
    const order = (select.sortClause ?? []).map((node) =>
      sortKeyOf(node, (value) => outputOf(value, query, scope)),
    )
    const limits = limitsOf(select, new Scope(this, undefined, []))
    return madeQuery(query.columns, query, (outer, run) => {
      const base: Frame = { rows: [], outer, run, slots: [] }
      const frames = query.run(outer, run).map((row): Frame => ({ ...base, rows: [row] }))
      const sorted = order.length === 0 ? frames : frames.sort(comparing(order))
      return limited(sorted, limits, base).map(({ rows }) => rows[0]!)
    })
  }

  #with(clause: WithClause, parent: Scope | undefined, bindings: readonly Binding[]): readonly Binding[] {
    let known = bindings
    for (const node of clause.ctes ?? []) {
      if (!('CommonTableExpr' in node)) throw refused('This form of WITH')
      const { ctename = '', ctequery, aliascolnames, search_clause, cycle_clause } = node.CommonTableExpr
      if (ctequery === undefined || !('SelectStmt' in ctequery) || search_clause || cycle_clause)
        throw refused('This form of WITH')
      const select = ctequery.SelectStmt
      const names = namesOf(aliascolnames)
      const isRecursive = clause.recursive === true && namesTable(select, ctename)
      const query = isRecursive
        ? this.#recursive(select, ctename, names, parent, known)
        : this.query(select, parent, known)
      known = [...known, { name: ctename, columns: renamed(query.columns, names), query, around: parent }]
    }
    return known
  }

  /** WITH RECURSIVE: the rows of the second query, again and again, for those that it found before. */
  #recursive(
    select: SelectStmt,
    name: string,
    names: readonly string[],
    parent: Scope | undefined,
    bindings: readonly Binding[],
  ): Query {
    const { op, all, larg, rarg } = select
    const isPlain = op === 'SETOP_UNION' && larg && rarg && !namesTable(larg, name)
    if (!isPlain || select.sortClause || select.limitCount || select.limitOffset || select.withClause)
      throw refused('This form of WITH RECURSIVE')
    const first = this.query(larg, parent, bindings)
    const types = first.columns.map(({ type }) => type)
    if (!all && types.some((type) => !isOrdered(type))) throw refused('UNION of such columns')
    const columns = first.columns.map(({ source: _, ...column }) => column)
    const working: Binding = { name, columns: renamed(columns, names), query: undefined, around: parent }
    const next = this.#open(rarg, parent, [...bindings, working])
    for (const [index, column] of next.columns.entries())
      if (column.type !== types[index] && column.type !== oids.unknown)
        throw new SqlError(
          '42804',
          `recursive query "${name}" column ${index + 1} has another type in its second query`,
        )
    const typed = next.retyped(types)
    // What it has found itself so far is no concern of others; what a recursion around it has found is.
    const readsWorking = bindings.some(({ query }) => query === undefined)
    const reads = { readsOuter: first.readsOuter || next.readsOuter, readsWorking }
    return madeQuery(columns, reads, (outer, run) =>
      iterated(first, typed, working, all === true, outer, run),
    )
  }
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
  const fresh = (rows: readonly Row[]) =>
    keepsAll
      ? rows
      : rows.filter((row) => {
          const key = row.map(keyOf).join()
          return seen.has(key) ? false : seen.add(key)
        })
  const before = run.memory.get(working)
  const found: Row[] = []
  for (let rows = fresh(first.run(outer, run)); rows.length > 0; rows = fresh(next.run(outer, run))) {
    for (const row of rows) found.push(row)
    run.keep(rows.length)
    run.memory.set(working, rows)
  }
  run.memory.set(working, before)
  return found
}

type Reads = Pick<Query, 'readsOuter' | 'readsWorking'>

function readsOf(left: Query, right: Query): Reads {
  return {
    readsOuter: left.readsOuter || right.readsOuter,
    readsWorking: left.readsWorking || right.readsWorking,
  }
}

function madeQuery(
  columns: readonly Column[],
  { readsOuter, readsWorking }: Reads,
  run: Query['run'],
): Query {
  return {
    columns,
    readsOuter,
    readsWorking,
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

function outputOf(node: Node | undefined, query: Query, scope: Scope): Expression {
  if (node && 'A_Const' in node && node.A_Const.ival !== undefined) {
    const index = (node.A_Const.ival.ival ?? 0) - 1
    if (query.columns[index] === undefined)
      throw new SqlError('42P10', 'ORDER BY position is not in select list')
    return scope.read(0, index)
  }
  const expression = analyse(node, scope)
  if (expression.column === undefined)
    throw new SqlError('0A000', 'invalid UNION/INTERSECT/EXCEPT ORDER BY clause', {
      detail: 'Only result column names can be used, not expressions or functions.',
    })
  return expression
}

function renamed(columns: readonly Column[], names: readonly string[]): readonly Column[] {
  if (names.length > columns.length) throw new SqlError('42P10', 'WITH query has fewer columns than names')
  return columns.map((column, index) => ({ ...column, name: names[index] ?? column.name }))
}

/** Whether a query, or one inside of it, names a table. */
function namesTable(select: SelectStmt, name: string): boolean {
  const find = (node: unknown): boolean => {
    if (typeof node !== 'object' || node === null) return false
    if (Array.isArray(node)) return node.some(find)
    const { relname, schemaname } = node as { relname?: string; schemaname?: string }
    return (relname === name && schemaname === undefined) || Object.values(node).some(find)
  }
  return find(select)
}
