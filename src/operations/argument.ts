/**
 * The arguments of operations. The key of an argument in its record is the name that HTTP gives it. Its `word` is how Redis
 * writes it: `COUNT n` is a token and a value, `STABLE` a token alone, and `pool`, in lower case, stands at a position in Redis
 * and in the path in HTTP.
 */
import { z } from 'zod'
import { FahaoError } from '../base/errors.ts'
import { parseDurationMs } from '../base/units.ts'
import type { Limits } from './context.ts'

/** A largest value, which a setting may give. */
type Most = number | ((limits: Limits) => number)

/** How a word of Redis becomes the value. */
export type Reading =
  | { readonly as: 'key' | 'text' | 'pattern' | 'integer' | 'flag' }
  /** A number of things, 1 to `max`. */
  | { readonly as: 'count'; readonly max: Most }
  /** A safe integer. `refusal`: the error for one that is out of range; undefined: it is not. */
  | { readonly as: 'number'; readonly refusal?: (value: number) => string | undefined }
  | { readonly as: 'natural' }

/** One argument. */
export type Argument<Value = unknown> = {
  readonly word: string
  readonly reading: Reading
  /** As COMMAND DOCS shows it. Default: as it is read. */
  readonly type?: 'integer' | 'pattern'
  readonly optional?: true
  /** Redis's error where it is missing; default: a syntax error. False: the use case refuses it. */
  readonly missing?: string | false
  /** Reads the text of HTTP's query. Not asked for what stands in the path. */
  readonly schema: (limits: Limits) => z.ZodType<Value>
}

/** The arguments of an operation, by name. */
export type Arguments = Readonly<Record<string, Argument>>

/** What a use case receives for its arguments. */
export type ValuesOf<Args extends Arguments> = {
  readonly [Name in keyof Args]: Args[Name] extends Argument<infer Value> ? Value : never
}

/** An argument that may be left out. */
export function optional<Value>(argument: Argument<Value>): Argument<Value | undefined> {
  return { ...argument, optional: true, schema: (limits) => argument.schema(limits).optional() }
}

/** The name of a generator or a pool. */
export function key(word: string): Argument<string> {
  return { word, reading: { as: 'key' }, schema: () => z.string() }
}

/** A text of HTTP's with this many characters at most. */
export function text(word: string, about = '', max = 256, min = 0): Argument<string> {
  const characters = z.string().max(max).meta({ description: about })
  return { word, reading: { as: 'text' }, schema: () => (min > 0 ? characters.min(min) : characters) }
}

/** A glob. */
export function pattern(word: string, about: string): Argument<string> {
  return { ...text(word, about), reading: { as: 'pattern' } }
}

/** A word without a value: true where the word is given. */
export function flag(word: string, about: string): Argument<boolean | undefined> {
  const given = z
    .enum(['true', 'false'], 'must be true or false')
    .meta({ description: about })
    .transform((value) => value === 'true')
  return optional({ word, reading: { as: 'flag' }, schema: () => given })
}

/** A whole number of HTTP's, without sign and leading zero; `reading`: Redis's. */
export function wholeNumber(
  word: string,
  [min, max]: readonly [min: number, max: Most],
  about: string,
  reading: Reading = { as: 'number' },
): Argument<number> {
  return { word, reading, schema: (limits) => wholeNumberSchema(min, mostOf(max, limits), about) }
}

/** A number of things, 1 to `max`. */
export function count(word: string, max: Most, about: string): Argument<number> {
  return wholeNumber(word, [1, max], about, { as: 'count', max })
}

/** A moment: Unix time in µs. */
export function moment(word: string, about: string): Argument<number> {
  const schema = z
    .string('must be Unix time in µs')
    .regex(/^(?:0|[1-9]\d{0,15})$/, 'must be Unix time in µs')
    .meta({ type: 'integer', description: about })
    .transform(Number)
  return { word, reading: { as: 'number' }, schema: () => schema }
}

/** A whole number of 64 bits. */
export function integer(word: string, about: string): Argument<bigint> {
  const schema = z
    .string('must be a whole number')
    .regex(/^(?:0|[1-9]\d{0,18})$/, 'must be a whole number')
    .meta({ type: 'integer', description: about })
    .transform(BigInt)
  return { word, reading: { as: 'integer' }, schema: () => schema }
}

/** A length of time: of Redis a number of ms, of HTTP `250ms`, `3s`, `10m`, or ms without a unit. The value is in ms. */
export function duration(word: string, about: string, reading: Reading = { as: 'number' }): Argument<number> {
  const wanted = 'must be a duration such as 250ms, 3s, 10m, 1h or 1d'
  const schema = z
    .string(wanted)
    .meta({ description: about })
    .transform((given, context) => {
      try {
        return parseDurationMs(given)
      } catch (error) {
        if (!(error instanceof FahaoError)) throw error
        context.addIssue({ code: 'custom', message: wanted })
        return z.NEVER
      }
    })
  return { word, reading, schema: () => schema }
}

/** The largest value of an argument on a server with these limits. */
export function mostOf(max: Most, limits: Limits): number {
  return typeof max === 'number' ? max : max(limits)
}

/** A whole number in a query: no sign, no leading zero. */
export function wholeNumberSchema(minimum: number, maximum: number, meaning: string) {
  const wanted = `must be a whole number from ${minimum} to ${maximum}`
  return z
    .string(wanted)
    .refine(
      (given) => /^(?:0|[1-9]\d{0,14})$/.test(given) && Number(given) >= minimum && Number(given) <= maximum,
      wanted,
    )
    .meta({ type: 'integer', minimum, maximum, description: meaning })
    .transform(Number)
}
