/** Well-known layouts, under their usual names. */
import { defineLayout, type FieldSpec, type Layout } from './layout.ts'

function bits(time: number, node: number, sequence: number): FieldSpec[] {
  return [
    { field: 'time', bits: time },
    { field: 'node', bits: node },
    { field: 'sequence', bits: sequence },
  ]
}

const twitterBits = bits(41, 10, 12)

/**
 * Every preset. Each can be taken with another epoch: `parseLayout('baidu;epoch=2025-01-01T00:00:00Z')`.
 * Their fields never change; `docs/reference/layouts.md` is checked against this table.
 */
export const layouts = Object.freeze({
  /** Twitter's snowflake of 2010: Twitter's own epoch, 5 + 5 bits of data centre and worker as one node. */
  twitter: defineLayout({ name: 'twitter', fields: twitterBits, epoch: 1_288_834_974_657 }),

  /** Meituan Leaf's snowflake mode: Twitter's layout and epoch. */
  leaf: defineLayout({ name: 'leaf', fields: twitterBits, epoch: 1_288_834_974_657 }),

  /** sharding-jdbc took midnight in each machine's own zone; here it is China's, where it was written. */
  'sharding-jdbc': defineLayout({
    name: 'sharding-jdbc',
    fields: twitterBits,
    epoch: '2016-11-01T00:00:00+08:00',
  }),

  /** Instagram's PL/pgSQL ids; the original's 41 bits of time were unsigned, one of them is the sign here. */
  instagram: defineLayout({ name: 'instagram', fields: bits(40, 13, 10), epoch: 1_314_220_021_721 }),

  /** Discord's ids: worker and process (5 + 5 bits) as one node; 41 of the original's 42 unsigned time bits. */
  discord: defineLayout({ name: 'discord', fields: bits(41, 10, 12), epoch: 1_420_070_400_000 }),

  /** Sonyflake version 1, by its default start time (version 2 starts in 2025); sequence above machine id. */
  sonyflake: defineLayout({
    name: 'sonyflake',
    fields: [
      { field: 'time', bits: 39 },
      { field: 'sequence', bits: 8 },
      { field: 'node', bits: 16 },
    ],
    unit: '10ms',
    epoch: '2014-09-01T00:00:00Z',
  }),

  /** Baidu's uid-generator as it comes: its time ran out in November 2024, so decode only without an epoch. */
  baidu: defineLayout({
    name: 'baidu',
    fields: bits(28, 22, 13),
    unit: 's',
    epoch: '2016-05-20T00:00:00+08:00',
  }),

  /** Fits a JavaScript number until 2094: 32 nodes with 128,000 ids per second each. */
  js53: defineLayout({ name: 'js53', fields: bits(41, 5, 7), epoch: '2025-01-01T00:00:00Z' }),
} satisfies Record<string, Layout>)

/** The name of a preset. */
export type LayoutName = keyof typeof layouts
