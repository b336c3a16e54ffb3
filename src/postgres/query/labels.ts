/** The names that PostgreSQL gives to columns without AS (`FigureColname` in `parse_target.c`). */
import type { Node, SelectStmt } from 'libpg-query'
import { nameOf, namesOf } from './tree.ts'

/** The name of a column of a result. */
export function labelOf(name: string | undefined, value: Node | undefined): string {
  return name ?? (value && suggested(value)?.name) ?? '?column?'
}

type Label = { readonly name: string; readonly isWeak: boolean }

/** The name that an expression suggests, and whether it is a weak one that a cast around it replaces. */
function suggested(node: Node): Label | undefined {
  if ('ColumnRef' in node) return strong(lastName(node.ColumnRef.fields))
  if ('FuncCall' in node) return strong(lastName(node.FuncCall.funcname))
  if ('A_Indirection' in node) {
    const name = lastName(node.A_Indirection.indirection)
    return name === undefined ? node.A_Indirection.arg && suggested(node.A_Indirection.arg) : strong(name)
  }
  if ('A_Expr' in node) return node.A_Expr.kind === 'AEXPR_NULLIF' ? strong('nullif') : undefined
  if ('CollateClause' in node) return node.CollateClause.arg && suggested(node.CollateClause.arg)
  if ('A_ArrayExpr' in node) return strong('array')
  if ('CoalesceExpr' in node) return strong('coalesce')
  if ('SQLValueFunction' in node)
    return strong(node.SQLValueFunction.op?.replace('SVFOP_', '').replace(/_N$/, '').toLowerCase())
  if ('TypeCast' in node) {
    const { arg, typeName } = node.TypeCast
    const inner = arg && suggested(arg)
    return inner && !inner.isWeak ? inner : weak(namesOf(typeName?.names).at(-1))
  }
  if ('CaseExpr' in node) {
    const { defresult } = node.CaseExpr
    const inner = defresult && suggested(defresult)
    return inner && !inner.isWeak ? inner : weak('case')
  }
  if (!('SubLink' in node)) return undefined
  const { subLinkType, subselect } = node.SubLink
  if (subLinkType === 'EXISTS_SUBLINK') return strong('exists')
  if (subLinkType === 'ARRAY_SUBLINK') return strong('array')
  if (subLinkType !== 'EXPR_SUBLINK' || subselect === undefined || !('SelectStmt' in subselect))
    return undefined
  return strong(firstName(subselect.SelectStmt))
}

function strong(name: string | undefined): Label | undefined {
  return name === undefined ? undefined : { name, isWeak: false }
}

function weak(name: string | undefined): Label | undefined {
  return name === undefined ? undefined : { name, isWeak: true }
}

function lastName(nodes: readonly Node[] | undefined): string | undefined {
  const last = nodes?.findLast((node) => 'String' in node)
  return last && nameOf(last)
}

function firstName({ larg, valuesLists, targetList }: SelectStmt): string {
  if (larg !== undefined) return firstName(larg)
  if (valuesLists !== undefined) return 'column1'
  const target = targetList?.[0]
  return target && 'ResTarget' in target ? labelOf(target.ResTarget.name, target.ResTarget.val) : '?column?'
}
