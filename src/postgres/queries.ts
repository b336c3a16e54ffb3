/** Queries: those that draw, those that the main thread runs at once, and those of the thread. */

import type { Node } from 'libpg-query'
import { compileDrawing, contextOf, evaluate } from './drawing-statements.ts'
import { encodeRows, resultOf } from './encoded-rows.ts'
import { callsFunctionOfFahao, compileFunctionOfFahao } from './fahao-functions.ts'
import { analyseStatement, runStatement } from './query/catalog-query.ts'
import { Missing, Snapshot } from './query/snapshot.ts'
import { has, nameOf, refused } from './query/tree.ts'
import type { QueryQueue } from './query-queue.ts'
import { drawsIn, queryIn, type Read } from './query-text.ts'
import { factsOf, requesterOf } from './sequence-lists.ts'
import type { Session, Statement } from './session.ts'
import { bytesOf, columnBytes } from './statement-size.ts'

/** What runs queries. */
export type QueryHost = { readonly queries: QueryQueue }

/** Compiles the query of a statement. Throws or rejects with SqlError. @param session the session that asks for it. */
export function compileQuery(
  { node, text }: Read,
  declared: readonly number[],
  host: QueryHost,
  session: Session,
): Statement | Promise<Statement> {
  const query = queryIn(node)
  if (query === undefined) throw refused('A cursor for such a statement')
  if (callsFunctionOfFahao(query)) return compileFunctionOfFahao(query)
  if (drawsIn(query)) return compileDrawing(query, text, declared)
  return isCheap(query) ? quick(query, text, declared) : distant(text, declared, host, session)
}

/** A query that the main thread runs. */
function quick(
  query: Parameters<typeof analyseStatement>[0],
  text: string,
  declared: readonly number[],
): Statement {
  const analysed = analyseStatement(query, declared, text)
  const { parameters, columns } = analysed
  return {
    parameters,
    columns,
    heldBytes: bytesOf(text, true),
    run(session, values, formats = []) {
      const snapshot = new Snapshot()
      const attempt = (context: ReturnType<typeof contextOf>) => {
        const { rows, objects } = runStatement(analysed, values, context)
        return resultOf(encodeRows(rows, columns, objects, formats))
      }
      try {
        return attempt(contextOf(session, snapshot))
      } catch (error) {
        if (error instanceof Missing) return evaluate(session, snapshot, attempt)
        throw error
      }
    },
  }
}

/** A query of the thread. */
async function distant(
  text: string,
  declared: readonly number[],
  { queries }: QueryHost,
  asking: Session,
): Promise<Statement> {
  const { parameters, columns } = await queries.run({ type: 'describe', text, declared }, requesterOf(asking))
  return {
    parameters,
    columns,
    heldBytes: bytesOf(text, false) + columns.length * columnBytes,
    async run(session, values, formats = []) {
      const request = { type: 'run', text, declared, values, formats, session: factsOf(session) } as const
      const { changes, ...made } = await queries.run(request, requesterOf(session))
      for (const { name, value, isLocal } of changes) session.settings.set(name, value, isLocal)
      return resultOf(made)
    },
  }
}

/** The nodes and members in the tree of such a statement. */
const keysMax = 2000
/** The nodes of a statement that takes next to nothing. */
const kinds: ReadonlySet<string> = new Set(
  'SelectStmt ResTarget A_Const A_Expr BoolExpr TypeCast FuncCall CaseExpr CaseWhen CoalesceExpr NullTest ParamRef SQLValueFunction String Integer'.split(
    ' ',
  ),
)
const functions =
  /^(?:version|now|user|pg_backend_pid|pg_is_in_recovery|pg_postmaster_start_time|getdatabaseencoding|pg_advisory_unlock_all|set_config|gen_random_uuid|pg_encoding_to_char|(?:session|current)_\w+|(?:transaction|statement)_timestamp)$/
const operators = /^(?:=|<>|<|<=|>|>=|\+|-|%|&)$/

const clauses = ['fromClause', 'valuesLists', 'withClause', 'larg']

/** Whether a statement has no FROM and no query inside, few nodes, and only functions and operators of little work. */
export function isCheap(statement: Node): boolean {
  let keys = 0
  const isExpensive = (key: string, body: unknown) => {
    if (++keys > keysMax || clauses.includes(key) || (/^[A-Z]/.test(key) && !kinds.has(key))) return true
    if (!Array.isArray(body) || (key !== 'funcname' && key !== 'name')) return false
    return !(key === 'name' ? operators : functions).test(nameOf(body.at(-1)))
  }
  return 'SelectStmt' in statement && !has(statement, isExpensive)
}
