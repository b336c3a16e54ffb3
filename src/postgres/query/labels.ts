/** The names that PostgreSQL gives to columns without AS (`FigureColname` in `parse_target.c`). */
import type { Node, ResTarget, SelectStmt } from 'libpg-query'
import { nameOf, namesOf } from './tree.ts'

/** The name of a column of a result. */
export function labelOf({ name, val }: ResTarget): string {
  return name ?? suggested(val) ?? '?column?'
}

/** The name that an expression suggests. @param isStrong without those of casts and of CASE, which a cast around them replaces. */
function suggested(node: Node | undefined, isStrong = false): string | undefined {
  if (node === undefined) return undefined
  if ('ColumnRef' in node) return lastName(node.ColumnRef.fields)
  if ('FuncCall' in node) return lastName(node.FuncCall.funcname)
  if ('A_Indirection' in node)
    return lastName(node.A_Indirection.indirection) ?? suggested(node.A_Indirection.arg, isStrong)
  if ('A_Expr' in node) return node.A_Expr.kind === 'AEXPR_NULLIF' ? 'nullif' : undefined
  if ('CollateClause' in node) return suggested(node.CollateClause.arg, isStrong)
  if ('A_ArrayExpr' in node) return 'array'
  if ('CoalesceExpr' in node) return 'coalesce'
  if ('SQLValueFunction' in node)
    return node.SQLValueFunction.op?.replace('SVFOP_', '').replace(/_N$/, '').toLowerCase()
  if ('TypeCast' in node) {
    const { arg, typeName } = node.TypeCast
    return suggested(arg, true) ?? (isStrong ? undefined : namesOf(typeName?.names).at(-1))
  }
  if ('CaseExpr' in node) return suggested(node.CaseExpr.defresult, true) ?? (isStrong ? undefined : 'case')
  if (!('SubLink' in node)) return undefined
  const { subLinkType, subselect } = node.SubLink
  if (subLinkType === 'EXISTS_SUBLINK') return 'exists'
  if (subLinkType === 'ARRAY_SUBLINK') return 'array'
  const isValue = subLinkType === 'EXPR_SUBLINK' && subselect && 'SelectStmt' in subselect
  return isValue ? firstName(subselect.SelectStmt) : undefined
}

function lastName(nodes: readonly Node[] | undefined): string | undefined {
  const last = nodes?.findLast((node) => 'String' in node)
  return last && nameOf(last)
}

function firstName({ larg, valuesLists, targetList }: SelectStmt): string {
  if (larg !== undefined) return firstName(larg)
  if (valuesLists !== undefined) return 'column1'
  const target = targetList?.[0]
  return target && 'ResTarget' in target ? labelOf(target.ResTarget) : '?column?'
}
