/**
 * SELECT over PostgreSQL's catalogues, with generators as sequences: the door of this folder.
 *
 * A statement is compiled once, without a session, and run for any session. It pauses for other connections, and is refused
 * when it takes too much (`budget.ts`).
 */

import { type Clock, systemClock } from '../../base/clock.ts'
import { untilOthersHaveRun } from '../../engine/rounds.ts'
import { valueOfBinary } from './binary-input.ts'
import { binaryOfValue } from './binary-output.ts'
import { Budget, defaultLimits, type Limits } from './budget.ts'
import { CallsOnce } from './calls-once.ts'
import { Catalogue } from './catalogue/catalogue.ts'
import { OidRegistry } from './catalogue/oid-registry.ts'
import { QueryCompiler } from './compile-query.ts'
import { ParameterTypes } from './compiler.ts'
import type { Token } from './lexer.ts'
import {
  type ColumnSource,
  type Context,
  Missing,
  type Query,
  type Row,
  type SqlSession,
  type Steps,
} from './plan.ts'
import { parseSelect, parseSelectTokens } from './select-parser.ts'
import { cellsOfShortTexts } from './select-steps.ts'
import { unsupported } from './sql-error.ts'
import { StatementContext } from './statement-context.ts'
import { type Pause, runSteps } from './steps.ts'
import type { Expression } from './syntax.ts'
import { valueOfText } from './text-input.ts'
import { textOfValue } from './text-output.ts'
import { oids, typeOf } from './types.ts'
import type { Value } from './values.ts'

/** A column of a result, as RowDescription has it. */
export type SelectColumn = {
  readonly name: string
  /** The oid of its type. */
  readonly type: number
  /** typlen: bytes, -1 for a variable length. */
  readonly length: number
  /** The type's modifier, -1 for none. */
  readonly modifier: number
  /** The column of a table that it shows: the table's oid, and the column's number from 1. */
  readonly source?: ColumnSource
}

/** A parameter as a client sends it: text, or bytes in binary form; null: NULL. */
export type ParameterInput = string | Buffer | null

/** The rows of a result. */
export interface SelectResult {
  readonly count: number
  /** The values and characters that are kept for it: those of its rows, and those that their texts are made with. */
  readonly cells: number
  /** A value in the form of a format: 0 is text, 1 is binary. Throws SqlError 42883 or 0A000 for a type without a binary form. */
  cell(row: number, column: number, format: number): string | Uint8Array | null
}

/** How to run a statement. */
export type SelectOptions = {
  readonly signal?: AbortSignal
  readonly clock?: Clock
  readonly limits?: Limits
  /** Resolves when others have run. Default: after those that are due. */
  readonly pause?: Pause
  /** Called whenever it has kept the event loop: for how long, in µs. */
  readonly onSlice?: (elapsedUs: number) => void
}

/** A compiled SELECT. */
export interface SelectStatement {
  /** The oids of its parameters' types. */
  readonly parameters: readonly number[]
  readonly columns: readonly SelectColumn[]
  /** How many columns it has, together with the queries inside of it. */
  readonly allColumns: number
  /** Runs it. Rejects with SqlError, and with what the session's functions and sequences reject with. */
  run(session: SqlSession, values: readonly ParameterInput[], options?: SelectOptions): Promise<SelectResult>
}

/** The oids of sequences of this process. */
const registry = new OidRegistry()
/** A statement starts again after it has looked something up inside of an expression, at most so often. */
const restartsMax = 1000

/**
 * Compiles a SELECT from its text or its tokens. `parameterTypes`: oids that the client gave, 0 for those that it left open.
 * Throws SqlError in PostgreSQL's words, 0A000 for what is not supported.
 */
export function compileSelect(
  source: string | readonly Token[],
  parameterTypes: readonly number[] = [],
): SelectStatement {
  const select = typeof source === 'string' ? parseSelect(source) : parseSelectTokens(source)
  const parameters = new ParameterTypes(parameterTypes)
  const compiler = new QueryCompiler(parameters)
  const query = compiler.query(select, undefined)
  const types = parameters.all()
  const relations = relationsIn(select)
  const columns = query.columns.map(({ name, type, modifier, source }): SelectColumn => {
    const settled = type === oids.unknown ? oids.text : type
    return {
      name,
      type: settled,
      length: typeOf(settled)?.length ?? -1,
      modifier,
      ...(source ? { source } : {}),
    }
  })
  return {
    parameters: types,
    columns,
    allColumns: compiler.columns,
    run: (session, values, options = {}) => run(query, relations, columns, types, session, values, options),
  }
}

async function run(
  query: Query,
  relations: readonly string[],
  columns: readonly SelectColumn[],
  types: readonly number[],
  session: SqlSession,
  values: readonly ParameterInput[],
  options: SelectOptions,
): Promise<SelectResult> {
  const { signal, clock = systemClock, limits = defaultLimits, pause = untilOthersHaveRun, onSlice } = options
  const budget = new Budget(clock, limits, signal)
  const catalogue = new Catalogue(session, registry, budget)
  const once = new CallsOnce(session, budget, () =>
    lookUp(relations, new StatementContext(session, catalogue, budget, [])),
  )
  try {
    for (let restarts = 0; ; restarts++) {
      const replaying: SqlSession = { ...session, call: once.start() }
      try {
        const context = new StatementContext(replaying, catalogue, budget, [])
        const bound = new StatementContext(replaying, catalogue, budget, parametersOf(values, types, context))
        const inTurns = <T>(steps: Steps<T>) =>
          runSteps(onSlice ? timed(steps, clock, onSlice) : steps, budget, pause)
        const rows = await inTurns(query.run(undefined, bound))
        const texts = await inTurns(cellsOfShortTexts(rows, bound))
        return resultOf(rows, columns, bound, budget.cells + texts)
      } catch (error) {
        if (!(error instanceof Missing)) throw error
        // Also where the statement is refused: nothing that it has begun may fail, or keep something, once it is over.
        await error.loading
        budget.resume()
        if (restarts >= restartsMax) throw unsupported('A name that is computed for each of so many rows')
      }
    }
  } finally {
    budget.release()
  }
}

/** The texts that are constants of the type regclass. */
function relationsIn(select: object): readonly string[] {
  const texts: string[] = []
  const seen = new Set<unknown>()
  const open: unknown[] = [select]
  while (open.length > 0) {
    const each = open.pop()
    if (typeof each !== 'object' || each === null || seen.has(each)) continue
    seen.add(each)
    const node = each as Expression
    if (node.kind === 'cast' && node.type.names.at(-1) === 'regclass' && node.operand.kind === 'string')
      texts.push(node.operand.value)
    for (const part of Object.values(each)) open.push(part)
  }
  return texts
}

/** Looks relations up before the first call: PostgreSQL refuses a constant that names none before it draws an id. Throws SqlError 42P01. */
async function lookUp(relations: readonly string[], { objects }: Context): Promise<void> {
  for (const text of relations)
    for (let isMissing = true; isMissing; )
      try {
        isMissing = false
        if (!/^(?:-|\d+)$/.test(text)) objects.relation(text)
      } catch (error) {
        if (!(error instanceof Missing)) throw error
        await error.loading
        isMissing = true
      }
}

/** The same steps; tells how long each takes. */
function* timed<T>(steps: Steps<T>, clock: Clock, onSlice: (elapsedUs: number) => void): Steps<T> {
  let sent: unknown
  for (;;) {
    const startUs = clock.monoUs()
    let slice: IteratorResult<Promise<unknown> | undefined, T>
    try {
      slice = steps.next(sent)
    } finally {
      onSlice(clock.monoUs() - startUs)
    }
    if (slice.done) return slice.value
    sent = yield slice.value
  }
}

function parametersOf(
  values: readonly ParameterInput[],
  types: readonly number[],
  context: Context,
): Value[] {
  const parsed = types.map((type, index) => {
    const value = values[index] ?? null
    if (value === null) return null
    return typeof value === 'string' ? valueOfText(value, type, context.objects) : valueOfBinary(value, type)
  })
  return [null, ...parsed]
}

function resultOf(
  rows: readonly Row[],
  columns: readonly SelectColumn[],
  context: Context,
  cells: number,
): SelectResult {
  return {
    count: rows.length,
    cells,
    cell(row, column, format) {
      const value = rows[row]!.values[column]
      if (value === null || value === undefined) return null
      const { type } = columns[column]!
      if (format === 0) return textOfValue(value, type, context.objects)
      // Dates are out of range in binary form where they are in text form.
      if (type === oids.date) textOfValue(value, type, context.objects)
      return binaryOfValue(value, type, context.objects)
    },
  }
}
