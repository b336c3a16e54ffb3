/** Compiles what stands behind FROM. */

import { demandPlain, fieldsOf, itemsOf, itemTypeOf, matchCall, scalarCall, unify } from './compile-call.ts'
import { applyOperator, compileCondition } from './compile-comparison.ts'
import { type Compiler, noFunction } from './compiler.ts'
import { conjuncts } from './conjuncts.ts'
import { countedRun, isLong } from './costs.ts'
import { serverFunctions } from './functions.ts'
import type { FromNode, Leaf } from './join-parts.ts'
import type { Compiled, Frame, Query, Row, Steps, Table } from './plan.ts'
import type { Scope, ScopeColumn } from './scope.ts'
import { positionOf, SqlError, unsupported } from './sql-error.ts'
import { remembered } from './subqueries.ts'
import type { Alias, Expression, FromItem } from './syntax.ts'
import { oids } from './types.ts'
import type { RowValue, Value } from './values.ts'

/** What FROM may name: tables, and the queries of WITH. */
export interface Sources extends Compiler {
  /** The table of a qualified name. Throws SqlError 42P01. */
  table(names: readonly string[], at: number): Table
  /** The query of WITH that has this name, as seen from `scope`. */
  withQuery(name: string, scope: Scope): Query | undefined
}

/** Compiles the elements of FROM into `scope`. */
export class FromCompiler {
  readonly #sources: Sources
  readonly #scope: Scope

  constructor(sources: Sources, scope: Scope) {
    this.#sources = sources
    this.#scope = scope
  }

  /** The node for all elements and the conditions of WHERE; undefined without FROM. */
  all(items: readonly FromItem[], where: Expression | undefined): FromNode {
    const parts = items.map((item) => this.item(item))
    const conditions = conjuncts(where).map((each) =>
      compileCondition(this.#sources, each, this.#scope, 'WHERE'),
    )
    return inner(parts, conditions)
  }

  /** The node for one element. */
  item(item: FromItem): FromNode {
    switch (item.kind) {
      case 'table':
        return this.#table(item)
      case 'query':
        return this.#query(item)
      case 'function':
        return this.#function(item)
      case 'join':
        return this.#join(item)
    }
  }

  #table({ names, alias, at }: FromItem & { kind: 'table' }): FromNode {
    const bound = names.length === 1 ? this.#sources.withQuery(names[0]!, this.#scope) : undefined
    if (bound) return this.#rows(bound, alias ?? { name: names[0]!, columns: [], types: [] }, undefined, at)
    const table = this.#sources.table(names, at)
    const schema = alias ? undefined : (names.at(-2) ?? 'pg_catalog')
    const name = alias?.name ?? names.at(-1)!
    const item = this.#scope.add({ name, schema, columns: renamed(table.columns, alias, at), table }, at)
    return leafOf(item, 0, () => emptyRows(), table)
  }

  #query({ select, alias, lateral, at }: FromItem & { kind: 'query' }): FromNode {
    if (!alias)
      throw new SqlError('42601', 'subquery in FROM must have an alias', {
        position: positionOf(at),
        hint: 'For example, FROM (SELECT ...) [AS] foo.',
      })
    if (!lateral) return this.#rows(this.#sources.query(select, this.#scope.parent), alias, undefined, at)
    const before = this.#scope.uses
    this.#scope.uses = 0
    const query = this.#sources.query(select, this.#scope)
    const needs = this.#scope.uses
    this.#scope.uses = before | needs
    return this.#rows(query, alias, needs, at)
  }

  /** `needs` undefined: the query is not lateral, and its outer frame is that of this query. */
  #rows(query: Query, alias: Alias, needs: number | undefined, at: number): FromNode {
    const columns = query.columns.map((column) => ({
      ...column,
      type: column.type === oids.unknown ? oids.text : column.type,
    }))
    const item = this.#scope.add(
      { name: alias.name, schema: undefined, columns: renamed(columns, alias, at) },
      at,
    )
    const run = function* (frame: Frame): Steps<readonly Row[]> {
      if (needs !== undefined) return yield* query.run(frame, frame.context, true)
      if (!query.isConstant) return yield* query.run(frame.outer, frame.context, true)
      const known = frame.context.memory.get(query) as readonly Row[] | undefined
      if (known) return known
      const rows = yield* query.run(frame.outer, frame.context, true)
      return remembered(frame.context, query, () => rows)
    }
    return leafOf(item, needs ?? 0, run)
  }

  #function({ calls: [call], ordinality, alias, at }: FromItem & { kind: 'function' }): FromNode {
    const before = this.#scope.uses
    this.#scope.uses = 0
    const { uncounted } = this.#sources
    this.#sources.uncounted = 0
    const args = call!.args.map((arg) => this.#sources.expression(arg, this.#scope))
    const parts = this.#sources.uncounted + 1
    this.#sources.uncounted = uncounted
    const needs = this.#scope.uses
    this.#scope.uses = before | needs
    const name = call!.names.at(-1)!
    if (serverFunctions.some((each) => each.name === name)) throw unsupported(`${name} behind FROM`, at)
    if (name === 'unnest' && args.length > 1) return this.#unnest(args, needs, ordinality, alias, at)
    const { definition, settled, types } = matchCall(this.#sources, call!, args)
    if (!definition) throw noFunction(call!, args)
    const fields = fieldsOf(definition, types)
    demandPlain(call!, name)
    const single = definition.isSet ? undefined : scalarCall(definition, settled, types)
    const run = single && isLong(parts) ? countedRun(single.run, parts) : single?.run
    const values = run ? (frame: Frame) => [run(frame)] : itemsOf(definition, settled, types)
    const columns = fields
      ? fields.map((field) => ({ ...field, modifier: -1 }))
      : [{ name: alias?.name || name, type: single?.type ?? itemTypeOf(definition, types), modifier: -1 }]
    const rows = (value: Value) => (fields ? [...(value as RowValue).values] : [value])
    return this.#set(
      values,
      rows,
      columns,
      needs,
      ordinality,
      alias ?? { name, columns: [], types: [] },
      !fields,
      at,
    )
  }

  /** `unnest(a, b)` gives rows of one element each. */
  #unnest(
    args: readonly Compiled[],
    needs: number,
    ordinality: boolean,
    alias: Alias | undefined,
    at: number,
  ): FromNode {
    const calls = args.map((arg) => {
      const call = {
        kind: 'call',
        names: ['unnest'],
        args: [],
        star: false,
        distinct: false,
        variadic: false,
        orderBy: [],
        filter: undefined,
        over: undefined,
        at,
      } as const
      const { definition, settled, types } = matchCall(this.#sources, call, [arg])
      if (!definition) throw noFunction(call, [arg])
      return { items: itemsOf(definition, settled, types), type: itemTypeOf(definition, types) }
    })
    const columns = calls.map(({ type }) => ({ name: 'unnest', type, modifier: -1 }))
    const items = (frame: Frame) => {
      const lists = calls.map((call) => [...call.items(frame)])
      const length = Math.max(...lists.map((list) => list.length))
      return Array.from({ length }, (_, index) => lists.map((list) => list[index] ?? null))
    }
    return this.#set(
      items,
      (value) => [...(value as readonly Value[])],
      columns,
      needs,
      ordinality,
      alias ?? { name: 'unnest', columns: [], types: [] },
      false,
      at,
    )
  }

  #set(
    items: (frame: Frame) => Iterable<Value>,
    valuesOf: (item: Value) => Value[],
    columns: readonly ScopeColumn[],
    needs: number,
    ordinality: boolean,
    alias: Alias,
    isScalar: boolean,
    at: number,
  ): FromNode {
    const all = ordinality ? [...columns, { name: 'ordinality', type: oids.int8, modifier: -1 }] : columns
    if (alias.types.length > 0) throw unsupported('A list of columns with types', at)
    const item = this.#scope.add(
      {
        name: alias.name,
        schema: undefined,
        columns: renamed(all, alias, at),
        isScalar: isScalar && !ordinality,
      },
      at,
    )
    const run = function* (frame: Frame): Steps<readonly Row[]> {
      const rows: Row[] = []
      for (const each of items(frame)) {
        frame.context.budget.step()
        frame.context.budget.keep(all.length)
        if (frame.context.budget.isDue) yield
        rows.push({ values: ordinality ? [...valuesOf(each), BigInt(rows.length + 1)] : valuesOf(each) })
      }
      return rows
    }
    return leafOf(item, needs, run)
  }

  #join(item: FromItem & { kind: 'join' }): FromNode {
    const before = new Set(this.#scope.merged.keys())
    const start = this.#scope.items.length
    const left = this.item(item.left)
    const middle = this.#scope.items.length
    const right = this.item(item.right)
    const using = item.natural ? this.#sharedNames(start, middle) : item.using
    const conditions = using
      ? using.map((name) => this.#merge(name, item, start, middle, before))
      : conjuncts(item.on).map((each) => compileCondition(this.#sources, each, this.#scope, 'JOIN/ON'))
    if (item.type === 'inner' || item.type === 'cross') return inner([left, right], conditions)
    const [first, second] = item.type === 'right' ? [right, left] : [left, right]
    const bits = left.bits | right.bits
    const needs = (left.needs | right.needs) & ~bits
    return {
      kind: 'outer',
      isFull: item.type === 'full',
      left: first,
      right: second,
      conditions,
      bits,
      needs,
    }
  }

  #sharedNames(start: number, middle: number): string[] {
    const { items } = this.#scope
    const right = new Set(items.slice(middle).flatMap(({ columns }) => columns.map(({ name }) => name)))
    const left = new Set(items.slice(start, middle).flatMap(({ columns }) => columns.map(({ name }) => name)))
    return [...left].filter((name) => right.has(name))
  }

  #merge(
    name: string,
    { type, at }: FromItem & { kind: 'join' },
    start: number,
    middle: number,
    before: ReadonlySet<string>,
  ): Compiled {
    const scope = this.#scope
    const place = (from: number, to: number) => {
      for (let item = from; item < to; item++) {
        const column = scope.items[item]!.columns.findIndex((each) => each.name === name)
        if (column >= 0) return { item, column }
      }
      return undefined
    }
    const [leftPlace, rightPlace] = [place(start, middle), place(middle, scope.items.length)]
    const known = before.has(name) ? undefined : scope.merged.get(name)
    if ((!leftPlace && !known) || !rightPlace)
      throw new SqlError(
        '42703',
        `column "${name}" specified in USING clause does not exist in ${leftPlace ? 'right' : 'left'} table`,
        { position: positionOf(at) },
      )
    const left = known ?? scope.read(leftPlace!.item, leftPlace!.column)
    const right = scope.read(rightPlace.item, rightPlace.column)
    const { items, type: shared } = unify(this.#sources, [left, right], 'JOIN/USING', at)
    const both: Compiled = {
      type: shared,
      modifier: -1,
      uses: left.uses | right.uses,
      run: (frame) => items[0]!.run(frame) ?? items[1]!.run(frame),
    }
    scope.merge(name, leftPlace, rightPlace, type === 'full' ? both : type === 'right' ? right : left)
    return applyOperator(this.#sources, '=', left, right, at)
  }
}

function inner(parts: readonly FromNode[], conditions: readonly Compiled[]): FromNode {
  const flat = parts.flatMap((part) => (part.kind === 'inner' ? part.parts : [part]))
  const all = [...parts.flatMap((part) => (part.kind === 'inner' ? part.conditions : [])), ...conditions]
  const bits = flat.reduce((sum, part) => sum | part.bits, 0)
  const needs = flat.reduce((sum, part) => sum | part.needs, 0) & ~bits
  return { kind: 'inner', parts: flat, conditions: all, bits, needs }
}

function leafOf(item: number, needs: number, rows: Leaf['rows'], table?: Table): Leaf {
  return { kind: 'leaf', item, bits: 1 << item, needs, rows, ...(table ? { table } : {}) }
}

// biome-ignore lint/correctness/useYield: a table's rows come from the context
function* emptyRows(): Steps<readonly Row[]> {
  return []
}

function renamed(columns: readonly ScopeColumn[], alias: Alias | undefined, at: number): ScopeColumn[] {
  const names = alias?.columns ?? []
  if (names.length > columns.length)
    throw new SqlError(
      '42P10',
      `table "${alias!.name}" has ${columns.length} columns available but ${names.length} columns specified`,
      { position: positionOf(at) },
    )
  return columns.map((column, index) =>
    names[index] === undefined ? column : { ...column, name: names[index] },
  )
}
