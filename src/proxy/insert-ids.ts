/**
 * Corrects the insert ids of replies: with AUTO_INCREMENT, the server reports the first generated id of a statement, or the
 * given id of its last row if it has generated none, and 0 if no row was inserted (`Sql_cmd_insert_values`, sql_insert.cc).
 */
import { withInsertId } from './ok-packet.ts'
import type { ReplyFilter } from './reply-filter.ts'
import type { DrawnIds } from './sql/fill.ts'
import type { Insert } from './sql/insert.ts'

/** Of INSERT IGNORE, for which the server reports ids of rows that were not inserted, too; undefined: there is none. */
export function ignoreFilter(
  inserts: readonly Insert[],
  drawn: readonly DrawnIds[],
): ReplyFilter | undefined {
  const ids = new Set<bigint>()
  inserts.forEach(({ isIgnore, onDuplicate }, at) => {
    const { ids: own, isText } = drawn[at]!
    if (isIgnore && onDuplicate === undefined && !isText) ids.add(BigInt(own[0]!))
  })
  if (ids.size === 0) return undefined
  return {
    form: 'results',
    receives: 'ok',
    packet(bytes, _isLast, ok) {
      if (!ok || !ids.has(ok.insertId)) return bytes
      const { affectedRows, duplicates } = ok
      return affectedRows === 0 || duplicates > 0 ? withInsertId(bytes, 0n) : bytes
    },
  }
}

/**
 * Of a text with one statement: reports its first id where the server reports none, as MariaDB does for a table with
 * triggers. Undefined: ids are texts, or the server reports the id of the row that was there.
 */
export function aloneFilter(insert: Insert, { ids: [first], isText }: DrawnIds): ReplyFilter | undefined {
  if (isText || first === undefined || insert.onDuplicate !== undefined) return undefined
  return firstIdFilter(insert, first)
}

/** Reports the first id of a statement without ON DUPLICATE KEY UPDATE, a decimal, unless that row may have been there before. */
export function firstIdFilter({ isIgnore }: Insert, id: string): ReplyFilter {
  return {
    form: 'results',
    receives: 'ok',
    packet(bytes, _isLast, ok) {
      if (!ok) return bytes
      const { affectedRows, insertId: own, duplicates } = ok
      const mayBeOther = affectedRows === 0 || (isIgnore && duplicates > 0)
      if (mayBeOther) return own === BigInt(id) ? withInsertId(bytes, 0n) : bytes
      return own === 0n ? withInsertId(bytes, BigInt(id)) : bytes
    },
  }
}

/** Reports the id of the last row of a statement all of whose ids are given, if that row was inserted for certain. */
export function givenIdFilter({ verb, onDuplicate }: Insert, id: bigint): ReplyFilter | undefined {
  if (onDuplicate !== undefined) return undefined
  return {
    form: 'results',
    receives: 'ok',
    packet(bytes, _isLast, ok) {
      if (ok?.insertId !== 0n) return bytes
      const { affectedRows, duplicates } = ok
      const isInserted = affectedRows > 0 && (verb === 'replace' || duplicates === 0)
      return isInserted ? withInsertId(bytes, id) : bytes
    },
  }
}
