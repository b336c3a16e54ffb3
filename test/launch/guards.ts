/** Tables that the database guards, as `fahao proxy check` has them made. */
import { guardReader } from '../../src/proxy/known-guards.ts'
import { type FilledColumn, parseFilledColumn } from '../../src/proxy/sql/configured-columns.ts'
import { password, superuser } from './database.ts'
import type { MariaDb } from './mariadb.ts'

/** The URL of a server for the proxy, with the user who looks at its tables. */
export function upstreamOf({ port }: { readonly port: number }, scheme = 'mysql'): string {
  return `${scheme}://${superuser}:${password}@127.0.0.1:${port}`
}

/** Runs the statements that `fahao proxy check` prints for these columns: `shop.orders.id`. */
export async function guardTables(db: MariaDb, columns: readonly string[]): Promise<void> {
  const filled: FilledColumn[] = columns.map((column) => parseFilledColumn(`${column}=any`))
  const upstream = { address: { host: '127.0.0.1', port: db.port }, isTls: false, ca: undefined }
  const { guards } = await guardReader({ ...upstream, user: superuser, password })(filled)
  for (const { ddl } of guards.values()) for (const statement of ddl) await db.admin(statement)
}
