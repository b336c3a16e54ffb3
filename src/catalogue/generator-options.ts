/**
 * The options of a generator: one schema for the config file, `ID.CREATE`, HTTP and the library. Values may
 * be text everywhere, so that big integers and durations survive YAML, JSON and the command line.
 */

import { z } from 'zod'
import { FahaoError } from '../base/errors.ts'
import { nearest, unknownWords } from '../base/nearest.ts'
import { formatDuration, parseDurationMs } from '../base/units.ts'
import { geneBitsMax } from '../ids/gene.ts'
import { max53, max63, workerIdsMax } from '../ids/limits.ts'
import { periodDigitsMax, periodUnits } from '../ids/period.ts'
import { readIncrementRange } from '../ids/random-steps.ts'
import { kinds } from '../issuing/issuer.ts'

const wholeNumber = 'must be a whole number, 0 or more'
const integer = z
  .union([z.string().regex(/^\d{1,19}$/, wholeNumber), z.int(wholeNumber).min(0, wholeNumber)], wholeNumber)
  .transform(BigInt)
  .refine((value) => value <= max63, 'must be below 2^63')
const count = integer
  .pipe(
    z
      .bigint()
      .min(1n, 'must be at least 1')
      .max(10n ** 12n, 'must be at most 10^12'),
  )
  .transform(Number)
/** A distance, or a range that distances are drawn from. */
const distanceText =
  'must be a whole number from 1 to 10^12, or a range such as 1..9, which ends at 100,000 at most'
const range = z.string().refine((text) => readIncrementRange(text) !== undefined, distanceText)
const distance = z.union([range, count], distanceText)
/** The text of a step without a least number of ids, which is stored as 0. */
const adaptive = 'adaptive'
const step = z.union(
  [z.literal(adaptive).transform(() => 0), count],
  `must be ${adaptive}, or a whole number from 1 to 10^12`,
)
const duration = z
  .union([
    z.string(),
    z
      .number()
      .min(0)
      .transform((ms) => `${ms}`),
  ])
  .transform((text, context) => {
    try {
      return parseDurationMs(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message })
      return z.NEVER
    }
  })
const flag = z
  .union([z.boolean(), z.enum(['on', 'off', 'true', 'false', 'yes', 'no'])], 'must be on or off')
  .transform((value) => value === true || value === 'on' || value === 'true' || value === 'yes')

const wordsMax = 500
const wordsTextMax = 4096
const words = z
  .union([z.string(), z.array(z.string())], 'must be words, separated by commas')
  .transform((given, context) => {
    const listed = typeof given === 'string' ? given.split(',') : given
    const plain = listed.map((word) => word.trim().toLowerCase()).filter((word) => word !== '')
    const refuse = (message: string) => {
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    }
    const wrong = plain.find((word) => !/^[a-z0-9]{2,32}$/.test(word))
    if (wrong !== undefined) return refuse(`'${wrong.slice(0, 40)}' is not 2 to 32 letters a–z and digits`)
    const text = [...new Set(plain)].sort().join(',')
    if (plain.length > wordsMax || text.length > wordsTextMax)
      return refuse(`must have at most ${wordsMax} words, and ${wordsTextMax} characters in all`)
    return text
  })

function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, {
    error({ input }) {
      const known = `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
      if (/^(?:uuid(?:v\d)?|ulid|typeid|objectid)$/i.test(String(input)))
        return `${known}; 128 bits are a format of these, such as kind snowflake with format uuidv7`
      const meant = nearest(String(input), words)
      return meant === undefined ? known : `${known}; did you mean ${meant}?`
    },
  })
}

/** Every option of a generator. Which of them a kind takes is checked by `define`. */
export const generatorOptions = z
  .strictObject({
    kind: oneOf(kinds as readonly ['sequence', 'segment', 'timestamp', 'snowflake']).meta({
      description: 'sequence and timestamp are strict; segment and snowflake are in order per node',
    }),
    family: flag.optional().meta({
      description:
        'sequence only: every name that begins as its name, which ends with *, is a sequence of its own',
    }),
    start: integer.optional().meta({ description: 'first id of a counter (default 1)' }),
    increment: distance.optional().meta({
      description:
        'distance between ids of a counter (default 1); 1..9: at random, so that ids cannot be counted',
    }),
    offset: integer
      .optional()
      .meta({ description: 'ids are ≡ offset modulo increment (default: of the first id)' }),
    gene: integer
      .pipe(z.bigint().max(BigInt(geneBitsMax), `must be at most ${geneBitsMax}`))
      .transform(Number)
      .optional()
      .meta({ description: 'how many of the lowest bits of an id its caller gives (default 0)' }),
    max: integer.optional().meta({ description: 'largest id of a counter (default 2^63−1)' }),
    step: step.optional().meta({
      description:
        'smallest refill of a counter, in ids (default 1000); adaptive: only what the horizon needs at the recent rate (default of generators that a rule or SET creates)',
    }),
    stepMax: count.optional().meta({ description: 'largest refill of a counter, in ids (default 10^10)' }),
    horizon: duration.optional().meta({ description: 'how long ids last without the engine (default 10m)' }),
    issueTimeout: duration
      .optional()
      .meta({ description: 'how long a request waits for a refill (default 2s)' }),
    within: oneOf(['ordered', 'shuffled']).optional().meta({
      description: 'order within a node’s range; shuffled: segment only',
    }),
    scramble: flag.optional().meta({
      description: 'hide volume by a keyed permutation of [0, max]; segment only, and order is lost',
    }),
    format: z
      .string('must be text')
      .max(256, 'must have at most 256 characters')
      .optional()
      .meta({ description: 'template around {id}, such as sms_{id}' }),
    avoid: words.optional().meta({
      description: 'words that no text of a counter’s id contains, separated by commas',
    }),
    period: z
      .enum([...periodUnits, 'none'], `must be none, ${periodUnits.slice(0, -1).join(', ')} or year`)
      .transform((unit) => (unit === 'none' ? undefined : unit))
      .optional()
      .meta({
        description: `a counter’s numbers begin again at start each ${periodUnits.slice(0, -1).join(', ')} or year, whose label is in the id (default none)`,
      }),
    zone: z.string('must be text').max(64, 'must have at most 64 characters').optional().meta({
      description:
        'where periods begin: a place like Europe/Berlin, an offset like +08:00, or UTC (default UTC)',
    }),
    yearStart: z.string('must be text').max(8, 'must be MM-DD').optional().meta({
      description: 'the day on which years of a period begin, as 04-01 (default 01-01)',
    }),
    width: count
      .pipe(z.int().max(periodDigitsMax, `must be at most ${periodDigitsMax}`))
      .optional()
      .meta({
        description:
          'how many digits the number in a period has (default: N of {id:N} in the format; without it, ids have 15 digits)',
      }),
    keep: integer
      .pipe(z.bigint().max(62n, 'must be at most 62'))
      .transform(Number)
      .optional()
      .meta({ description: 'how many earlier periods can still be numbered, by AT (default 0)' }),
    gaps: oneOf(['allowed', 'none']).optional().meta({
      description:
        'none: sequence only; nothing is buffered, each batch of requests is one write of exactly its ids (default allowed)',
    }),
    jump: integer.optional().meta({
      description: 'how many ids of a counter ABOVE skips at most (default 1000000)',
    }),
    ledger: flag.optional().meta({
      description: 'of a sequence: each number is reserved and then confirmed, and accounted for',
    }),
    hold: duration.optional().meta({
      description: 'for how long a number of a ledger is held where the request does not say (default 30s)',
    }),
    template: z.string('must be text').max(256, 'must have at most 256 characters').optional().meta({
      description: 'the names of a series, such as invoice:{tenant}, so that a format can show {tenant}',
    }),
    layout: z
      .union(
        [z.string().max(400, 'must have at most 400 characters'), z.record(z.string(), z.unknown())],
        'must be the name of a preset, or fields',
      )
      .optional()
      .meta({ description: 'bits of a clock kind: a preset’s name or fields (default twitter)' }),
    epoch: z.union([z.string(), z.int()], 'must be an ISO date-time with zone, or Unix ms').optional().meta({
      description: 'another epoch for the layout: ISO date-time with zone, or Unix ms',
    }),
    node: integer
      .pipe(z.bigint().max(max53, 'must be at most 2^53−1'))
      .transform(Number)
      .optional()
      .meta({ description: 'node field of a timestamp, one constant (default 0)' }),
    past: integer
      .pipe(z.bigint().max(BigInt(workerIdsMax), `must be at most ${workerIdsMax}`))
      .transform(Number)
      .optional()
      .meta({
        description:
          'snowflake only: how many lanes past moments have, each with as many ids as the sequence; takes a bit of the node (default 0)',
      }),
    sequenceStart: oneOf(['zero', 'random']).optional().meta({
      description:
        'where a clock kind’s sequence starts in a fresh unit of time (default random for a snowflake that may borrow, so that its low bits spread; else zero)',
    }),
    borrowMax: duration.optional().meta({
      description: 'how far a clock kind may run ahead of the clock when its sequence is full (default 10s)',
    }),
  })
  .meta({ id: 'GeneratorOptions' })

/** A whole number, 0 or more; as text or bigint also past 2^53. */
type WholeNumber = bigint | number | string
/** Text such as `10m`, or milliseconds. */
type Duration = string | number | bigint

/** Options as users give them. They are written out for readers of the types, who have no zod; `generatorOptions` checks them. */
export type GeneratorInput = {
  /** `sequence` and `timestamp` are strict; `segment` and `snowflake` are in order per node. */
  readonly kind: 'sequence' | 'segment' | 'timestamp' | 'snowflake'
  /** Of a `sequence` whose name ends with `*`: every name that begins as it does is a sequence of its own. */
  readonly family?: boolean | 'on' | 'off' | 'true' | 'false' | 'yes' | 'no' | undefined
  /** The first id of a counter. Default 1. */
  readonly start?: WholeNumber | undefined
  /** The distance between ids of a counter. Default 1. `1..9`: at random, so that ids cannot be counted. */
  readonly increment?: WholeNumber | undefined
  /** Ids are ≡ `offset` modulo `increment`. Default: of the first id. */
  readonly offset?: WholeNumber | undefined
  /** How many of the lowest bits of an id its caller gives, as the shard that it belongs to. Default 0. */
  readonly gene?: WholeNumber | undefined
  /** The largest id of a counter. Default 2^63−1. */
  readonly max?: WholeNumber | undefined
  /**
   * The smallest refill of a counter, in ids; `adaptive`: only what the horizon needs at the recent rate. Default 1000, and
   * `adaptive` of generators that a rule or SET creates.
   */
  readonly step?: WholeNumber | 'adaptive' | undefined
  /** The largest refill of a counter, in ids. Default 10^10. */
  readonly stepMax?: WholeNumber | undefined
  /** How long ids last without the engine. Default 10m. */
  readonly horizon?: Duration | undefined
  /** How long a request waits for a refill. Default 2s. */
  readonly issueTimeout?: Duration | undefined
  /** The order within a node’s range; `shuffled`: segment only. */
  readonly within?: 'ordered' | 'shuffled' | undefined
  /** Hides volume by a keyed permutation of [0, max]; segment only, and order is lost. */
  readonly scramble?: boolean | 'on' | 'off' | 'true' | 'false' | 'yes' | 'no' | undefined
  /** A template around {id}, such as `sms_{id}`. */
  readonly format?: string | undefined
  /** Words that no text of a counter’s id contains: a list, or text with commas between them. */
  readonly avoid?: string | readonly string[] | undefined
  /** A counter’s numbers begin again at `start` in each period, whose label is in the id. Default none. */
  readonly period?: 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year' | 'none' | undefined
  /** Where periods begin: a place like Europe/Berlin, an offset like +08:00, or UTC. Default UTC. */
  readonly zone?: string | undefined
  /** The day on which years of a period begin, `MM-DD`. Default 01-01. */
  readonly yearStart?: string | undefined
  /** How many digits the number in a period has. Default: N of `{id:N}` in the format; without it, ids have 15 digits. */
  readonly width?: WholeNumber | undefined
  /** How many earlier periods can still be numbered. Default 0. */
  readonly keep?: WholeNumber | undefined
  /** `none`: of a `sequence`. Nothing is buffered, and each batch of requests is one write of exactly its ids. Default `allowed`. */
  readonly gaps?: 'allowed' | 'none' | undefined
  /** How many ids of a counter `above` skips at most. Default 1,000,000. */
  readonly jump?: WholeNumber | undefined
  /** Of a `sequence`: each number is reserved and then confirmed, and accounted for. */
  readonly ledger?: boolean | 'on' | 'off' | 'true' | 'false' | 'yes' | 'no' | undefined
  /** For how long a number of a ledger is held where the request does not say. Default 30s. */
  readonly hold?: Duration | undefined
  /** The names of a series, such as `invoice:{tenant}`, so that a format can show `{tenant}`. Default none. */
  readonly template?: string | undefined
  /** The bits of a clock kind: the name of a preset, or fields. Default twitter. */
  readonly layout?: string | Readonly<Record<string, unknown>> | undefined
  /** Another epoch for the layout: an ISO date-time with zone, or Unix ms. */
  readonly epoch?: string | number | bigint | undefined
  /** The node field of a timestamp, one constant. Default 0. */
  readonly node?: WholeNumber | undefined
  /** Of a `snowflake`: how many lanes past moments have, each with as many ids as the sequence. Takes a bit of the node. Default 0. */
  readonly past?: WholeNumber | undefined
  /** Where a clock kind’s sequence starts in a fresh unit of time. Default random for a snowflake that may borrow; else zero. */
  readonly sequenceStart?: 'zero' | 'random' | undefined
  /** How far a clock kind may run ahead of the clock when its sequence is full. Default 10s. */
  readonly borrowMax?: Duration | undefined
}

/** Options as read: integers as bigint, counts as number, durations as milliseconds. */
export type GeneratorOptions = z.output<typeof generatorOptions>

/** The name of each option. */
export const optionNames = Object.freeze(
  Object.keys(generatorOptions.shape),
) as readonly (keyof GeneratorOptions)[]

/** Options whose values are durations, in ms once read. */
const durations: ReadonlySet<string> = new Set(['horizon', 'issueTimeout', 'borrowMax', 'hold'])

/** Reads options; ERR names each that is wrong. Takes bigint wherever it takes an integer. */
export function parseOptions(input: unknown): GeneratorOptions {
  const read = generatorOptions.safeParse(withoutBigints(input))
  if (read.success) return read.data
  throw new FahaoError('ERR', read.error.issues.map(issueText).join('; '))
}

/** The option of this name in any spelling of case and hyphens: `STEPMAX`, `step-max`, `stepMax`. */
export function optionName(text: string): keyof GeneratorOptions | undefined {
  const plain = text.toLowerCase().replaceAll(/[-_]/g, '')
  return optionNames.find((name) => name.toLowerCase() === plain)
}

/** A read option as people write it. */
export function optionText(name: string, value: unknown): string {
  if (name === 'step' && value === 0) return adaptive
  if (name === 'gene' || name === 'past') return String(value ?? 0)
  if (name === 'avoid' && value === undefined) return "''"
  if (name === 'period' && value === undefined) return 'none'
  if (name === 'gaps') return String(value ?? 'allowed')
  if (durations.has(name)) return formatDuration(value as number)
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  return String(value)
}

function withoutBigints(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input
  return Object.fromEntries(
    Object.entries(input)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]),
  )
}

function issueText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    return unknownWords('option', issue.keys, optionNames)
  }
  const where = issue.path.length > 0 ? `option '${issue.path.join('.')}': ` : ''
  return `${where}${issue.message}`
}
