/** Compiles whole queries: WITH, UNION and its relatives, VALUES. */
import { castValue, commonType } from './coercion.ts'
import { unify } from './compile-call.ts'
import { compileExpression } from './compile-expression.ts'
import type { Sources } from './compile-from.ts'
import { compileLimits, compileSimple, limited } from './compile-select.ts'
import { mismatch, type ParameterTypes } from './compiler.ts'
import { countKey, keyOfAll } from './costs.ts'
import type { Compiled, Context, Frame, Query, ResultColumn, Row, Steps, Table } from './plan.ts'
import { Scope } from './scope.ts'
import { sortRows } from './select-steps.ts'
import { positionOf, SqlError, unsupported } from './sql-error.ts'
import type { Expression, Select, SelectBody, WithQuery } from './syntax.ts'
import { findTable } from './tables.ts'
import { formatType, oids } from './types.ts'
import type { Value } from './values.ts'
import { namesIn, queriesRead } from './with-names.ts'

type Union = Extract<SelectBody, { kind: 'set' }>
/** A query of WITH while the queries that may name it are compiled. */
type Binding = {
  readonly name: string
  readonly query: Query
  /** Whether it is computed once for the statement. */
  readonly isOnce: boolean
}

/** The most columns of all queries of a statement: `TABLE pg_class` has 33. */
const columnsMax = 5000

/** Compiles one statement. */
export class QueryCompiler implements Sources {
  readonly parameters: ParameterTypes
  uncounted = 0
  /** The columns of all queries so far. */
  columns = 0
  readonly #bindings: Binding[] = []

  constructor(parameters: ParameterTypes) {
    this.parameters = parameters
  }

  expression(expression: Expression, scope: Scope): Compiled {
    return compileExpression(this, expression, scope)
  }

  table(names: readonly string[], at: number): Table {
    return findTable(names, at)
  }

  withQuery(name: string, scope: Scope): Query | undefined {
    const binding = this.#bindings.findLast((each) => each.name === name)
    if (binding && !binding.isOnce) scope.markVariable()
    return binding?.query
  }

  query(select: Select, parent: Scope | undefined): Query {
    const outside = this.#bindings.length
    const all = select.with.map((each) => this.#with(each, select.recursive, parent))
    const read = queriesRead(select)
    const prepared = all.filter((_, index) => read.has(select.with[index]!))
    const query = this.#body(select, parent)
    this.#bindings.length = outside
    this.columns += query.columns.length
    if (this.columns > columnsMax)
      throw new SqlError(
        '54000',
        `the queries inside of a query have at most ${columnsMax} columns together; name the columns that you need`,
      )
    return prepared.length === 0 ? query : withPrepared(query, prepared)
  }

  #body(select: Select, parent: Scope | undefined): Query {
    const { body } = select
    if (body.kind === 'simple') return compileSimple(this, select, body, parent)
    const query =
      body.kind === 'values'
        ? this.#values(body.rows, parent, select.at)
        : this.#union(body, parent, select.at)
    return this.#ordered(query, select, parent)
  }

  #with(item: WithQuery, recursive: boolean, parent: Scope | undefined): Prepared {
    const { body } = item.select
    const names =
      recursive && body.kind === 'set' && body.operation === 'union' && namesIn(body.right).has(item.name)
    if (names) return this.#recursive(item, body, parent)
    const query = this.query(item.select, parent)
    const key = {}
    this.#bind(item, query.columns, key, parent === undefined)
    return { key, isConstant: query.isConstant, compute: (outer, context) => query.run(outer, context) }
  }

  #bind(item: WithQuery, columns: readonly ResultColumn[], key: object, isOnce: boolean): void {
    const settled = columns.map((column) => ({
      ...column,
      type: column.type === oids.unknown ? oids.text : column.type,
    }))
    const named = settled.map((column, index) => ({ ...column, name: item.columns[index] ?? column.name }))
    if (item.columns.length > columns.length)
      throw new SqlError(
        '42P10',
        `WITH query "${item.name}" has ${columns.length} columns available but ${item.columns.length} columns specified`,
        { position: positionOf(item.at) },
      )
    // biome-ignore lint/correctness/useYield: the rows are there
    const run = function* (_: Frame | undefined, context: Context): Steps<readonly Row[]> {
      return context.working.get(key) ?? []
    }
    this.#bindings.push({ name: item.name, isOnce, query: { columns: named, isConstant: false, run } })
  }

  /** `WITH RECURSIVE x AS (first UNION [ALL] next)`: next sees the rows that the round before has added. */
  #recursive(item: WithQuery, body: Union, parent: Scope | undefined): Prepared {
    if (item.select.orderBy.length > 0 || item.select.limit || item.select.offset)
      throw unsupported('ORDER BY or LIMIT in a recursive query', item.at)
    const first = this.query(body.left, parent)
    const key = {}
    const columns = first.columns.map((column) => ({
      ...column,
      type: column.type === oids.unknown ? oids.text : column.type,
    }))
    this.#bind(item, columns, key, false)
    const next = this.query(body.right, parent)
    this.#bindings.pop()
    const types = columns.map(({ type }) => type)
    checkRecursion(item.name, columns, next)
    this.#bind(item, columns, key, parent === undefined)
    const compute = function* (outer: Frame | undefined, context: Context): Steps<readonly Row[]> {
      const seen = body.all ? undefined : new Set<string>()
      const rounds: (readonly Row[])[] = []
      const own = function* (query: Query): Steps<readonly Row[]> {
        const rows = yield* converted(yield* query.run(outer, context), query, types, context)
        return yield* newRows(rows, seen, context)
      }
      for (let round = yield* own(first); round.length > 0; round = yield* own(next)) {
        rounds.push(round)
        context.working.set(key, round)
      }
      return rounds.flat()
    }
    return { key, isConstant: first.isConstant && parent === undefined, compute }
  }

  #values(rows: readonly (readonly Expression[])[], parent: Scope | undefined, at: number): Query {
    const scope = new Scope(parent)
    const width = rows[0]!.length
    if (rows.some((row) => row.length !== width))
      throw new SqlError('42601', 'VALUES lists must all be the same length', { position: positionOf(at) })
    const compiled = rows.map((row) => row.map((each) => this.expression(each, scope)))
    const columns = Array.from({ length: width }, (_, column) =>
      unify(
        this,
        compiled.map((row) => row[column]!),
        'VALUES',
        at,
      ),
    )
    const run = function* (outer: Frame | undefined, context: Context): Steps<readonly Row[]> {
      const frame: Frame = { rows: [], outer, context }
      const result: Row[] = []
      for (const row of rows.keys()) {
        context.budget.step(width)
        context.budget.keep(width)
        if (context.budget.isDue) yield
        result.push({ values: columns.map(({ items }) => items[row]!.run(frame)) })
      }
      return result
    }
    return {
      columns: columns.map(({ type }, index) => ({ name: `column${index + 1}`, type, modifier: -1 })),
      get isConstant() {
        return scope.isConstant
      },
      run,
    }
  }

  #union({ operation, all, left, right }: Union, parent: Scope | undefined, at: number): Query {
    const [first, second] = [this.query(left, parent), this.query(right, parent)]
    if (first.columns.length !== second.columns.length)
      throw new SqlError(
        '42601',
        `each ${operation.toUpperCase()} query must have the same number of columns`,
        { position: positionOf(at) },
      )
    const columns = first.columns.map((column, index): ResultColumn => {
      const other = second.columns[index]!
      const type = commonType([column.type, other.type])
      if (type === undefined) throw mismatch(operation.toUpperCase(), column.type, other.type, at)
      const modifier = column.type === other.type && column.modifier === other.modifier ? column.modifier : -1
      return { name: column.name, type, modifier }
    })
    const types = columns.map(({ type }) => type)
    const run = function* (outer: Frame | undefined, context: Context): Steps<readonly Row[]> {
      const a = yield* converted(yield* first.run(outer, context), first, types, context)
      const b = yield* converted(yield* second.run(outer, context), second, types, context)
      return yield* combined(operation, all, a, b, context)
    }
    return { columns, isConstant: first.isConstant && second.isConstant, run }
  }

  /** ORDER BY and LIMIT behind VALUES and UNION: ORDER BY knows names and numbers of columns only. */
  #ordered(query: Query, select: Select, parent: Scope | undefined): Query {
    const keys = select.orderBy.map(({ expression, descending, nullsFirst }) => {
      const column =
        expression.kind === 'number'
          ? Number(expression.text) - 1
          : query.columns.findIndex(
              ({ name }) =>
                expression.kind === 'column' && expression.names.length === 1 && name === expression.names[0],
            )
      const found = query.columns[column]
      if (!found) throw unsupported('ORDER BY with an expression behind UNION or VALUES', expression.at)
      return { column, type: found.type, descending, nullsFirst }
    })
    const limits = compileLimits(this, select, new Scope(parent))
    if (keys.length === 0 && !limits.limit && !limits.offset) return query
    const run = function* (outer: Frame | undefined, context: Context): Steps<readonly Row[]> {
      const rows = yield* query.run(outer, context)
      const inOrder = keys.length === 0 ? rows : yield* sortRows(rows, keys, context)
      return limited(inOrder, limits, outer, context)
    }
    return { ...query, isConstant: query.isConstant, run }
  }
}

type Prepared = {
  readonly key: object
  readonly isConstant: boolean
  readonly compute: (outer: Frame | undefined, context: Context) => Steps<readonly Row[]>
}

function withPrepared(query: Query, prepared: readonly Prepared[]): Query {
  const run = function* (outer: Frame | undefined, context: Context): Steps<readonly Row[]> {
    const before = prepared.map(({ key }) => context.working.get(key))
    for (const { key, compute } of prepared) context.working.set(key, yield* compute(outer, context))
    const rows = yield* query.run(outer, context)
    for (const [index, { key }] of prepared.entries()) context.working.set(key, before[index] ?? [])
    return rows
  }
  return {
    columns: query.columns,
    isConstant: query.isConstant && prepared.every(({ isConstant }) => isConstant),
    run,
  }
}

function checkRecursion(name: string, columns: readonly ResultColumn[], next: Query): void {
  if (next.columns.length !== columns.length)
    throw new SqlError('42601', 'each UNION query must have the same number of columns')
  for (const [index, { type }] of columns.entries()) {
    const other = next.columns[index]!.type
    if (other !== oids.unknown && commonType([type, other]) !== type)
      throw new SqlError(
        '42804',
        `recursive query "${name}" column ${index + 1} has type ${formatType(type)} in non-recursive term but type ${formatType(other)} overall`,
      )
  }
}

function* newRows(
  rows: readonly Row[],
  seen: Set<string> | undefined,
  { budget }: Context,
): Steps<readonly Row[]> {
  if (!seen) {
    budget.step(rows.length)
    return rows
  }
  const added: Row[] = []
  for (const row of rows) {
    const key = keyOfAll(row.values as readonly Value[], budget)
    if (budget.isDueAfter(1 + (key.length >> 6))) yield
    if (seen.has(key)) continue
    countKey(budget, key)
    seen.add(key)
    added.push(row)
  }
  return added
}

/** Rows of a query with its columns in other types. */
function* converted(
  rows: readonly Row[],
  { columns }: Query,
  types: readonly number[],
  context: Context,
): Steps<readonly Row[]> {
  if (columns.every(({ type }, index) => type === types[index])) return rows
  const result: Row[] = []
  for (const { values } of rows) {
    if (context.budget.isDueAfter(types.length)) yield
    result.push({
      values: values.map((value, index) =>
        value === null || value === undefined
          ? null
          : castValue(context, value, columns[index]!.type, types[index]!),
      ),
    })
  }
  return result
}

function* combined(
  operation: Union['operation'],
  all: boolean,
  left: readonly Row[],
  right: readonly Row[],
  context: Context,
): Steps<readonly Row[]> {
  const { budget } = context
  budget.keep(left.length + right.length)
  if (operation === 'union') return yield* newRows(left.concat(right), all ? undefined : new Set(), context)
  const counts = new Map<string, number>()
  for (const row of right) {
    const key = keyOfAll(row.values as readonly Value[], budget)
    if (budget.isDueAfter(1 + (key.length >> 6))) yield
    if (!counts.has(key)) countKey(budget, key)
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const seen = new Set<string>()
  const kept: Row[] = []
  for (const row of left) {
    const key = keyOfAll(row.values as readonly Value[], budget)
    if (budget.isDueAfter(1 + (key.length >> 6))) yield
    const count = counts.get(key) ?? 0
    if (all) counts.set(key, count - 1)
    else if (seen.has(key)) continue
    countKey(budget, key)
    seen.add(key)
    if (operation === 'intersect' ? count > 0 : count <= 0) kept.push(row)
  }
  return kept
}
