/** Compiles calls of aggregates, with DISTINCT, ORDER BY and FILTER. */
import { findAggregate } from './aggregates.ts'
import { compileCondition } from './compile-comparison.ts'
import { type Compiler, convert, noFunction, settle } from './compiler.ts'
import type { Compiled, Context, Frame, Steps } from './plan.ts'
import type { AggregateCall, Scope } from './scope.ts'
import { sortBy, sorted } from './sorting.ts'
import { positionOf, SqlError } from './sql-error.ts'
import type { Call } from './syntax.ts'
import { oids } from './types.ts'
import { compareNullable, keyOf, type Value } from './values.ts'

/** Compiles a call of an aggregate. Throws SqlError 42803 where there may be none. */
export function compileAggregate(compiler: Compiler, name: string, call: Call, scope: Scope): Compiled {
  const { aggregates } = scope
  if (!aggregates)
    throw new SqlError('42803', `aggregate functions are not allowed here`, { position: positionOf(call.at) })
  // An aggregate inside of another one is an error, and so is a set.
  scope.aggregates = undefined
  const slots = scope.slots
  scope.slots = undefined
  const compiled = aggregateCall(compiler, name, call, scope)
  scope.aggregates = aggregates
  scope.slots = slots
  const number = aggregates.push(compiled) - 1
  return { type: compiled.result, modifier: -1, run: (frame) => frame.aggregates![number]!, uses: 0 }
}

function aggregateCall(compiler: Compiler, name: string, call: Call, scope: Scope): AggregateCall {
  const args = call.args.map((arg) => compiler.expression(arg, scope))
  const aggregate = findAggregate(
    name,
    args.map(({ type }) => type),
  )
  if (!aggregate || (args.length === 0 && !call.star)) throw noFunction(call, args)
  const settled = args.map((arg, index) =>
    convert(settle(compiler, arg, aggregate.args[index] ?? oids.text), aggregate.args[index] ?? oids.text),
  )
  const keys = call.orderBy.map(({ expression, descending, nullsFirst }) => {
    const key = compiler.expression(expression, scope)
    return { key: settle(compiler, key, oids.text), descending, nullsFirst }
  })
  const filter = call.filter ? compileCondition(compiler, call.filter, scope, 'FILTER') : undefined
  const type = settled[0]?.type ?? oids.text
  const compute = function* (context: Context, frames: readonly Frame[]): Steps<Value> {
    const { budget } = context
    const ordered = keys.length === 0 ? frames : yield* sortBy(frames, keys, budget)
    const rows: (readonly Value[])[] = []
    const seen = new Set<string>()
    for (const frame of ordered) {
      if (budget.isDueAfter()) yield
      if (filter && filter.run(frame) !== true) continue
      const row = settled.map((arg) => arg.run(frame))
      if (call.distinct) {
        const key = keyOf(row)
        budget.step(key.length >> 6)
        if (seen.has(key)) continue
        seen.add(key)
      }
      budget.keep(1)
      rows.push(row)
    }
    // PostgreSQL finds the different values by sorting.
    const isSorted = call.distinct && keys.length === 0
    const first = (row: readonly Value[]) => row[0] ?? null
    const given = isSorted
      ? yield* sorted(rows, (a, b) => compareNullable(first(a), first(b), type), budget)
      : rows
    return yield* aggregate.finish(context, given)
  }
  return { result: aggregate.result, compute }
}
