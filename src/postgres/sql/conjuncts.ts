/** The parts of a condition that must all hold. */
import type { Expression } from './syntax.ts'

/** The operands of AND, on all levels. */
export function conjuncts(condition: Expression | undefined): Expression[] {
  if (!condition) return []
  return condition.kind === 'and' ? condition.operands.flatMap(conjuncts) : [condition]
}
