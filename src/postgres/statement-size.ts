/**
 * How much memory compiled statements take, and how long it takes to compile them. Texts say little about it: `SELECT *, *, …
 * FROM pg_class` takes 6,000 bytes for each of its own.
 */
import type { Statement } from './session.ts'
import type { Token } from './sql/lexer.ts'
import { workOf } from './turn.ts'

/** About what a statement takes, in bytes: itself, each of its tokens, and each character of a string that may be an array. */
type Costs = { readonly statement: number; readonly token: number; readonly arrayCharacter: number }

/**
 * Of queries that the evaluator runs, beside their columns. Measured with Node 24, by the heap before and after many of them:
 * the dearest statement is `SELECT;`, the dearest token that of `SELECT (SELECT 1), …`, and the dearest character that of an
 * array, `SELECT '{1,1,…}'::int8[]`.
 */
export const evaluatedCosts: Costs = Object.freeze({ statement: 2500, token: 400, arrayCharacter: 22 })
/** Of all other statements, with their columns, such as `SELECT nextval('x')`. */
export const plainCosts: Costs = Object.freeze({ statement: 1000, token: 120, arrayCharacter: 0 })

/** Each character of a text, and of the values that are parts of it. */
const characterBytes = 2
/** An array has at most 5,000 elements: what is longer than this is long elements. */
const arrayCharactersMax = 10_000

/** A statement that says how much memory it takes: its tokens, beside what it has said before. */
export function sized(statement: Statement, tokens: readonly Token[], costs: Costs): Statement {
  const characters = tokens.at(-1)!.at - tokens[0]!.at
  let own = costs.statement + tokens.length * costs.token + characters * characterBytes
  for (const { kind, text } of tokens)
    if (kind === 'string') own += Math.min(text.length, arrayCharactersMax) * costs.arrayCharacter
  return { ...statement, heldBytes: own + (statement.heldBytes ?? 0) }
}

/** How long compiling a character takes at the least: as a reply of so many bytes. */
const characterWork = 8

/** How long compiling takes, as a reply of so many bytes. @param heldBytes what it has made. */
export function compileWork(elapsedUs: number, characters: number, heldBytes: number): number {
  return Math.max(workOf(elapsedUs), characters * characterWork, heldBytes / 2)
}
