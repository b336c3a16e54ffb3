/** Which queries of WITH a statement reads. */
import type { Select, WithQuery } from './syntax.ts'

/** The names of one part by which a tree names tables. */
export function namesIn(tree: object): ReadonlySet<string> {
  const names = new Set<string>()
  const open: unknown[] = [tree]
  while (open.length > 0) {
    const node = open.pop()
    if (typeof node !== 'object' || node === null) continue
    const item = node as { readonly kind?: unknown; readonly names?: readonly string[] }
    if (item.kind === 'table' && item.names?.length === 1) names.add(item.names[0]!)
    for (const part of Object.values(node)) open.push(part)
  }
  return names
}

/** The queries of a WITH that are read: by the query behind it, or by one of them that is read. PostgreSQL runs no others. */
export function queriesRead(select: Select): ReadonlySet<WithQuery> {
  const read = new Set<WithQuery>()
  if (select.with.length === 0) return read
  const names = new Set(namesIn({ ...select, with: [] }))
  for (const item of select.with.toReversed()) {
    if (!names.has(item.name)) continue
    read.add(item)
    for (const name of namesIn(item.select)) names.add(name)
  }
  return read
}
