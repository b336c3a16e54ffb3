/** The features of ids that systems route by and people type, and how each is asked for. */
import { decode, geneOf, layouts } from '../../../src/ids.ts'

/** A feature, shown by one generator. */
export type Feature = {
  /** The name of its generator too. */
  readonly name: string
  /** What the page calls it. */
  readonly title: string
  /** The words of ID.CREATE behind the name. */
  readonly create: readonly string[]
  /** What a draw carries beside the number of ids. */
  readonly draw?: Draw
  /** What each text looks like. */
  readonly text: RegExp
  /** Whether a raw id has what the draw carries. A way that cannot carry it may issue others. */
  readonly has?: (id: bigint) => boolean
}

/** What a draw may carry. */
export type Draw = { readonly gene?: number; readonly by?: string; readonly at?: string }

const uuid = (version: number) =>
  new RegExp(`^[0-9a-f]{8}-[0-9a-f]{4}-${version}[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
const crockford = '[0-9A-HJKMNP-TV-Z]'
/** A whole number. */
export const whole = /^\d{1,19}$/

/** The day before this one, at Greenwich. */
const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)

/** Every feature, in the order of the page. */
export const features: readonly Feature[] = [
  {
    name: 'counter-gene',
    title: 'a gene on a counter, `GENE 10`',
    create: ['KIND', 'sequence', 'GENE', '10'],
    draw: { gene: 37 },
    text: whole,
    has: (id) => id % 1024n === 37n,
  },
  {
    name: 'counter-by',
    title: 'the same by a key, `BY user:8812`',
    create: ['KIND', 'segment', 'GENE', '10'],
    draw: { by: 'user:8812' },
    text: whole,
    has: (id) => id % 1024n === BigInt(geneOf('user:8812', 10)),
  },
  {
    name: 'clock-gene',
    title: 'a gene in a layout, `gene:6`',
    create: ['KIND', 'snowflake', 'LAYOUT', 'time:41,node:8,sequence:8,gene:6;epoch=2025-01-01T00:00:00Z'],
    draw: { gene: 5 },
    text: whole,
    has: (id) => id % 64n === 5n,
  },
  {
    name: 'named',
    title: 'a named fixed field, `region:4=9`',
    create: [
      'KIND',
      'snowflake',
      'LAYOUT',
      'time:41,region:4=9,node:8,sequence:10;epoch=2025-01-01T00:00:00Z',
    ],
    text: whole,
  },
  {
    name: 'scatter',
    title: 'scattered keys, `scatter:5`',
    create: ['KIND', 'snowflake', 'LAYOUT', 'scatter:5,time:41,node:8,sequence:9;epoch=2025-01-01T00:00:00Z'],
    text: whole,
  },
  {
    name: 'past',
    title: 'a past moment, `AT`, on `PAST 2` lanes',
    create: ['KIND', 'snowflake', 'PAST', '2'],
    draw: { at: '2019-05-04T12:00:00Z' },
    text: whole,
    has: (id) => decode(layouts.twitter, id).date === '2019-05-04T12:00:00Z',
  },
  {
    name: 'steps',
    title: 'random steps, `INCREMENT 1..9`',
    create: ['KIND', 'sequence', 'INCREMENT', '1..9'],
    text: whole,
  },
  {
    name: 'uuidv7',
    title: '`FORMAT uuidv7`',
    create: ['KIND', 'snowflake', 'FORMAT', 'uuidv7'],
    text: uuid(7),
  },
  {
    name: 'uuidv8',
    title: '`FORMAT uuidv8` on a counter',
    create: ['KIND', 'segment', 'FORMAT', 'uuidv8'],
    text: uuid(8),
  },
  {
    name: 'ulid',
    title: '`FORMAT ulid`',
    create: ['KIND', 'snowflake', 'FORMAT', 'ulid'],
    text: new RegExp(`^[0-7]${crockford}{25}$`),
  },
  {
    name: 'typeid',
    title: '`FORMAT typeid:order`',
    create: ['KIND', 'timestamp', 'FORMAT', 'typeid:order'],
    text: new RegExp(`^order_[0-7](?:${crockford.toLowerCase()}){25}$`),
  },
  {
    name: 'objectid',
    title: '`FORMAT objectid`',
    create: ['KIND', 'snowflake', 'FORMAT', 'objectid'],
    text: /^[0-9a-f]{24}$/,
  },
  {
    name: 'code',
    title: 'a code for people: groups and a check digit of letters',
    create: ['KIND', 'segment', 'SCRAMBLE', 'on', 'FORMAT', '{id:7:crockford:group=4}{check:mod37-36}'],
    text: /^[0-9A-Z-]{9,12}$/,
  },
  {
    name: 'alphabet',
    title: 'an alphabet of one’s own',
    create: ['KIND', 'segment', 'FORMAT', '{id:8:alphabet=23456789BCDFGHJKMNPQRTVWXY}'],
    text: /^[2-9BCDFGHJKMNPQRTVWXY]{8}$/,
  },
  {
    name: 'avoid',
    title: 'words that no text contains, `AVOID`',
    create: ['KIND', 'segment', 'FORMAT', '{id:6:base36}', 'AVOID', '000002,rude'],
    text: /^[0-9a-z]{6}$/,
  },
  {
    name: 'payment',
    title: 'a payment reference of ISO 11649',
    create: ['KIND', 'sequence', 'FORMAT', 'RF{check:mod97}{id:10}'],
    text: /^RF\d{12}$/,
  },
  {
    name: 'daily',
    title: 'numbers of a day, `PERIOD day`',
    create: [
      'KIND',
      'sequence',
      'PERIOD',
      'day',
      'ZONE',
      'Asia/Shanghai',
      'FORMAT',
      '{date:yyyyMMdd}-{id:5}',
    ],
    text: /^20\d{6}-\d{5}$/,
  },
  {
    name: 'fiscal',
    title: 'of a fiscal year, `PERIOD year YEARSTART 04-01`',
    create: [
      'KIND',
      'segment',
      'PERIOD',
      'year',
      'YEARSTART',
      '04-01',
      'FORMAT',
      '{date:yyyy}/{end:yy}-{id:6}',
    ],
    text: /^20\d\d\/\d\d-\d{6}$/,
  },
  {
    name: 'another-day',
    title: 'of an earlier day, `AT 2026-11-25`, with `KEEP 3`',
    create: ['KIND', 'sequence', 'PERIOD', 'day', 'KEEP', '3'],
    draw: { at: yesterday },
    text: whole,
    has: (id) => String(id).startsWith(yesterday.replaceAll('-', '')),
  },
  {
    name: 'no-gaps',
    title: 'numbers without gaps of a month, `PERIOD month GAPS none`',
    create: [
      'KIND',
      'sequence',
      'PERIOD',
      'month',
      'GAPS',
      'none',
      'FORMAT',
      '{date:yyMM}{id:4}{check:mod97}',
    ],
    text: /^\d{10}$/,
  },
]
