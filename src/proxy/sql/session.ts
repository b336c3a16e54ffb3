/** The facts of a MySQL session on which the meaning of a statement depends. */
import { type Charset, charsetOf } from './charsets.ts'

/** What a connection's statements are read by. */
export type SqlSession = {
  /** `"` quotes names rather than strings. */
  readonly ansiQuotes: boolean
  /** `\` is an ordinary character in strings. */
  readonly noBackslashEscapes: boolean
  /** 0 in an AUTO_INCREMENT column is a value, and not a request for the next id. */
  readonly noAutoValueOnZero: boolean
  /** MariaDB: the string '' is NULL. */
  readonly emptyStringIsNull: boolean
  /** MariaDB's Oracle mode, with another grammar of blocks and parameters. */
  readonly oracle: boolean
  /** The server refuses values that do not fit their column, rather than change them: of a first row, or of all rows. */
  readonly strict: boolean
  readonly strictAll: boolean
  /** `SET insert_id` has named the next id of AUTO_INCREMENT. */
  readonly forcedId: boolean
  /** The current database; '' if there is none. */
  readonly database: string
  /** `@@character_set_client`. */
  readonly charset: Charset
  readonly dialect: Dialect
}

/** A mode on which it depends what a value in an id's place asks for. */
export type IdMode = 'noAutoValueOnZero' | 'emptyStringIsNull' | 'strict'

/** Whose grammar the server has. */
export type Dialect = 'mariadb' | 'mysql'

/**
 * The values of `@@sql_mode`, `@@character_set_client` and `DATABASE()`, the version of the server's greeting, and whether
 * `@@insert_id` is set.
 */
export type SessionFacts = {
  readonly sqlMode: string
  readonly charset: string
  readonly database: string | null
  readonly serverVersion: string
  readonly forcedId?: boolean
}

/** The session that has these facts. */
export function sqlSession(facts: SessionFacts): SqlSession {
  const modes = new Set(facts.sqlMode.toUpperCase().split(','))
  return {
    ansiQuotes: modes.has('ANSI_QUOTES'),
    noBackslashEscapes: modes.has('NO_BACKSLASH_ESCAPES'),
    noAutoValueOnZero: modes.has('NO_AUTO_VALUE_ON_ZERO'),
    emptyStringIsNull: modes.has('EMPTY_STRING_IS_NULL'),
    oracle: modes.has('ORACLE'),
    strict: modes.has('STRICT_TRANS_TABLES') || modes.has('STRICT_ALL_TABLES'),
    strictAll: modes.has('STRICT_ALL_TABLES'),
    forcedId: facts.forcedId ?? false,
    database: facts.database ?? '',
    charset: charsetOf(facts.charset),
    dialect: /mariadb/i.test(facts.serverVersion) ? 'mariadb' : 'mysql',
  }
}

/** The same session after `USE database`. */
export function withDatabase(session: SqlSession, database: string): SqlSession {
  return { ...session, database }
}
