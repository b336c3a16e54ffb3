/** Which statements take next to nothing: those may run in the thread that serves all clients. */
import type { Node } from 'libpg-query'
import { has, nameOf } from './tree.ts'

const keysMax = 2000
/** What the tree of such a statement is made of. */
const kinds: ReadonlySet<string> = new Set(
  'SelectStmt ResTarget A_Const A_Expr BoolExpr TypeCast FuncCall CaseExpr CaseWhen CoalesceExpr NullTest ParamRef SQLValueFunction String Integer'.split(
    ' ',
  ),
)
const functions =
  /^(?:version|now|user|pg_backend_pid|pg_is_in_recovery|pg_postmaster_start_time|getdatabaseencoding|pg_advisory_unlock_all|set_config|gen_random_uuid|pg_encoding_to_char|(?:session|current)_\w+|(?:transaction|statement)_timestamp)$/
const operators = /^(?:=|<>|<|<=|>|>=|\+|-|%|&)$/

const clauses = ['fromClause', 'valuesLists', 'withClause', 'larg']

/** Whether a statement has no FROM and no query inside, few nodes, and only functions and operators of little work. */
export function isCheap(statement: Node): boolean {
  let keys = 0
  const isDear = (key: string, body: unknown) => {
    if (++keys > keysMax || clauses.includes(key) || (/^[A-Z]/.test(key) && !kinds.has(key))) return true
    if (!Array.isArray(body) || (key !== 'funcname' && key !== 'name')) return false
    return !(key === 'name' ? operators : functions).test(nameOf(body.at(-1)))
  }
  return 'SelectStmt' in statement && !has(statement, isDear)
}
