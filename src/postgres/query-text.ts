/** The query of a statement. */
import type { Node, SelectStmt } from 'libpg-query'

/** The query that a statement is, or that it prepares or declares a cursor for. */
export function queryIn(node: Node): { readonly SelectStmt: SelectStmt } | undefined {
  if ('SelectStmt' in node) return node
  const inner = 'PrepareStmt' in node ? node.PrepareStmt.query : undefined
  const query = inner ?? ('DeclareCursorStmt' in node ? node.DeclareCursorStmt.query : undefined)
  return query !== undefined && 'SelectStmt' in query ? query : undefined
}

/** A statement that is read, with its text. */
export type Read = { readonly node: Node; readonly text: string }
