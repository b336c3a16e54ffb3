/**
 * Where a statement through the proxy differs from the same statement on a column with AUTO_INCREMENT, on purpose. The files
 * of the corpus name these where they expect a difference; docs/reference/mysql-differences.md shows them, and a test
 * compares it with this file.
 */

/** Replies that differ. */
export type Deviation = {
  /** After which statement, in words. */
  readonly after: string
  readonly direct: string
  readonly proxied: string
  readonly reason: string
}

/** By the names that `\apart` has in the corpus; `failed` is understood after every error. */
export const deviations = {
  updated: {
    after: '`ON DUPLICATE KEY UPDATE` that updates a row',
    direct: "the reply has the row's id; `LAST_INSERT_ID()` stays as it was",
    proxied: "both have the row's id",
    reason: 'the proxy adds `id = LAST_INSERT_ID(id)`',
  },
  unchanged: {
    after: '`ON DUPLICATE KEY UPDATE` that changes nothing',
    direct: 'the reply has no id',
    proxied: "the reply and `LAST_INSERT_ID()` have the row's id",
    reason: 'the same',
  },
  mixed: {
    after: '`ON DUPLICATE KEY UPDATE` of several rows, some of which are there already',
    direct: 'the reply has an id of no row, or of one of them',
    proxied: 'the reply has the id of the last row that was there already',
    reason: 'the same',
  },
  ignored: {
    after: '`INSERT IGNORE` that leaves rows out',
    direct: 'the reply has the first new id; `LAST_INSERT_ID()` stays as it was if there is none',
    proxied: 'the reply has no id; `LAST_INSERT_ID()` may have an id of no row',
    reason: 'which rows are there is not known when the ids are written',
  },
  failed: {
    after: 'an INSERT that fails',
    direct: '`LAST_INSERT_ID()` stays as it was',
    proxied: '`LAST_INSERT_ID()` may have an id of no row',
    reason: 'the server has evaluated `LAST_INSERT_ID(id)`',
  },
  trigger: {
    after: '`ON DUPLICATE KEY UPDATE`, or one of several statements in a text, on a table with triggers',
    direct: 'the reply has the first id',
    proxied: 'the reply has no id; `LAST_INSERT_ID()` has it',
    reason: 'MariaDB reports no `LAST_INSERT_ID(id)` of such a table',
  },
  given: {
    after:
      'given ids that are no plain integers (`+5`, `5.0`, `0x5`, an expression, the rows of a query), or with `ON DUPLICATE KEY UPDATE`, or beside other statements in one text',
    direct: 'the reply has the given id',
    proxied: 'the reply has no id',
    reason: 'the column has no AUTO_INCREMENT; the proxy reports plain integers alone',
  },
  delayed: {
    after: '`INSERT DELAYED`, `REPLACE DELAYED`',
    direct: 'the reply has no id',
    proxied: 'the reply has the id',
    reason: 'the id is known before the row is inserted',
  },
} as const satisfies Readonly<Record<string, Deviation>>

/** A name of `deviations`. */
export type DeviationName = keyof typeof deviations
