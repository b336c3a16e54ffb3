/** A session with sequences for the evaluator of SELECT, without a server. */
import type { SequenceFacts, SqlSession } from '../../../../src/postgres/sql/plan.ts'
import {
  compileSelect,
  type ParameterInput,
  type SelectOptions,
} from '../../../../src/postgres/sql/select.ts'
import { SqlError } from '../../../../src/postgres/sql/sql-error.ts'

/** What a session is asked. */
export type Asked = { readonly found: string[]; pages: number; readonly calls: string[] }

/** A session whose sequences have these names, and what it has been asked. */
export function sessionOf(
  names: readonly string[] = [],
  more: Partial<SqlSession> = {},
): { session: SqlSession; asked: Asked } {
  const asked: Asked = { found: [], pages: 0, calls: [] }
  const all = new Set(names)
  const session: SqlSession = {
    user: 'app',
    database: 'ids',
    backendId: 7,
    transactionUs: 0n,
    serverStartUs: 0n,
    version: 'PostgreSQL 15.0',
    sequences: {
      reaches: () => true,
      find(name) {
        asked.found.push(name)
        return Promise.resolve(all.has(name) ? factsOf(name) : undefined)
      },
      page(after, limit) {
        asked.pages++
        const from = after === undefined ? 0 : names.indexOf(after) + 1
        const found = names.slice(from, from + limit)
        return Promise.resolve({
          found: found.map(factsOf),
          next: found.length < limit ? undefined : found.at(-1)!,
        })
      },
      lastValues: (wanted) => Promise.resolve(wanted.map(() => undefined)),
    },
    setting: (name) => (name === 'search_path' ? 'public' : undefined),
    changeSetting: (_, value) => value,
    settings: () => [['search_path', 'public']],
    cursors: () => [],
    users: () => [],
    call(name, calls) {
      asked.calls.push(...calls.map((args) => `${name}(${args.join()})`))
      return Promise.resolve(calls.map((_, index) => BigInt(index + 1)))
    },
    ...more,
  }
  return { session, asked }
}

function factsOf(name: string): SequenceFacts {
  return { name, dataType: 'bigint', start: 1n, increment: 1n, min: 1n, max: 2n ** 63n - 1n, cache: 1n }
}

/** The rows of a query in text form, cells joined by `|`; NULL is `∅`. */
export async function rowsOf(
  text: string,
  session: SqlSession = sessionOf().session,
  values: readonly ParameterInput[] = [],
  options: SelectOptions = {},
): Promise<string[]> {
  const statement = compileSelect(text)
  const { count, cell } = await statement.run(session, values, options)
  return Array.from({ length: count }, (_, row) =>
    statement.columns.map((_, column) => cell(row, column, 0) ?? '∅').join('|'),
  )
}

/** SQLSTATE and message of the error of a query. */
export async function errorOf(text: string, session?: SqlSession, options?: SelectOptions): Promise<string> {
  try {
    await rowsOf(text, session, [], options)
  } catch (error) {
    if (error instanceof SqlError) return `${error.sqlState} ${error.message}`
    throw error
  }
  return 'no error'
}
