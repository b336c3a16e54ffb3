/** PostgreSQL's own parser, compiled to WebAssembly: texts become trees. */
import { setFlagsFromString } from 'node:v8'
import type { Node } from 'libpg-query'
import { assert } from '../base/assert.ts'
import { packageOf } from '../installation/packages.ts'
import { SqlError } from './sql-error.ts'

/** A statement of a text. */
export type ParsedStatement = {
  readonly node: Node
  /** Where it is in the text, in UTF-16 units. */
  readonly from: number
  readonly to: number
}

let parser: typeof import('libpg-query') | undefined

/** Makes the parser ready. Before this `parse` throws. Rejects with ENGINE without its package. */
export async function loadParser(): Promise<void> {
  // Compiled again by V8's optimising compiler, it would be no faster, and take 500 MB of memory meanwhile.
  for (const flag of ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag)
  parser = await packageOf('libpg-query', import('libpg-query'))
  await parser.loadModule()
  // The first statement takes long.
  parse('SELECT 1')
}

/** The statements of a text. Throws 42601 as PostgreSQL does, and 54001 where it is nested too deeply. */
export function parse(text: string): ParsedStatement[] {
  if (text === '') return []
  const offset = offsetsIn(text)
  return treesOf(text).flatMap(({ stmt, stmt_location: at = 0, stmt_len: length = 0 }) =>
    stmt === undefined
      ? []
      : [{ node: stmt, from: offset(at), to: length === 0 ? text.length : offset(at + length) }],
  )
}

function treesOf(text: string) {
  assert(parser !== undefined, 'the parser is loaded')
  try {
    return parser.parseSync(text).stmts ?? []
  } catch (error) {
    if (!(error instanceof parser.SqlError)) throw tooDeep()
    const { cursorPosition } = error.sqlDetails ?? {}
    // In characters, as PostgreSQL's.
    const position = cursorPosition === undefined ? undefined : cursorPosition + 1
    throw new SqlError(/^stack depth/.test(error.message) ? '54001' : '42601', error.message, { position })
  }
}

/** 54001, in PostgreSQL's words. */
function tooDeep(): SqlError {
  return new SqlError('54001', 'stack depth limit exceeded', { hint: 'Nest the statement less deeply.' })
}

/** What turns offsets in bytes into offsets in UTF-16 units. */
function offsetsIn(text: string): (bytes: number) => number {
  const bytes = Buffer.from(text)
  if (bytes.length === text.length) return (at) => at
  return (at) => bytes.toString('utf8', 0, at).length
}

/** PostgreSQL's characters: a pair of surrogates is one. */
export function charactersIn(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** An error whose position, in characters, counts from the start of a statement, as that of the whole text. */
export function moved(error: unknown, before: number): unknown {
  if (error instanceof RangeError) return tooDeep()
  if (before === 0 || !(error instanceof SqlError) || error.details.position === undefined) return error
  const { sqlState, message, details } = error
  return new SqlError(sqlState, message, { ...details, position: before + error.details.position })
}
