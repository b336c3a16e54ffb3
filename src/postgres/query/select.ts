/**
 * SELECT without WITH and UNION: FROM and WHERE, groups, windows, sets, ORDER BY, DISTINCT, LIMIT, and the list, in this order
 * (PostgreSQL's manual, SELECT).
 */
import type { Node, ResTarget, SelectStmt } from 'libpg-query'
import { SqlError } from '../sql-error.ts'
import { isAggregate, keyOfAll } from './calls.ts'
import { cast, coerced, settled } from './coercion.ts'
import type { Column, Expression, Frame, Query, Row, Run } from './expression.ts'
import { analyse } from './expressions.ts'
import { analyseFrom } from './from.ts'
import { type Plan, runPlan } from './joins.ts'
import { labelOf } from './labels.ts'
import { isOrdered } from './operators.ts'
import {
  type AggregateCall,
  type Binding,
  type Clause,
  columnKey,
  type Queries,
  Scope,
  type SetCall,
  type WindowCall,
} from './scope.ts'
import { comparing, type SortKey, sortKeyOf } from './sorting.ts'
import { failure, has, locationOf, nameOf, namesOf, refused, textOfTree } from './tree.ts'
import { formatType, oids } from './types.ts'
import { keyOf, type Value } from './values.ts'

const targetsMax = 1664

type Target = { readonly name: string; readonly value: Expression; readonly node: Node | undefined }

/** LIMIT and OFFSET. */
type Limits = { readonly count: Expression | undefined; readonly start: Expression | undefined }

type Parts = {
  readonly scope: Scope
  readonly from: Plan
  readonly isGrouped: boolean
  readonly keys: readonly (Expression & { readonly slot: number })[]
  readonly aggregates: readonly AggregateCall[]
  readonly windows: readonly WindowCall[]
  readonly sets: readonly SetCall[]
  readonly order: readonly SortKey[]
  readonly isDistinct: boolean
  readonly limits: Limits
  readonly targets: readonly Target[]
}

/** Analyses it. @param parent the scope of the query around. */
export function analyseSelect(
  select: SelectStmt,
  queries: Queries,
  parent: Scope | undefined,
  bindings: readonly Binding[],
): Query {
  demandPlain(select)
  const scope = new Scope(queries, parent, bindings)
  const from = analyseFrom(select.fromClause ?? [], select.whereClause, scope)
  const list = (select.targetList ?? []).map((node) => ('ResTarget' in node ? node.ResTarget : {}))
  const hasAggregates = has([list, select.sortClause], isAggregateCall, ['SelectStmt', 'subselect'])
  const isGrouped = hasAggregates || select.groupClause !== undefined
  const keys: (Expression & { slot: number })[] = []
  const groups = new Map<string, Expression>()
  for (const node of select.groupClause ?? []) addKey(node, list, scope, groups, keys)
  const calls = { aggregates: [], windows: [], sets: [] }
  const clause: Clause = isGrouped ? { ...calls, groups } : { windows: calls.windows, sets: calls.sets }
  const { targets, isDistinct, order } = scope.within(clause, () => {
    const targets = targetsOf(list, scope)
    const isDistinct = distinctOf(select, targets)
    const order = (select.sortClause ?? []).map((node) =>
      sortKeyOf(node, (value) =>
        settled(scope.parameters, orderKeyOf(value, targets, scope, isDistinct)),
      ),
    )
    return { targets, isDistinct, order }
  })
  const limits = limitsOf(select, scope)
  return queryOf({ scope, from, isGrouped, keys, ...calls, order, isDistinct, limits, targets })
}

const refusedClauses = {
  intoClause: 'SELECT INTO',
  havingClause: 'HAVING',
  windowClause: 'WINDOW',
  lockingClause: 'FOR UPDATE and its relatives',
  groupDistinct: 'GROUP BY DISTINCT',
}

function demandPlain(select: SelectStmt): void {
  for (const [key, name] of Object.entries(refusedClauses))
    if (select[key as keyof SelectStmt]) throw refused(name)
  if (select.limitOption === 'LIMIT_OPTION_WITH_TIES') throw refused('WITH TIES')
}

function isAggregateCall(kind: string, body: unknown): boolean {
  if (kind !== 'FuncCall') return false
  const { funcname, over } = body as { funcname?: Node[]; over?: unknown }
  return over === undefined && isAggregate(namesOf(funcname).at(-1) ?? '')
}

/** A key of GROUP BY: the number or the name of a target, or an expression. */
function addKey(
  node: Node,
  list: readonly ResTarget[],
  scope: Scope,
  groups: Map<string, Expression>,
  keys: (Expression & { slot: number })[],
): void {
  const value = keyNodeOf(node, list, scope)
  const expression = settled(scope.parameters, analyse(value, scope))
  if (!isOrdered(expression.type)) throw refused(`GROUP BY ${formatType(expression.type)}`, locationOf(node))
  const { slot, ...own } = scope.slot(expression.type, expression.modifier)
  keys.push({ ...expression, slot })
  groups.set(expression.column ? columnKey(expression.column) : textOfTree(value), own)
}

function keyNodeOf(node: Node, list: readonly ResTarget[], scope: Scope): Node {
  if ('A_Const' in node) throw refused('GROUP BY with a constant', locationOf(node))
  const name = plainName(node)
  if (name === undefined) return node
  // A column of FROM goes before the name of a target.
  return (scope.named(name).length > 0 ? undefined : list.find((target) => target.name === name)?.val) ?? node
}

function plainName(node: Node): string | undefined {
  if (!('ColumnRef' in node) || node.ColumnRef.fields?.length !== 1) return undefined
  const [field] = node.ColumnRef.fields
  return field && 'String' in field ? nameOf(field) : undefined
}

function targetsOf(list: readonly ResTarget[], scope: Scope): Target[] {
  const targets = list.flatMap((target): Target[] => {
    const { val } = target
    if (val !== undefined && 'ColumnRef' in val && 'A_Star' in (val.ColumnRef.fields?.at(-1) ?? {}))
      return starOf(val.ColumnRef.fields ?? [], scope)
    return [{ name: labelOf(target), value: analyse(val, scope), node: val }]
  })
  if (targets.length > targetsMax)
    throw new SqlError('54011', `target lists can have at most ${targetsMax} entries`)
  return targets
}

/** `*` and `table.*`. */
function starOf(fields: readonly Node[], scope: Scope): Target[] {
  const names = namesOf(fields.slice(0, -1))
  const wanted = scope.items.flatMap((item, index) =>
    names.length === 0 || (item.name === names.at(-1) && (names.length < 2 || item.schema === names.at(-2)))
      ? [index]
      : [],
  )
  if (wanted.length === 0)
    throw names.length === 0
      ? new SqlError('42601', 'SELECT * with no tables specified is not valid')
      : new SqlError('42P01', `missing FROM-clause entry for table "${names.at(-1)}"`)
  if (names.length === 0 && scope.hidden.size > 0) throw refused('SELECT * with USING')
  return wanted.flatMap((item) =>
    scope.items[item]!.columns.map(({ name }, column) => {
      const read = scope.read(item, column)
      const { groups } = scope.clause
      const key = groups && (groups.get(columnKey({ item, column })) ?? null)
      if (key === null) throw refused(`A column beside GROUP BY: ${name}`)
      return { name, value: key ?? read, node: undefined }
    }),
  )
}

function distinctOf({ distinctClause }: SelectStmt, targets: readonly Target[]): boolean {
  if (distinctClause === undefined) return false
  if (distinctClause.some((node) => Object.keys(node).length > 0)) throw refused('DISTINCT ON')
  for (const { value } of targets)
    if (value.type !== oids.unknown && !isOrdered(value.type))
      throw refused(`DISTINCT ${formatType(value.type)}`)
  return true
}

/** An element of ORDER BY: the number of a target, its name, or an expression. */
function orderKeyOf(
  node: Node | undefined,
  targets: readonly Target[],
  scope: Scope,
  isDistinct: boolean,
): Expression {
  if (node !== undefined && 'A_Const' in node && node.A_Const.ival !== undefined) {
    const target = targets[(node.A_Const.ival.ival ?? 0) - 1]
    if (target === undefined) throw failure('42P10', 'ORDER BY position is not in select list', locationOf(node))
    return target.value
  }
  if (node !== undefined && 'A_Const' in node) throw refused('ORDER BY with a constant', locationOf(node))
  const name = node && plainName(node)
  const named = targets.filter((target) => target.name === name)
  if (named.length > 1 && new Set(named.map((each) => textOfTree(each.node))).size > 1)
    throw failure('42702', `ORDER BY "${name}" is ambiguous`, locationOf(node))
  if (named[0] !== undefined) return named[0].value
  const same = node && targets.find((target) => target.node && textOfTree(target.node) === textOfTree(node))
  if (same !== undefined) return same.value
  if (isDistinct) throw refused('DISTINCT with an ORDER BY beside its list', locationOf(node))
  return analyse(node, scope)
}

function limitsOf({ limitCount, limitOffset }: SelectStmt, scope: Scope): Limits {
  const read = (node: Node | undefined) => {
    const value = node && coerced(scope.parameters, analyse(node, scope), oids.int8, locationOf(node))
    if (value !== undefined && value.uses !== 0) throw refused('A column in LIMIT', locationOf(node))
    return value
  }
  return { count: read(limitCount), start: read(limitOffset) }
}

/** The rows that LIMIT and OFFSET leave. Throws 2201W, 2201X. */
function limited(rows: readonly Row[], { count, start }: Limits, frame: Frame): readonly Row[] {
  const [limit, offset] = [count?.run(frame) ?? null, start?.run(frame) ?? 0n]
  if (limit !== null && (limit as bigint) < 0n) throw new SqlError('2201W', 'LIMIT must not be negative')
  if ((offset as bigint) < 0n) throw new SqlError('2201X', 'OFFSET must not be negative')
  if (limit === null && offset === 0n) return rows
  return rows.slice(Number(offset), limit === null ? undefined : Number(offset) + Number(limit))
}

function queryOf(parts: Parts): Query {
  const { scope, targets } = parts
  return {
    columns: targets.map(({ name, value: { type, modifier, source, fields } }): Column => {
      return { name, type, modifier, source, fields }
    }),
    readsOuter: scope.readsOuter,
    readsWorking: scope.readsWorking,
    run: (outer, run) => runSelect(parts, outer, run),
    retyped: (types) =>
      queryOf({
        ...parts,
        targets: targets.map((target, index) => {
          const type = types[index]!
          const value = target.value.type === type ? target.value : cast(scope.parameters, target.value, type)
          return { ...target, value }
        }),
      }),
  }
}

function runSelect(parts: Parts, outer: Frame | undefined, run: Run): readonly Row[] {
  const { from, order, isDistinct, limits, targets } = parts
  const base: Frame = { rows: [], outer, run, slots: [] }
  let frames: readonly Frame[] = runPlan(from, base).map((rows) => ({ ...base, rows }))
  if (parts.isGrouped) frames = grouped(parts, frames, base)
  if (parts.windows.length > 0) frames = numbered(parts.windows, frames)
  if (parts.sets.length > 0) frames = expanded(parts.sets, frames)
  if (order.length > 0) frames = [...frames].sort(comparing(order))
  let rows = frames.map((frame) => targets.map(({ value }) => value.run(frame)))
  run.keep(rows.length * (1 + (targets.length >> 3)))
  if (isDistinct) rows = distinct(rows)
  return limited(rows, limits, base)
}

/** Rows without repetitions. */
export function distinct(rows: readonly Row[]): Value[][] {
  const seen = new Map<string, Row>()
  for (const row of rows) {
    const key = row.map(keyOf).join()
    if (!seen.has(key)) seen.set(key, row)
  }
  return [...seen.values()] as Value[][]
}

function grouped({ keys, aggregates }: Parts, frames: readonly Frame[], base: Frame): Frame[] {
  const groups =
    keys.length === 0 ? new Map([['', [...frames]]]) : Map.groupBy(frames, (frame) => keyOfAll(keys, frame))
  const result: Frame[] = []
  for (const members of groups.values()) {
    const slots: Value[] = []
    for (const key of keys) slots[key.slot] = key.run(members[0]!)
    for (const { slot, run } of aggregates) slots[slot] = run(members, base.run)
    result.push({ ...base, slots })
  }
  return result
}

function withSlot(frame: Frame, slot: number, value: Value): Frame {
  const slots = frame.slots.slice()
  slots[slot] = value
  return { ...frame, slots }
}

/** row_number(): the number of each frame within its partition. */
function numbered(windows: readonly WindowCall[], frames: readonly Frame[]): readonly Frame[] {
  let result = frames
  for (const { slot, partition, compare } of windows) {
    const numbers = new Map<Frame, Value>()
    for (const members of Map.groupBy(result, (frame) => keyOfAll(partition, frame)).values())
      for (const [index, frame] of [...members].sort(compare).entries()) numbers.set(frame, BigInt(index + 1))
    result = result.map((frame) => withSlot(frame, slot, numbers.get(frame)!))
  }
  return result
}

/** One frame for each value of the sets; of several sets the shorter ones end with nulls. */
function expanded(sets: readonly SetCall[], frames: readonly Frame[]): readonly Frame[] {
  return frames.flatMap((frame) => {
    const lists = sets.map((set) => set.run(frame))
    const length = Math.max(...lists.map((list) => list.length))
    return Array.from({ length }, (_, index) => {
      const slots = frame.slots.slice()
      for (const [at, set] of sets.entries()) slots[set.slot] = lists[at]![index] ?? null
      return { ...frame, slots }
    })
  })
}
