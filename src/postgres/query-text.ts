/** The query of a statement, and whether it draws. */
import type { FuncCall, Node, SelectStmt } from 'libpg-query'
import { has, namesOf } from './query/tree.ts'

/** The query that a statement is, or that it prepares or declares a cursor for. */
export function queryIn(node: Node): { readonly SelectStmt: SelectStmt } | undefined {
  if ('SelectStmt' in node) return node
  const inner = 'PrepareStmt' in node ? node.PrepareStmt.query : undefined
  const query = inner ?? ('DeclareCursorStmt' in node ? node.DeclareCursorStmt.query : undefined)
  return query !== undefined && 'SelectStmt' in query ? query : undefined
}

/** A statement that is read, with its text. */
export type Read = { readonly node: Node; readonly text: string }

const drawing: ReadonlySet<string> = new Set(['nextval', 'currval', 'lastval', 'setval'])

/** Whether a call draws or moves ids. */
export function isDrawing({ funcname }: FuncCall): boolean {
  const parts = namesOf(funcname)
  return (
    parts.length <= 2 && drawing.has(parts.at(-1) ?? '') && (parts.at(-2) ?? 'pg_catalog') === 'pg_catalog'
  )
}

/** Whether a part of a tree calls nextval, currval, lastval or setval. */
export function drawsIn(value: unknown): boolean {
  return has(value, (kind, call) => kind === 'FuncCall' && isDrawing(call as FuncCall))
}
