/** ID.BOUNDS and ID.ENCODE: which ids are of which moments. Neither draws any. */
import { z } from 'zod'
import { demandPermission } from '../auth/access.ts'
import { FahaoError } from '../base/errors.ts'
import type { Generator } from '../catalogue/catalogue.ts'
import { layoutOf } from '../catalogue/definition.ts'
import { formatIn } from '../catalogue/definition-formats.ts'
import { periodsOf } from '../catalogue/periods.ts'
import { formatFor } from '../catalogue/series.ts'
import type { Format } from '../ids/format.ts'
import { encode, unitsOf } from '../ids/id-parts.ts'
import { describeId, describePeriodId, type IdDescription, type PeriodIdDescription } from '../ids/inspect.ts'
import { type Layout, ones } from '../ids/layout.ts'
import { formatLayout, parseLayout } from '../ids/layout-text.ts'
import { type MomentInput, momentText, parseMomentUs } from '../ids/moment.ts'
import { bounds, condition, type GeneratorBounds, type IdBounds, periodBounds } from '../ids/moment-bounds.ts'
import { Periods } from '../ids/period.ts'
import { scatteredMoments } from '../ids/scatter.ts'
import { WideFormat } from '../ids/wide-format.ts'
import { key, optional, text, wholeNumber } from './argument.ts'
import type { OperationContext } from './context.ts'
import { existing } from './drawing.ts'
import { operation } from './operation.ts'
import { periodIdShape } from './shapes.ts'

const moment = 'ISO 8601 with a zone, such as 2019-05-04T12:00:00Z, or whole Unix milliseconds'
const part = { as: 'natural' } as const
const partMax = Number.MAX_SAFE_INTEGER

const literals =
  'the texts are as people write them: where a column has bytes, convert them, with UUID_TO_BIN in MySQL, ObjectId or UUID in MongoDB'

/** Which layout is asked for. */
const subject = {
  generator: optional(key('name')),
  layout: optional(text('LAYOUT l', 'a preset’s name or a layout’s text, instead of `generator`', 512)),
}

/** The ranges of the ids of a span of time. */
export type BoundsAnswer = {
  readonly layout?: string
  readonly period?: string
  readonly from: string
  readonly to: string | null
  readonly ranges: readonly Ends[]
  readonly texts?: readonly Ends[]
  readonly where: string
  readonly notes: readonly string[]
}

type Ends = { readonly start: string; readonly end: string | null }

const endsShape = z.array(
  z.object({
    start: z.string(),
    end: z
      .string()
      .nullable()
      .meta({ description: 'the first that is not included; null where there is none above' }),
  }),
)

const boundsShape = z
  .object({
    layout: z.string().optional().meta({ description: 'its name, or its text' }),
    period: z.string().optional().meta({ description: 'of generators with periods: hour, day, week …' }),
    from: z.string().meta({ description: 'ISO 8601' }),
    to: z.string().nullable(),
    ranges: endsShape.meta({ description: 'half-open ranges of raw ids, in ascending order' }),
    texts: endsShape.optional().meta({
      description:
        'the same in the generator’s format; absent where there is none, or its texts are not in the order of ids',
    }),
    where: z.string().meta({
      description: 'a condition of SQL on a column `id`, of texts where there are some, else of raw ids',
    }),
    notes: z.array(z.string()),
  })
  .meta({ id: 'Bounds' })

const common = {
  permission: 'read',
  effect: 'readonly',
  anyNode: true,
} as const

const errors = ['ERR', 'WRONGTYPE', 'NOGENERATOR', 'UNAVAILABLE'] as const

/** ID.BOUNDS, and `GET /v1/bounds`. */
export const boundsOperation = operation({
  ...common,
  name: 'id.bounds',
  summary: 'The ranges of the ids of a span of time, for a WHERE clause or a partition.',
  args: {
    ...subject,
    from: text('FROM t', moment, 64),
    to: optional(text('TO t', `${moment}; without it all later moments`, 64)),
  },
  reply:
    'A map: layout, from, to, ranges (pairs of raw ids, start and end; the end is not included, and nil where no id is above), texts (the same in the format of the generator; only where its texts are in the order of ids), where (a condition of SQL), notes.',
  notes: `Moments are ${moment}. A moment counts as the beginning of its unit of the layout, so that spans which follow one another have ranges which do. An id has the moment that it shows when it is decoded, which may lie [ahead of the clock](../concepts/time.md#how-far-ahead-a-decoded-time-may-be). A layout with other fields above time has a range for each of their values, at most 1,024. A generator with periods takes a day of its calendar too, as 2026-11-26, and each counts as the beginning of its period. Ids of other counters do not tell time: WRONGTYPE.`,
  http: {
    id: 'bounds',
    method: 'GET',
    path: '/v1/bounds',
    tag: 'ids',
    answer: ['The ranges.', boundsShape],
    errors,
    example: {
      query: 'layout=twitter&from=2019-05-04T00:00:00Z&to=2019-05-05T00:00:00Z',
      answer: {
        layout: 'twitter',
        from: '2019-05-04T00:00:00Z',
        to: '2019-05-05T00:00:00Z',
        ranges: [{ start: '1124463648568246272', end: '1124826036433846272' }],
        where: 'id >= 1124463648568246272 AND id < 1124826036433846272',
        notes: [],
      },
    },
  },
  async run(context: OperationContext, values): Promise<BoundsAnswer> {
    const { space, generator } = await asked(context, 'id.bounds', values)
    const { ranges, texts, where, notes } = boundsOf(space, generator, values.from, values.to)
    return {
      ...(space instanceof Periods ? { period: space.unit } : { layout: nameOf(space) }),
      from: isoOf(space, values.from),
      to: values.to === undefined ? null : isoOf(space, values.to),
      ranges: ranges.map(({ start, end }) => ({
        start: String(start),
        end: end === undefined ? null : String(end),
      })),
      ...(texts && { texts: texts.map(({ start, end = null }) => ({ start, end })) }),
      where,
      notes,
    }
  },
  replied: ({ ranges, texts, ...others }) => {
    const pairs = (ends: readonly Ends[]) => ends.map(({ start, end }) => [start, end])
    return { ...others, ranges: pairs(ranges), ...(texts && { texts: pairs(texts) }) }
  },
})

/** As ID.BOUNDS, for callers in this process. Throws ERR and WRONGTYPE. */
export function generatorBounds(generator: Generator, from: MomentInput, to?: MomentInput): GeneratorBounds {
  return boundsOf(spaceOf(generator), generator, from, to)
}

/**
 * The smallest id of a moment, for callers in this process. Throws as `generatorBounds`, EXHAUSTED past the end of time, and WRONGTYPE
 * where ids are scattered.
 */
export function smallestIdAt(generator: Generator, moment: MomentInput): bigint {
  const space = spaceOf(generator)
  if (space instanceof Periods) return space.firstId(space.ordinalOfDay(moment))
  if (space.scatterBits === 0) return encode(space, { time: unitsOf(space, moment) })
  throw scatteredMoments(generator.name)
}

function boundsOf(
  space: IdSpace,
  generator: Generator | undefined,
  from: MomentInput,
  to: MomentInput | undefined,
): GeneratorBounds {
  const { ranges, notes } = space instanceof Periods ? periodBounds(space, from, to) : bounds(space, from, to)
  const format = formatOf(generator)
  const isOrdered =
    space instanceof Periods ? format?.column(0n).sortsLikeIds : format?.smallest(0n) !== undefined
  const texts = isOrdered ? textsOf(format!, space, ranges) : undefined
  const unordered = `texts of the format ${format?.template} are not in the order of ids: compare raw ids, or give {id} a width and let only text stand before it`
  return {
    ranges,
    texts,
    where: condition(texts ?? ranges, 'id'),
    notes: [
      ...notes,
      ...(format === undefined || isOrdered ? [] : [unordered]),
      ...(format instanceof WideFormat && format.name !== 'typeid' ? [literals] : []),
    ],
  }
}

/** The ranges as texts. Where texts begin with time, whatever stands above it in an id, those of all ranges are one. */
function textsOf(
  format: Format,
  space: IdSpace,
  ranges: readonly IdBounds[],
): NonNullable<GeneratorBounds['texts']> {
  const { timeShift, timeBits } = space instanceof Periods ? { timeShift: 0, timeBits: 0 } : space
  const beginsWithTime = format instanceof WideFormat && format.name !== 'uuidv8'
  return (beginsWithTime ? ranges.slice(0, 1) : ranges).flatMap(({ start: from, end: to = 0n }) => {
    const start = format.smallest(from)
    // Behind the last unit of the field stands its first.
    const isLast = ((to >> BigInt(timeShift)) & ones(timeBits)) === 0n
    const end = to === 0n || (beginsWithTime && isLast) ? undefined : format.smallest(to)
    return start === undefined ? [] : [{ start, end }]
  })
}

/** An id of a moment, and its text. */
export type EncodedId = (IdDescription | PeriodIdDescription) & { readonly text?: string }

/** ID.ENCODE, and `GET /v1/encode`. */
export const encodeOperation = operation({
  ...common,
  name: 'id.encode',
  summary: 'The id of a moment with node 0 and sequence 0, or with those that are given.',
  args: {
    ...subject,
    at: text('AT t', moment, 64),
    node: optional(wholeNumber('NODE n', [0, partMax], 'the node part (default 0)', part)),
    sequence: optional(
      wholeNumber(
        'SEQUENCE n',
        [0, partMax],
        'the sequence number, or the number in a period (default 0)',
        part,
      ),
    ),
    gene: optional(wholeNumber('GENE n', [0, partMax], 'the gene (default 0)', part)),
  },
  reply:
    'A map: id, layout, date (ISO 8601), unixMs, time, node, sequence, of some layouts gene and fields, or of a generator with periods: id, period, label, starts, ends, number; and text, the smallest text of the id in the format of the generator, where its texts are in the order of ids.',
  notes: `Moments are ${moment}. A generator with periods takes a day of its calendar too, and SEQUENCE is the number in the period. Without other parts it is the smallest id of the moment, unless ids are scattered: for these see \`ID.BOUNDS\`. The id is not drawn: it may have been issued, and may be issued later. To get ids of a past moment, see \`ID.NEXT\`.`,
  http: {
    id: 'encode',
    method: 'GET',
    path: '/v1/encode',
    tag: 'ids',
    answer: [
      'The id and its parts.',
      z
        .object({
          id: z.string().meta({ description: 'the raw id, without format' }),
          layout: z.string().optional(),
          date: z.string().optional().meta({ description: 'when its unit of time began, ISO 8601' }),
          unixMs: z.string().optional(),
          time: z.string().optional().meta({ description: 'units of the layout since its epoch' }),
          node: z.string().optional(),
          sequence: z.string().optional(),
          ...periodIdShape,
          gene: z.string().optional().meta({ description: 'where the layout has one' }),
          fields: z
            .record(z.string(), z.string())
            .optional()
            .meta({ description: 'the fixed fields of the layout that have a name' }),
          text: z
            .string()
            .optional()
            .meta({ description: 'the smallest text of the id in the generator’s format' }),
        })
        .meta({ id: 'EncodedId' }),
    ],
    errors: [...errors, 'EXHAUSTED'],
    example: {
      query: 'layout=twitter&at=2019-05-04T12:00:00Z',
      answer: {
        id: '1124644842501046272',
        layout: 'twitter',
        date: '2019-05-04T12:00:00Z',
        unixMs: '1556971200000',
        time: '268136225343',
        node: '0',
        sequence: '0',
      },
    },
  },
  async run(context: OperationContext, values): Promise<EncodedId> {
    const { space, generator } = await asked(context, 'id.encode', values)
    const { at, node = 0, sequence = 0, gene = 0 } = values
    const format = formatOf(generator)
    if (space instanceof Periods) {
      const id = periodId(space, at, values)
      const text = format?.needsNode ? format.smallest(id) : format?.format(id)
      return { ...describePeriodId(space, id)!, ...(text !== undefined && { text }) }
    }
    const id = encode(space, { time: unitsOf(space, at), node, sequence, gene })
    const written = format?.smallest(id)
    return { ...describeId(space, id), ...(written !== undefined && { text: written }) }
  },
})

/** The id of a number in the period of a day or moment. */
function periodId(
  periods: Periods,
  at: string,
  { node, gene, sequence = 0 }: { readonly [Part in 'node' | 'gene' | 'sequence']?: number | undefined },
): bigint {
  if (node !== undefined || gene !== undefined)
    throw new FahaoError(
      'ERR',
      'ids of periods have no node and no gene; give SEQUENCE, the number in the period, alone',
    )
  if (BigInt(sequence) >= periods.size)
    throw new FahaoError(
      'ERR',
      `number ${sequence} has more than ${periods.width} digits, the width of the generator`,
    )
  return periods.firstId(periods.ordinalOfDay(at)) + BigInt(sequence)
}

/** Both. */
export const momentOperations = [boundsOperation, encodeOperation] as const

type Asked = { readonly generator?: string | undefined; readonly layout?: string | undefined }

/** The layout that is asked for, and whose it is. */
async function asked(
  { caller, catalogue }: OperationContext,
  command: string,
  { generator: name, layout }: Asked,
): Promise<{ readonly space: IdSpace; readonly generator?: Generator }> {
  if ((name === undefined) === (layout === undefined))
    throw new FahaoError('ERR', 'name a generator or give a layout, one of the two')
  if (name === undefined) return { space: parseLayout(layout) }
  demandPermission(caller.access, command, name)
  const generator = await existing(catalogue, name)
  return { space: spaceOf(generator), generator }
}

/** What tells the time of ids: a layout, or periods. */
type IdSpace = Layout | Periods

/** That of a generator whose ids tell time. */
function spaceOf({ name, kind, definition }: Generator): IdSpace {
  if (definition.layout !== undefined) return layoutOf(definition)
  const periods = periodsOf(definition)
  if (periods !== undefined) return periods
  throw new FahaoError(
    'WRONGTYPE',
    `'${name}' is a ${kind}, and ids of a counter do not tell time; keep the time in a column of its own, or use kind snowflake`,
  )
}

function formatOf(generator: Generator | undefined): Format | undefined {
  return generator && formatFor(formatIn(generator.definition), generator)
}

function nameOf(layout: Layout): string {
  return layout.name ?? formatLayout(layout)
}

/** A moment as it was given; of periods the beginning of its own. */
function isoOf(space: IdSpace, given: string): string {
  const us =
    space instanceof Periods ? space.startUs(space.ordinalOfDay(given)) : parseMomentUs(given, 'moment')
  return momentText(BigInt(us))
}
