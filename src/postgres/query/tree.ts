/** PostgreSQL's parse tree, as `libpg-query` gives it: what is read of it everywhere, and the refusal of the rest. */
import type { Node } from 'libpg-query'
import { SqlError } from '../sql-error.ts'

/** The error for what PostgreSQL does and this server does not. `thing` opens the sentence. */
export function refused(thing: string): SqlError {
  return new SqlError('0A000', `${thing} is not supported: this server has sequences and no tables`)
}

/** What `make` makes of a node. An error without a position gets that of the node, in bytes from 1. */
export function located<T>(node: Node, make: () => T): T {
  try {
    return make()
  } catch (error) {
    const [body] = Object.values(node) as { location?: number }[]
    if (!(error instanceof SqlError) || error.details.position || body?.location === undefined) throw error
    throw new SqlError(error.sqlState, error.message, { ...error.details, position: body.location + 1 })
  }
}

/** The name of the kind of a node, such as `FuncCall`. */
export function kindOf(node: Node): string {
  return Object.keys(node)[0] ?? 'nothing'
}

/** The text of a node that is a name. */
export function nameOf(node: Node): string {
  if ('String' in node) return node.String.sval ?? ''
  throw refused(`A ${kindOf(node)} in the place of a name`)
}

/** The parts of a qualified name. */
export function namesOf(nodes: readonly Node[] | undefined): string[] {
  return (nodes ?? []).map(nameOf)
}

/** The name of a function or an operator of pg_catalog. Throws 0A000 for one of another schema. */
export function builtInName(nodes: readonly Node[] | undefined): string {
  const names = namesOf(nodes)
  const name = names.at(-1) ?? ''
  const schema = names.at(-2) ?? 'pg_catalog'
  if (schema === 'information_schema' && name === '_pg_expandarray') return name
  if (names.length > 2 || schema !== 'pg_catalog') throw refused(`The name ${names.join('.')}`)
  return name
}

/** The same text for the same expression, wherever it stands. */
export function textOfTree(node: unknown): string {
  return JSON.stringify(node, (key, value) => (key === 'location' ? undefined : value))
}

/** Whether `holds` accepts a key of a tree, or of what is below it, with its value. @param skipped keys that are not looked into */
export function has(
  tree: unknown,
  holds: (key: string, body: unknown) => boolean,
  skipped: readonly string[] = [],
): boolean {
  if (typeof tree !== 'object' || tree === null) return false
  if (Array.isArray(tree)) return tree.some((each) => has(each, holds, skipped))
  return Object.entries(tree).some(
    ([key, body]) => holds(key, body) || (!skipped.includes(key) && has(body, holds, skipped)),
  )
}
