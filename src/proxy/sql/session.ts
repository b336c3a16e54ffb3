/** The facts of a MySQL session on which the reading of a statement depends. */

/** What a connection's statements are read by. */
export type SqlSession = {
  /** `"` quotes names rather than strings. */
  readonly ansiQuotes: boolean
  /** `\` is an ordinary character in strings. */
  readonly noBackslashEscapes: boolean
  /** 0 in an AUTO_INCREMENT column is a value, and not a request for the next id. */
  readonly noAutoValueOnZero: boolean
  /** The current database; '' if there is none. */
  readonly database: string
  /** Bytes from 0x80 on belong to characters of UTF-8. */
  readonly isUtf8: boolean
  /** Whether statements can be read with certainty. Others pass as they came. */
  readonly isReadable: boolean
}

/** The values of `@@sql_mode`, `@@character_set_client` and `DATABASE()`. */
export type SessionFacts = {
  readonly sqlMode: string
  readonly charset: string
  readonly database: string | null
}

const utf8 = /^utf8(?:mb[34])?$/i
/** Sets in which a byte below 0x80 is always the character of ASCII. */
const asciiSupersets =
  /^(?:ascii|binary|latin[1257]|cp(?:125[0167]|850|852|866)|greek|hebrew|koi8[ru]|macce|macroman|dec8|hp8|armscii8|geostd8|keybcs2|tis620|ujis|eucjpms|gb2312)$/i

/** The session that has these facts. */
export function sqlSession({ sqlMode, charset, database }: SessionFacts): SqlSession {
  const modes = new Set(sqlMode.toUpperCase().split(','))
  const isUtf8 = utf8.test(charset)
  return {
    ansiQuotes: modes.has('ANSI_QUOTES'),
    noBackslashEscapes: modes.has('NO_BACKSLASH_ESCAPES'),
    noAutoValueOnZero: modes.has('NO_AUTO_VALUE_ON_ZERO'),
    database: database ?? '',
    isUtf8,
    // The Oracle mode has blocks without BEGIN NOT ATOMIC, and other parameters.
    isReadable: (isUtf8 || asciiSupersets.test(charset)) && !modes.has('ORACLE'),
  }
}
