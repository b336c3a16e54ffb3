/** The shapes of answers about ids and generators. */
import { z } from 'zod'
import type { GeneratorInfo } from '../catalogue/catalogue.ts'
import { type DefinitionJson, definitionJson } from '../catalogue/definition.ts'
import { generatorOptions } from '../catalogue/generator-options.ts'
import { adviceForReaders } from '../catalogue/readers.ts'
import { kinds } from '../issuing/issuer.ts'

const digits = z.string().regex(/^\d{1,19}$/)
const id = digits.meta({
  description: 'a 63-bit integer in decimal; a string, because JSON numbers lose digits',
})

/** Answer of `next`. */
export const idsShape = z
  .object({
    ids: z.array(z.string()).meta({ description: 'in the order of issue, with the generator’s format' }),
  })
  .meta({ id: 'Ids' })

/** Answer of `range`. */
export const rangesShape = z
  .object({
    ranges: z.array(
      z.object({
        start: id,
        end: id.meta({ description: 'the first id that is not included' }),
      }),
    ),
  })
  .meta({ id: 'Ranges', description: 'half-open ranges of raw ids, without format' })

/** Answer of `runs`. */
export const runsShape = z
  .object({
    runs: z.array(
      z.object({
        first: id,
        stride: digits.meta({ description: 'from one id to the next; of a single id it means nothing' }),
        count: z.int().min(1).meta({ description: 'how many ids' }),
      }),
    ),
  })
  .meta({ id: 'Runs', description: 'raw ids at a constant distance, without format, in the order of issue' })

/** The values of an answer: plain ones, which the schema's own output type does not say. */
export const definitionShape = generatorOptions.meta({
  id: 'GeneratorDefinition',
  description: 'every option with its value; accepted as it is by PUT',
}) as unknown as z.ZodType<DefinitionJson>

/** One generator in a list. */
const listedShape = z.object({
  name: z.string(),
  kind: z.enum(kinds as [string, ...string[]]),
  definition: definitionShape,
})

/** A generator in a list. */
export type ListedGenerator = z.output<typeof listedShape>

/** A page of generators. */
export const pageShape = z
  .object({
    generators: z.array(listedShape),
    next: z
      .string()
      .nullable()
      .meta({ description: 'give it as `after` for the next page; null on the last' }),
  })
  .meta({ id: 'GeneratorPage' })

/** A page of generators, as an answer. */
export type GeneratorPage = z.output<typeof pageShape>

/** What is said of an id of a period, beside the id. */
export const periodIdShape = {
  period: z.string().optional().meta({ description: 'of generators with periods: hour, day, week …' }),
  label: z.string().optional().meta({ description: 'what its period is called: 20261126' }),
  starts: z.string().optional().meta({ description: 'when its period begins, ISO 8601' }),
  ends: z.string().optional().meta({ description: 'the first moment behind its period' }),
  number: z.string().optional().meta({ description: 'its number in the period' }),
}

const statsShape = z
  .object({
    issued: z.number(),
    leased: z.number().meta({ description: 'ids in ranges that callers have leased' }),
    drawn: z.number().meta({ description: 'ids that callers have issued themselves, as they report' }),
    returned: z.number().meta({ description: 'ids in ranges that callers have given back unused' }),
    gap: z.number().meta({ description: 'those of them that no caller gets: another range had followed' }),
    callersPerSecond: z.number().meta({ description: 'ids that callers use up per second' }),
    ratePerSecond: z.number(),
    peakPerSecond: z.number(),
    inHand: z.number(),
    inHandSeconds: z.number().nullable().meta({ description: 'null when idle' }),
    reserved: z.number(),
    released: z.number(),
    dropped: z
      .number()
      .meta({ description: 'ids of batches that no caller gets: those that had asked had left' }),
    lost: z.number().meta({
      description: 'ids of batches that no caller gets, at most: their reserve has had no known outcome',
    }),
    refills: z.number(),
    refillFailures: z.number(),
    refillSeconds: z.number(),
    waits: z.number(),
    drySeconds: z.number(),
    waiting: z.number(),
  })
  .meta({ id: 'GeneratorStats', description: 'since this node opened the generator' })

/** Everything about one generator. */
export const generatorShape = z
  .object({
    ...listedShape.shape,
    incarnation: digits,
    mode: z.enum(['local', 'group commit', 'leader', 'node']).meta({
      description:
        'local: strict, issued here; group commit: strict, a reserve for each batch of requests; leader: strict, issued by its leader; node: in order per node',
    }),
    leader: z.string().nullable().meta({
      description: 'the address of its leader; null without one, and where there are no leaders',
    }),
    bound: id
      .nullable()
      .meta({ description: 'an id: nothing at or above it has been issued; of a snowflake, on this node' }),
    lastIssued: id.nullable(),
    presentPeriod: z.string().optional().meta({ description: 'the label of its present period: 20261126' }),
    periodEnds: z.string().optional().meta({ description: 'the first moment behind it, ISO 8601' }),
    leftInPeriod: digits
      .optional()
      .meta({ description: 'how many of its numbers are at or above the bound' }),
    exhaustedAt: z.string().nullable().meta({ description: 'ISO 8601; null when not in sight' }),
    readers: z.string().meta({
      description: 'how far behind the newest row those have to stay who read rows in the order of ids',
    }),
    notes: z.array(z.string()),
    stats: statsShape.nullable().meta({ description: 'null when not in use on this node' }),
  })
  .meta({ id: 'Generator' })

/** Everything about one generator, as an answer. */
export type GeneratorAnswer = z.output<typeof generatorShape>

/** What is said of the present period, where there is one. */
export function presentFields({ present }: GeneratorInfo) {
  if (present === undefined) return {}
  return { presentPeriod: present.label, periodEnds: present.ends, leftInPeriod: String(present.left) }
}

/** A generator as `generatorShape` says. */
export function generatorJson(info: GeneratorInfo): GeneratorAnswer {
  const { name, mode, notes, stats } = info
  return {
    name,
    kind: info.definition.kind,
    definition: definitionJson(info.definition),
    incarnation: String(info.incarnation),
    mode,
    leader: info.leader ?? null,
    bound: textOrNull(info.bound),
    lastIssued: textOrNull(info.lastIssued),
    ...presentFields(info),
    exhaustedAt: info.exhaustedAt ?? null,
    readers: adviceForReaders(info),
    notes: [...notes],
    stats: stats === undefined ? null : { ...stats, inHandSeconds: finiteOrNull(stats.inHandSeconds) },
  }
}

function textOrNull(value: bigint | undefined): string | null {
  return value === undefined ? null : String(value)
}

/** JSON has no Infinity. */
export function finiteOrNull(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null
}
