/**
 * SELECT over PostgreSQL's system catalogs, from its parse tree: analysed once, run for any session.
 *
 * Invariants
 *  1. A statement has the answer of PostgreSQL 15, or is refused with 0A000 or an error of PostgreSQL: there is no guess.
 *  2. A run has no effect but on settings of its session, so it can be begun again when sequences were missing.
 */

import type { Node } from 'libpg-query'
import { SqlError } from '../sql-error.ts'
import type { Column, Query, Row, Run, SessionFacts } from './analysed.ts'
import { valueOfBinary } from './binary.ts'
import { ParameterTypes } from './coercion.ts'
import { Objects } from './objects.ts'
import { analyseStatementQuery } from './query-expression.ts'
import type { Snapshot } from './snapshot.ts'
import { isReadable, valueOfText } from './text-input.ts'
import { kindOf, refused } from './tree.ts'
import { oids, typeOf } from './types.ts'
import type { Value } from './values.ts'

/** A parameter as a client sends it: text, or bytes in binary form; null: NULL. */
export type ParameterInput = string | Buffer | null

/** What a statement may take, in steps, and may keep, in rows and pieces of texts. */
const [workMax, keptMax] = [10_000_000, 1_500_000]
/** The steps, and rows and pieces, between two looks at the memory in use. */
const lookEach = 10_000

/** A statement that is analysed. */
export type Analysed = {
  /** The oids of its parameters' types. */
  readonly parameters: readonly number[]
  readonly columns: readonly Column[]
  readonly query: Query
}

/**
 * Analyses a statement. Throws SqlError.
 * @param declared oids of the parameters that a client gave; 0: left open.
 * @param text what `node` is parsed from
 */
export function analyseStatement(node: Node, declared: readonly number[] = [], text = ''): Analysed {
  demandOldNumbers(text)
  try {
    return withinStack(() => analysed(node, declared))
  } catch (error) {
    const { position } = error instanceof SqlError ? error.details : {}
    if (!(error instanceof SqlError) || position === undefined) throw error
    const details = { ...error.details, position: positionIn(text, position) }
    throw new SqlError(error.sqlState, error.message, details)
  }
}

/** Throws 54001 for a statement that is nested too deeply. */
function withinStack<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof RangeError) throw new SqlError('54001', 'stack depth limit exceeded')
    throw error
  }
}

function analysed(node: Node, declared: readonly number[]): Analysed {
  if (!('SelectStmt' in node)) throw refused(kindOf(node).replace(/Stmt$/, ''))
  for (const type of declared)
    if (type !== 0 && !isReadable(type)) throw refused(`A parameter of type ${typeOf(type)?.name ?? type}`)
  const parameters = new ParameterTypes(declared)
  const query = analyseStatementQuery(node.SelectStmt, parameters)
  if (query.columns.some(({ type }) => type === oids.record)) throw refused('A row as a column of the result')
  return { parameters: parameters.all(), columns: query.columns, query }
}

/** What a run takes of its session. */
export type EvaluationContext = {
  readonly session: SessionFacts
  readonly snapshot: Snapshot
  readonly changeSetting?: Run['changeSetting']
  readonly draw?: Run['draw']
  /** The most steps, and rows and pieces of texts that are kept. Default: `workMax`, `keptMax`. */
  readonly limit?: number
  /** Throws if too much memory is in use. Called from time to time. */
  readonly demandMemory?: () => void
}

/** Runs a statement. Throws SqlError, and `Missing` where sequences are not loaded: load them, and run it again. */
export function runStatement(
  { query, parameters }: Analysed,
  values: readonly ParameterInput[],
  { session, snapshot, changeSetting, draw, limit = workMax, demandMemory }: EvaluationContext,
): { readonly rows: readonly Row[]; readonly objects: Objects } {
  const objects = new Objects(snapshot, session.user)
  let [work, kept, unlooked] = [0, 0, 0]
  const tooMuch = () =>
    new SqlError('54000', 'the query takes too much work; narrow it, as by the name of a sequence')
  const look = (count: number) => {
    unlooked += count
    if (unlooked < lookEach) return
    unlooked = 0
    demandMemory?.()
  }
  const run: Run = {
    session,
    snapshot,
    objects,
    parameters: [null, ...parameters.map((type, index) => inputOf(values[index] ?? null, type, objects))],
    memory: new Map(),
    ...(changeSetting && { changeSetting }),
    ...(draw && { draw }),
    spend(count) {
      work += count
      if (work > limit) throw tooMuch()
      look(count)
    },
    keep(count) {
      kept += count
      if (kept > Math.min(keptMax, limit)) throw tooMuch()
      look(count)
    },
  }
  return withinStack(() => ({ rows: query.run(undefined, run), objects }))
}

function inputOf(input: ParameterInput, type: number, objects: Objects): Value {
  if (input === null) return null
  return typeof input === 'string' ? valueOfText(input, type, objects) : valueOfBinary(input, type)
}

/** The tokens of a text: strings, comments, words and numbers. */
const tokens =
  /e'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\/|[\p{L}_][\p{L}\w$]*|\$?(\d[\w.]*)/giu

/** Throws 0A000 for a number that the parser, PostgreSQL 18's, reads and PostgreSQL 15 does not: `1_000`, `0x1F`, `0o7`, `0b1`. */
function demandOldNumbers(text: string): void {
  if (!/\d_\d|0[xob]/i.test(text)) return
  for (const [token, , number] of text.matchAll(tokens)) {
    const isNew = number !== undefined && /_|^0[xob]/i.test(number)
    if (isNew || token.lastIndexOf('/*') > 0) throw refused(`The number or comment ${token.slice(0, 60)}`)
  }
}

/** The position of an error in characters from 1, of one in bytes. */
function positionIn(text: string, position: number): number {
  if (text === '') return position
  return Array.from(Buffer.from(text).toString('utf8', 0, position - 1)).length + 1
}
