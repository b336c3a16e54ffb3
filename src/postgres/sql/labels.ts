/** The names that PostgreSQL gives to columns without AS (`FigureColname` in `parse_target.c`). */
import type { Expression, Target } from './syntax.ts'

/** The name of a column of a result. */
export function labelOf({ expression, label }: Target): string {
  return label ?? nameOf(expression)?.name ?? '?column?'
}

/** The name that an expression suggests, and whether it is a weak one that a cast around it replaces. */
function nameOf(expression: Expression): { readonly name: string; readonly isWeak: boolean } | undefined {
  switch (expression.kind) {
    case 'column':
      return strong(expression.names.at(-1)!)
    case 'call':
      return strong(expression.names.at(-1)!)
    case 'field':
      return strong(expression.name)
    case 'subscript':
      return nameOf(expression.operand)
    case 'array':
    case 'row':
      return strong(expression.kind)
    case 'query':
      return expression.use === 'scalar' ? nameOfQuery(expression) : strong(expression.use)
    case 'cast': {
      const inner = nameOf(expression.operand)
      return inner && !inner.isWeak ? inner : { name: expression.type.names.at(-1)!, isWeak: true }
    }
    case 'case': {
      const inner = expression.otherwise ? nameOf(expression.otherwise) : undefined
      return inner && !inner.isWeak ? inner : { name: 'case', isWeak: true }
    }
    default:
      return undefined
  }
}

function strong(name: string) {
  return { name, isWeak: false }
}

function nameOfQuery({ select }: Expression & { kind: 'query' }): { name: string; isWeak: boolean } {
  let { body } = select
  while (body.kind === 'set') body = body.left.body
  if (body.kind === 'values') return strong('column1')
  const [target] = body.targets
  return strong(target ? labelOf(target) : '?column?')
}
