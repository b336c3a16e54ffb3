/** The columns that get ids, as they are configured: at most one for each table. */
import { FahaoError } from '../../base/errors.ts'
import { headBytes, isSingle, startOf, verbOf } from './verbs.ts'

/** A column whose missing values the proxy fills in. */
export type FilledColumn = {
  readonly database: string
  readonly table: string
  readonly column: string
  /** The generator of its ids. */
  readonly generator: string
}

/** What a text may do, by its first words. */
export type TextEffects = {
  /** The text leaves the facts of the session as they are. */
  readonly keepsSession: boolean
  /** The text may write into a filled table, or define it, in any form. */
  readonly concerns: boolean
  /** The text may insert rows into a filled table in a form that is filled in. */
  readonly mayInsert: boolean
  /** Columns whose tables it may redefine. */
  readonly defined: readonly FilledColumn[]
}

/** Longer texts are not searched: that would keep others waiting. */
const searchedBytesMax = 65_536
const noEffects: TextEffects = { keepsSession: true, concerns: false, mayInsert: false, defined: [] }
const inserting: TextEffects = { keepsSession: true, concerns: true, mayInsert: true, defined: [] }
const writing = /insert|replace|load/i
const defining = /create|alter|drop|rename/i

/** Finds the filled column of a table. */
export class FilledColumns {
  readonly all: readonly FilledColumn[]
  readonly #ignoreCase: boolean
  readonly #columns = new Map<string, FilledColumn>()
  /** Whether a text has the name of one of the tables. */
  readonly #names: RegExp

  /**
   * Throws a FahaoError `CONFIG` if two columns are of one table.
   * @param ignoreCase whether names of databases and tables ignore case: `lower_case_table_names` is 1 or 2.
   */
  constructor(columns: readonly FilledColumn[], ignoreCase: boolean) {
    this.all = columns
    this.#ignoreCase = ignoreCase
    for (const column of columns) {
      const key = this.#key(column.database, column.table)
      const other = this.#columns.get(key)
      if (other)
        throw new FahaoError(
          'CONFIG',
          `the table ${column.database}.${column.table} is given twice, for ${other.column} and for ${column.column}; name one column of each table`,
        )
      this.#columns.set(key, column)
    }
    this.#names = patternOf(columns)
  }

  /** The column of a table that is filled in, if there is one. */
  find(database: string, table: string): FilledColumn | undefined {
    return this.#columns.get(this.#key(database, table))
  }

  /** What a text may do. */
  effectsOf(sql: Buffer): TextEffects {
    const start = startOf(sql)
    const verb = verbOf(sql, start)
    const isOne = isSingle(sql)
    if (isOne && verb.inserts)
      return this.#names.test(sql.toString('latin1', start, Math.min(start + headBytes, sql.length)))
        ? inserting
        : noEffects
    const keepsSession = isOne && verb.keepsSession
    if (isOne && verb.isHarmless) return keepsSession ? noEffects : { ...noEffects, keepsSession }
    const text = sql.length > searchedBytesMax ? undefined : sql.toString('latin1')
    const has = (pattern: RegExp) => text === undefined || pattern.test(text)
    const writes = has(writing)
    const concerns = (writes || has(defining)) && has(this.#names)
    if (!concerns) return { ...noEffects, keepsSession }
    const defines = isOne ? verb.defines : has(defining)
    const defined = defines ? this.all.filter((column) => has(patternOf([column]))) : []
    return { keepsSession, concerns, mayInsert: writes && !isOne, defined }
  }

  #key(database: string, table: string): string {
    const key = `${database}\0${table}`
    return this.#ignoreCase ? key.toLowerCase() : key
  }
}

/** Matches a text that names one of these tables, by the longest part of each name that stands in every text. */
function patternOf(columns: readonly FilledColumn[]): RegExp {
  const parts = columns.map(({ table }) => {
    const plain = table.split(/[^\x20-\x7e]|[`"]/)
    const longest = plain.reduce((best, part) => (part.length > best.length ? part : best), '')
    return longest.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
  })
  return new RegExp(parts.length === 0 ? '(?!)' : parts.join('|'), 'i')
}

/** The parts of a configured name: without quotes, or in backquotes. */
const name = '(?:[^\\s.=`]+|`(?:[^`]|``)+`)'
const shape = new RegExp(`^(${name})\\.(${name})\\.(${name})=([^\\s=]+)$`, 'u')

/** Reads `database.table.column=generator`; names with special characters stand in backquotes. Throws `CONFIG`. */
export function parseFilledColumn(text: string): FilledColumn {
  const match = shape.exec(text)
  if (!match)
    throw new FahaoError(
      'CONFIG',
      `'${text.slice(0, 100)}' names no column; write DATABASE.TABLE.COLUMN=GENERATOR, such as shop.orders.id=order`,
    )
  const [database, table, column] = match.slice(1, 4).map(unquoted)
  return { database: database!, table: table!, column: column!, generator: match[4]! }
}

function unquoted(name: string): string {
  return name.startsWith('`') ? name.slice(1, -1).replaceAll('``', '`') : name
}
