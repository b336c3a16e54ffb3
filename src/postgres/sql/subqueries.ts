/** Results that are computed once for a statement, where they are always the same. */
import type { Context, Frame, Query } from './plan.ts'

/** The rows of a subquery, computed once for the statement where they are always the same. */
export function rowsOf(query: Query) {
  return (frame: Frame) => {
    const compute = () => frame.context.drain(query.run(frame, frame.context))
    return query.isConstant ? remembered(frame.context, query, compute) : compute()
  }
}

/** What `compute` gives, computed once for the statement. */
export function remembered<T>(context: Context, key: object, compute: () => T): T {
  if (context.memory.has(key)) return context.memory.get(key) as T
  const value = compute()
  context.memory.set(key, value)
  return value
}
