/** Which statements take next to nothing: those may run in the thread that serves all clients. */
import type { Node } from 'libpg-query'
import { nameOf } from './tree.ts'

const nodesMax = 200
/** What the tree of such a statement is made of. */
const kinds: ReadonlySet<string> = new Set(
  'SelectStmt ResTarget A_Const A_Expr BoolExpr TypeCast FuncCall CaseExpr CaseWhen CoalesceExpr NullTest ParamRef SQLValueFunction String Integer'.split(
    ' ',
  ),
)
const functions =
  /^(?:version|now|user|pg_backend_pid|pg_is_in_recovery|pg_postmaster_start_time|getdatabaseencoding|pg_advisory_unlock_all|set_config|gen_random_uuid|pg_encoding_to_char|(?:session|current)_\w+|(?:transaction|statement)_timestamp)$/
const operators = /^(?:=|<>|<|<=|>|>=|\+|-|%|&)$/

/** Whether a statement has no FROM and no query inside, few nodes, and only functions and operators of little work. */
export function isCheap(statement: Node): boolean {
  let nodes = 0
  const visit = (value: unknown): boolean => {
    if (typeof value !== 'object' || value === null) return true
    if (Array.isArray(value)) return value.every(visit)
    if (++nodes > 4 * nodesMax) return false
    return Object.entries(value).every(([key, body]) => {
      if (/^[A-Z]/.test(key) && !kinds.has(key)) return false
      if (key === 'fromClause' || key === 'valuesLists' || key === 'withClause' || key === 'larg')
        return false
      if (key === 'funcname' && !functions.test(nameOf((body as Node[]).at(-1)!))) return false
      if (key === 'name' && Array.isArray(body) && !operators.test(nameOf(body.at(-1)!))) return false
      return visit(body)
    })
  }
  return 'SelectStmt' in statement && visit(statement)
}
