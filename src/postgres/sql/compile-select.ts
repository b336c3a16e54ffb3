/** Compiles SELECT with its list, groups, order and limits. */
import { tooLate } from './compile-call.ts'
import { compileCondition } from './compile-comparison.ts'
import { fieldOf, innerOf } from './compile-expression.ts'
import { FromCompiler, type Sources } from './compile-from.ts'
import { settle } from './compiler.ts'
import type { FromNode } from './join-parts.ts'
import { Joins } from './joins.ts'
import { labelOf } from './labels.ts'
import type { Compiled, Context, Frame, Query, ResultColumn, Row, Steps } from './plan.ts'
import { type AggregateCall, Scope, type SlotCall, type SortBy, targetsMax } from './scope.ts'
import { distinct, expanded, grouped, having } from './select-steps.ts'
import { withSlots } from './slots.ts'
import { sortBy } from './sorting.ts'
import { positionOf, SqlError } from './sql-error.ts'
import type { Expression, Select, SelectBody, SortKey, Target } from './syntax.ts'
import { isLongTable } from './tables.ts'
import { oids } from './types.ts'
import { numbered } from './windows.ts'

type Simple = Extract<SelectBody, { kind: 'simple' }>
type Limits = { readonly limit: Compiled | undefined; readonly offset: Compiled | undefined }

/** Compiles a SELECT without UNION. `parent` is the scope of the query around. */
export function compileSimple(
  sources: Sources,
  select: Select,
  body: Simple,
  parent: Scope | undefined,
): Query {
  const scope = new Scope(parent)
  const from = new FromCompiler(sources, scope).all(body.from, body.where)
  const aggregates: AggregateCall[] = []
  const slots: SlotCall[] = []
  const groupKeys = compileGroupBy(sources, body, scope)
  scope.aggregates = aggregates
  scope.slots = slots
  const targets = compileTargets(sources, body, scope)
  const order = select.orderBy.map((key) => compileSortKey(sources, key, targets, scope))
  const distinctOn = body.distinctOn.map((each) =>
    compileReference(sources, each, targets, scope, 'DISTINCT ON'),
  )
  if (body.distinct && distinctOn.length === 0 && targets.some(({ isLate }) => isLate))
    throw tooLate('a SELECT DISTINCT', select.at)
  scope.slots = undefined
  const having = body.having ? compileCondition(sources, body.having, scope, 'HAVING') : undefined
  scope.aggregates = undefined
  const limits = compileLimits(sources, select, scope)
  const isGrouped = aggregates.length > 0 || groupKeys.length > 0 || having !== undefined
  const plan: Plan = {
    from,
    groupKeys,
    aggregates,
    slots,
    targets,
    order,
    distinctOn,
    having,
    limits,
    isGrouped,
    isDistinct: body.distinct,
  }
  return {
    columns: targets.map(
      ({ name, value: { type, modifier, fields, source } }): ResultColumn => ({
        name,
        type,
        modifier,
        ...(fields ? { fields } : {}),
        ...(source ? { source } : {}),
      }),
    ),
    get isConstant() {
      return scope.isConstant
    },
    run: (outer, context, isLazy = false) => runPlan(plan, outer, context, isLazy),
  }
}

type NamedTarget = {
  readonly name: string
  readonly value: Compiled
  readonly expression: Expression | undefined
  /** Whether its value is known only when all rows are: one of nextval or its relatives. */
  readonly isLate?: boolean
}

function compileTargets(sources: Sources, { targets }: Simple, scope: Scope): NamedTarget[] {
  const compiled: NamedTarget[] = []
  for (const target of targets) {
    for (const each of compileTarget(sources, target, scope)) compiled.push(each)
    if (compiled.length > targetsMax)
      throw new SqlError('54011', `target lists can have at most ${targetsMax} entries`)
  }
  return compiled
}

function compileTarget(sources: Sources, target: Target, scope: Scope): NamedTarget[] {
  const { expression } = target
  if (expression.kind === 'column' && expression.star) {
    if (expression.names.length === 0 && scope.items.length === 0)
      throw new SqlError('42601', 'SELECT * with no tables specified is not valid', {
        position: positionOf(expression.at),
      })
    return scope.expand(expression.names, expression.at).map((each) => ({ ...each, expression: undefined }))
  }
  if (expression.kind === 'field' && expression.name === '*') return expandFields(sources, expression, scope)
  const calls = scope.serverCalls
  const value = sources.expression(expression, scope)
  return [{ name: labelOf(target), value, expression, isLate: scope.serverCalls > calls }]
}

/** `(f(x)).*` is one column for each field. */
function expandFields(
  sources: Sources,
  expression: Expression & { kind: 'field' },
  scope: Scope,
): NamedTarget[] {
  const calls = scope.serverCalls
  const row = sources.expression(innerOf(expression.operand), scope)
  const isLate = scope.serverCalls > calls
  if (!row.fields)
    throw new SqlError('42809', 'type is not composite', { position: positionOf(expression.at) })
  return row.fields.map(({ name }, index) => {
    return { name, value: fieldOf(row, index), expression: { ...expression, name }, isLate }
  })
}

/** Keys that are named again make no other groups: each number and each name is compiled once. */
function compileGroupBy(sources: Sources, { groupBy, targets }: Simple, scope: Scope): Compiled[] {
  const named = new Map<string, Compiled>()
  const others: Compiled[] = []
  for (const key of groupBy) {
    const isName = key.kind === 'column' && key.names.length === 1
    const name = key.kind === 'number' ? key.text : isName ? `"${key.names[0]}"` : undefined
    if (name === undefined) others.push(settle(sources, sources.expression(key, scope), oids.text))
    else if (!named.has(name)) named.set(name, compileNamedKey(sources, key, targets, scope))
  }
  return [...named.values(), ...others]
}

/** A key that is the number of a target, or a name. */
function compileNamedKey(
  sources: Sources,
  key: Expression,
  targets: readonly Target[],
  scope: Scope,
): Compiled {
  if (key.kind === 'number') {
    const target = targets[Number(key.text) - 1]
    if (!target) throw notInList('GROUP BY', key.text, key.at)
    return sources.expression(target.expression, scope)
  }
  const target = key.kind === 'column' ? targets.find(({ label }) => label === key.names[0]) : undefined
  if (!target) return settle(sources, sources.expression(key, scope), oids.text)
  // A column of FROM goes before the name of a target.
  try {
    return sources.expression(key, scope)
  } catch (error) {
    if (error instanceof SqlError && error.sqlState === '42703')
      return sources.expression(target.expression, scope)
    throw error
  }
}

function notInList(clause: string, position: string, at: number): SqlError {
  return new SqlError('42P10', `${clause} position ${position} is not in select list`, {
    position: positionOf(at),
  })
}

function compileSortKey(
  sources: Sources,
  { expression, descending, nullsFirst }: SortKey,
  targets: readonly NamedTarget[],
  scope: Scope,
): SortBy {
  return { key: compileReference(sources, expression, targets, scope, 'ORDER BY'), descending, nullsFirst }
}

/** An element of ORDER BY: the number of a target, its name, or an expression. */
function compileReference(
  sources: Sources,
  expression: Expression,
  targets: readonly NamedTarget[],
  scope: Scope,
  clause: string,
): Compiled {
  if (expression.kind === 'number' && /^\d+$/.test(expression.text)) {
    const target = targets[Number(expression.text) - 1]
    if (!target) throw notInList(clause, expression.text, expression.at)
    return keyOfTarget(sources, target, clause, expression.at)
  }
  if (expression.kind === 'column' && expression.names.length === 1) {
    const target = targets.find(({ name }) => name === expression.names[0])
    if (target) return keyOfTarget(sources, target, clause, expression.at)
  }
  const calls = scope.serverCalls
  const key = settle(sources, sources.expression(expression, scope), oids.text)
  if (scope.serverCalls > calls) throw tooLate(clause, expression.at)
  return key
}

function keyOfTarget(sources: Sources, { value, isLate }: NamedTarget, clause: string, at: number): Compiled {
  if (isLate) throw tooLate(clause, at)
  return settle(sources, value, oids.text)
}

/** LIMIT and OFFSET. */
export function compileLimits(sources: Sources, { limit, offset }: Select, scope: Scope): Limits {
  const count = (expression: Expression | undefined) =>
    expression ? settle(sources, sources.expression(expression, scope), oids.int8) : undefined
  return { limit: count(limit), offset: count(offset) }
}

/** The rows that LIMIT and OFFSET leave. Throws SqlError 2201W, 2201X. */
export function limited<T>(
  rows: readonly T[],
  { limit, offset }: Limits,
  outer: Frame | undefined,
  context: Context,
): readonly T[] {
  const frame: Frame = { rows: [], outer, context }
  const [count, start] = [limit?.run(frame) ?? null, offset?.run(frame) ?? 0]
  if (count !== null && Number(count) < 0) throw new SqlError('2201W', 'LIMIT must not be negative')
  if (Number(start) < 0) throw new SqlError('2201X', 'OFFSET must not be negative')
  if (count === null && Number(start) === 0) return rows
  return rows.slice(Number(start), count === null ? undefined : Number(start) + Number(count))
}

type Plan = {
  readonly from: FromNode
  readonly groupKeys: readonly Compiled[]
  readonly aggregates: readonly AggregateCall[]
  readonly slots: readonly SlotCall[]
  readonly targets: readonly NamedTarget[]
  readonly order: readonly SortBy[]
  readonly distinctOn: readonly Compiled[]
  readonly having: Compiled | undefined
  readonly limits: Limits
  readonly isGrouped: boolean
  readonly isDistinct: boolean
}

function* runPlan(
  plan: Plan,
  outer: Frame | undefined,
  context: Context,
  isLazy: boolean,
): Steps<readonly Row[]> {
  // A run costs much more than a row.
  context.budget.step(40)
  context.budget.keep(2)
  const joins = new Joins(context, outer, isLongTable)
  const tuples = yield* joins.run(plan.from, [], [])
  let frames: readonly Frame[] = tuples.map((tuple) => joins.frame(tuple))
  if (plan.isGrouped) frames = yield* grouped(plan.groupKeys, plan.aggregates, frames, outer, context)
  if (plan.having) frames = yield* having(plan.having, frames, context)
  if (plan.slots.some(({ kind }) => kind === 'window')) frames = yield* numbered(plan.slots, frames, context)
  if (plan.slots.some(({ kind }) => kind === 'set')) frames = yield* expanded(plan.slots, frames, context)
  if (plan.order.length > 0) frames = yield* sortBy(frames, plan.order, context.budget)
  if (plan.isDistinct) {
    const keys = plan.distinctOn.length > 0 ? plan.distinctOn : plan.targets.map(({ value }) => value)
    frames = yield* distinct(keys, frames, context)
  }
  const kept = limited(frames, plan.limits, outer, context)
  const final = plan.slots.some(({ kind }) => kind === 'server')
    ? yield* withSlots(plan.slots, kept, context)
    : kept
  const canWait = isLazy && !plan.isDistinct && plan.slots.length === 0
  return yield* projected(plan.targets, final, context, canWait)
}

function* projected(
  targets: readonly NamedTarget[],
  frames: readonly Frame[],
  context: Context,
  isLazy: boolean,
): Steps<readonly Row[]> {
  const rows: Row[] = []
  for (const frame of frames) {
    context.budget.step(targets.length)
    context.budget.keep(targets.length)
    if (context.budget.isDue) yield
    rows.push(
      isLazy
        ? {
            values: new Array(targets.length).fill(undefined),
            compute: (column) => targets[column]!.value.run(frame),
          }
        : { values: targets.map(({ value }) => value.run(frame)) },
    )
  }
  return rows
}
