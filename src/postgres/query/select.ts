/**
 * SELECT without WITH and UNION: FROM and WHERE, groups, windows, sets, ORDER BY, DISTINCT, LIMIT, and the list, in this order
 * (PostgreSQL's manual, SELECT).
 */
import type { Node, ResTarget, SelectStmt } from 'libpg-query'
import { SqlError } from '../sql-error.ts'
import { analyse } from './analyse-expression.ts'
import type { Column, Expression, Frame, Query, Row } from './analysed.ts'
import { isAggregate, keyOfAll } from './calls.ts'
import { asKnownType, cast, coerced } from './coercion.ts'
import { analyseFrom } from './from.ts'
import { runPlan } from './joins.ts'
import { labelOf } from './labels.ts'
import { isOrdered } from './operators.ts'
import {
  type AggregateCall,
  type Clause,
  columnKey,
  type QueryContext,
  Scope,
  type SetCall,
  type WindowCall,
} from './scope.ts'
import { comparing, sortKeyOf } from './sorting.ts'
import { has, nameOf, namesOf, refused, textOfTree } from './tree.ts'
import { formatType, oids } from './types.ts'
import { keyOf, type Value } from './values.ts'

const targetsMax = 1664

type Target = { readonly name: string; readonly value: Expression; readonly node: Node | undefined }

/** Analyses a SELECT. */
export function analyseSelect(select: SelectStmt, around: QueryContext): Query {
  demandPlain(select)
  const scope = new Scope(around)
  const from = analyseFrom(select.fromClause ?? [], select.whereClause, scope)
  const list = (select.targetList ?? []).map((node) => ('ResTarget' in node ? node.ResTarget : {}))
  const hasAggregates = has([list, select.sortClause], isAggregateCall, ['SelectStmt', 'subselect'])
  const isGrouped = hasAggregates || select.groupClause !== undefined
  const keys: Expression[] = []
  const aggregates: AggregateCall[] = []
  const windows: WindowCall[] = []
  const sets: SetCall[] = []
  const groups = new Map<string, Expression>()
  for (const node of select.groupClause ?? []) {
    const [value, key] = keyOfGroup(node, list, scope)
    const { slot, ...own } = scope.slot(key.type, key.modifier)
    keys.push(key)
    // All frames of a group have the same value.
    aggregates.push({ slot, run: ([first]) => key.run(first!) })
    groups.set(key.column ? columnKey(key.column) : textOfTree(value), own)
  }
  const clause: Clause = isGrouped ? { aggregates, groups, windows, sets } : { windows, sets }
  const [targets, isDistinct, order] = scope.within(clause, () => {
    const all = targetsOf(list, scope)
    const isDistinct = distinctOf(select, all)
    const sorted = new Set<Expression>()
    const order = (select.sortClause ?? []).map((node) =>
      sortKeyOf(node, (value) => {
        const key = orderKeyOf(value, all, scope, isDistinct)
        sorted.add(key)
        return asKnownType(key)
      }),
    )
    // What is compared has a type of its own, also in a UNION.
    const targets = all.map((each) =>
      isDistinct || sorted.has(each.value) ? { ...each, value: asKnownType(each.value) } : each,
    )
    return [targets, isDistinct, order] as const
  })
  const limit = limitOf(select.limitCount, scope)
  const offset = limitOf(select.limitOffset, scope)
  return queryOf(scope, targets, (values) => (outer, run) => {
    const base: Frame = { rows: [], outer, run, slots: [] }
    let frames: readonly Frame[] = runPlan(from, base).map((rows) => ({ ...base, rows }))
    if (isGrouped) frames = grouped(keys, aggregates, frames, base)
    for (const window of windows) frames = numbered(window, frames)
    if (sets.length > 0) frames = expanded(sets, frames)
    if (order.length > 0) frames = [...frames].sort(comparing(order))
    const rows = frames.map((frame) => values.map((value) => value.run(frame)))
    run.keep(rows.length * (1 + (values.length >> 3)))
    return limited(isDistinct ? distinct(rows) : rows, limit?.run(base) ?? null, offset?.run(base) ?? 0n)
  })
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

/** A key of GROUP BY: the name of a target, or an expression. */
function keyOfGroup(node: Node, list: readonly ResTarget[], scope: Scope): readonly [Node, Expression] {
  if ('A_Const' in node) throw refused('GROUP BY with a constant')
  const name = plainName(node)
  // A column of FROM goes before the name of a target.
  const isTarget = name !== undefined && scope.named(name).length === 0
  const value = (isTarget ? list.find((target) => target.name === name)?.val : undefined) ?? node
  const key = asKnownType(analyse(value, scope))
  if (!isOrdered(key.type)) throw refused(`GROUP BY ${formatType(key.type)}`)
  return [value, key]
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
    if (target === undefined) throw new SqlError('42P10', 'ORDER BY position is not in select list')
    return target.value
  }
  if (node !== undefined && 'A_Const' in node) throw refused('ORDER BY with a constant')
  const name = node && plainName(node)
  const named = targets.filter((target) => target.name === name)
  if (named.length > 1 && new Set(named.map((each) => textOfTree(each.node))).size > 1)
    throw new SqlError('42702', `ORDER BY "${name}" is ambiguous`)
  if (named[0] !== undefined) return named[0].value
  const same = node && targets.find((target) => target.node && textOfTree(target.node) === textOfTree(node))
  if (same !== undefined) return same.value
  if (isDistinct) throw refused('DISTINCT with an ORDER BY beside its list')
  return analyse(node, scope)
}

function limitOf(node: Node | undefined, scope: Scope): Expression | undefined {
  const value = node && coerced(analyse(node, scope), oids.int8)
  if (value !== undefined && value.uses !== 0) throw refused('A column in LIMIT')
  return value
}

/** The rows that LIMIT and OFFSET leave. Throws 2201W, 2201X. */
function limited(rows: readonly Row[], limit: Value, offset: Value): readonly Row[] {
  if (limit !== null && (limit as bigint) < 0n) throw new SqlError('2201W', 'LIMIT must not be negative')
  if ((offset as bigint) < 0n) throw new SqlError('2201X', 'OFFSET must not be negative')
  if (limit === null && offset === 0n) return rows
  return rows.slice(Number(offset), limit === null ? undefined : Number(offset) + Number(limit))
}

/** @param runOf what runs the query with these values of a row */
function queryOf(
  scope: Scope,
  targets: readonly Target[],
  runOf: (values: readonly Expression[]) => Query['run'],
): Query {
  const { readsOuter } = scope
  return {
    columns: targets.map(({ name, value: { type, modifier, source, fields } }): Column => {
      return { name, type, modifier, source, fields }
    }),
    readsOuter,
    run: runOf(targets.map(({ value }) => value)),
    retyped(types) {
      const typed = targets.map((each, at) => ({ ...each, value: cast(each.value, types[at]!) }))
      return queryOf(scope, typed, runOf)
    },
  }
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

function grouped(
  keys: readonly Expression[],
  aggregates: readonly AggregateCall[],
  frames: readonly Frame[],
  base: Frame,
): Frame[] {
  const groups =
    keys.length === 0 ? new Map([['', [...frames]]]) : Map.groupBy(frames, (frame) => keyOfAll(keys, frame))
  return [...groups.values()].map((members) =>
    aggregates.reduce((frame, { slot, run }) => withSlot(frame, slot, run(members, base.run)), base),
  )
}

function withSlot(frame: Frame, slot: number, value: Value): Frame {
  const slots = frame.slots.slice()
  slots[slot] = value
  return { ...frame, slots }
}

/** row_number(): the number of each frame within its partition. */
function numbered({ slot, partition, compare }: WindowCall, frames: readonly Frame[]): readonly Frame[] {
  return [...Map.groupBy(frames, (frame) => keyOfAll(partition, frame)).values()].flatMap((members) =>
    members.sort(compare).map((frame, index) => withSlot(frame, slot, BigInt(index + 1))),
  )
}

/** One frame for each value of the sets; of several sets the shorter ones end with nulls. */
function expanded(sets: readonly SetCall[], frames: readonly Frame[]): readonly Frame[] {
  return frames.flatMap((frame) => {
    const lists = sets.map((set) => set.run(frame))
    const length = Math.max(...lists.map((list) => list.length))
    return Array.from({ length }, (_, index) =>
      sets.reduce((each, { slot }, at) => withSlot(each, slot, lists[at]![index] ?? null), frame),
    )
  })
}
