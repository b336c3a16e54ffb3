/**
 * Where a statement through the proxy differs from the same statement on a column with AUTO_INCREMENT, on purpose. The files
 * of the corpus name these where they expect a difference; docs/reference/mysql-differences.md shows them, and a test
 * compares it with this file.
 */

/** Statements that the proxy refuses. */
export type Refusal = {
  /** The statement, in words. */
  readonly statement: string
  /** The code of the error. */
  readonly code: number
  /** What the message says. */
  readonly says: RegExp
  /** Why. */
  readonly reason: string
}

/** Replies that differ. */
export type Deviation = {
  /** After which statement, in words. */
  readonly after: string
  readonly direct: string
  readonly proxied: string
  readonly reason: string
}

/** By the names that `\refused` has in the corpus. */
export const refusals = {
  query: {
    statement: 'rows of a query: `INSERT … SELECT`, `… TABLE`, `… WITH`, `VALUES … UNION`',
    code: 1235,
    says: /the rows come from a query/,
    reason: 'how many rows there are is known when the server has run the query',
  },
  expression: {
    statement: "an expression in the id's place: a function, a variable, an operator, a subquery",
    code: 1235,
    says: /is an expression/,
    reason: 'the server computes its value, which may be NULL or 0',
  },
  executable: {
    statement: 'executable comments (`/*! … */`, `/*M! … */`) around the INSERT or in it',
    code: 1235,
    says: /executable comments/,
    reason: 'servers of different versions read different statements',
  },
  hint: {
    statement: 'a hint with quotes or `SET_VAR`',
    code: 1235,
    says: /a hint/,
    reason: 'MySQL and MariaDB read it differently',
  },
  inner: {
    statement: 'the INSERT inside `SET STATEMENT … FOR`, `ANALYZE` or a compound statement',
    code: 1235,
    says: /send an INSERT by itself/,
    reason: 'the server may run it never, or many times',
  },
  text: {
    statement: '`PREPARE … FROM`, `EXECUTE IMMEDIATE` of a text',
    code: 1235,
    says: /a statement in a text/,
    reason: 'the values of its parameters do not pass the proxy',
  },
  load: {
    statement: '`LOAD DATA`, `LOAD XML`',
    code: 1235,
    says: /LOAD inserts/,
    reason: 'the rows are in a file',
  },
  session: {
    statement: 'behind `SET NAMES`, `SET sql_mode`, `CALL` and the like in the same text',
    code: 1235,
    says: /may change the session/,
    reason: 'the text is read before the server has changed the session',
  },
  definition: {
    statement: 'behind the definition of its table in the same text',
    code: 1235,
    says: /defines and fills in/,
    reason: 'the text is read before the table exists',
  },
  'last-id': {
    statement:
      '`LAST_INSERT_ID()` behind `ON DUPLICATE KEY UPDATE` or `RETURNING`; in a value beside an id that is a parameter, in several rows with `ON DUPLICATE KEY UPDATE`, with a row alias (`AS new (a)`), or without a list of columns where one has a name outside of ASCII; `LAST_INSERT_ID(value)` in a value',
    code: 1235,
    says: /sets LAST_INSERT_ID while the statement runs/,
    reason: 'it would read or change the id that the proxy sets',
  },
  invisible: {
    statement: 'without a list of columns, where the id is an invisible column',
    code: 1235,
    says: /shows no column/,
    reason: "the id's place is in no row",
  },
  unseen: {
    statement: 'where the table lacks the configured column, or the user has no privilege on it',
    code: 1235,
    says: /SHOW COLUMNS does not show it/,
    reason: 'the proxy cannot know whether ids fit the column',
  },
  temporary: {
    statement: 'prepared, where a temporary table has the name of the table and lacks the column',
    code: 1235,
    says: /a temporary table has the name/,
    reason: 'it would insert into the configured table once the temporary table is dropped',
  },
  value: {
    statement:
      'prepared, with an id that is bound as a text that is no number (`abc`) where ids are numbers, or that is sent as long data',
    code: 1235,
    says: /cannot be read from its parameter/,
    reason:
      'the column and the SQL mode decide whether the text asks for an id; long data goes to the server before the proxy knows',
  },
  names: {
    statement:
      "in a character set that the proxy does not know, such as `swe7`; with a name outside of ASCII that it cannot read or write in the session's character set",
    code: 1235,
    says: /names that it cannot read or write in the character set/,
    reason: 'the proxy could take the name for another',
  },
  bytes: {
    statement: 'bytes from 0x80 on outside of texts and names, in a character set of single bytes',
    code: 1235,
    says: /may be spaces or letters/,
    reason: 'they are spaces for some servers and letters for others',
  },
  oracle: {
    statement: 'prepared, in the SQL mode `ORACLE`',
    code: 1235,
    says: /ORACLE/,
    reason: 'parameters have names there',
  },
  created: {
    statement: '`CREATE TABLE … SELECT` of the table',
    code: 1235,
    says: /the rows of the new table come from a query/,
    reason: 'how many rows there are is known when the server has run the query',
  },
  forced: {
    statement: 'without the id, behind `SET insert_id = n`',
    code: 1235,
    says: /insert_id is set/,
    reason: 'AUTO_INCREMENT would take that id; a generator does not',
  },
  diagnostics: {
    statement:
      'with `ROW_COUNT()`, `FOUND_ROWS()`, `@@warning_count` or `@@error_count`, where the proxy has to ask the server in front of it',
    code: 1235,
    says: /which the proxy has changed/,
    reason: "the proxy's question changes them",
  },
  results: {
    statement: 'in a session with `character_set_results` UTF-16 or the like, or `sql_select_limit` 0',
    code: 1105,
    says: /character_set_results/,
    reason: 'the proxy cannot read what the server says of the session',
  },
} as const satisfies Readonly<Record<string, Refusal>>

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
      'given ids that are no plain integers (`-5`, `+5`, `5.0`, `0x5`), or with `ON DUPLICATE KEY UPDATE`, or beside other statements in one text',
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

/** A name of `refusals`. */
export type RefusalName = keyof typeof refusals
/** A name of `deviations`. */
export type DeviationName = keyof typeof deviations
