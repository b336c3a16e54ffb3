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

  /**
   * yitter's IdGenerator by the defaults of its Java, Go, Rust and Python (`BaseTime` in Java's IdGeneratorOptions); C# begins eight
   * hours later. Sequences below 5 are of ids that it made while its clock was set back, or by hand.
   */
  yitter: defineLayout({ name: 'yitter', fields: bits(51, 6, 6), epoch: 1_582_136_402_000 }),

  /** camellia's snowflake by its CamelliaIdGenConstants, without region bits; midnight in China. */
  camellia: defineLayout({ name: 'camellia', fields: twitterBits, epoch: '2021-09-10T00:00:00+08:00' }),

  /**
   * Mastodon's lib/mastodon/snowflake.rb: 48 bits of time, of which one is the sign, and 16 of a hash and a count. No node field, so
   * only a `timestamp` can issue them.
   */
  mastodon: defineLayout({
    name: 'mastodon',
    fields: [
      { field: 'time', bits: 47 },
      { field: 'sequence', bits: 16 },
    ],
    epoch: 0,
  }),

  /** pgEdge's extension `snowflake`: by its README, the node is the lowest field. */
  pgedge: defineLayout({
    name: 'pgedge',
    fields: [
      { field: 'time', bits: 41 },
      { field: 'sequence', bits: 12 },
      { field: 'node', bits: 10 },
    ],
    epoch: '2023-01-01T00:00:00Z',
  }),

  /** Seata's IdWorker from 1.4.2 on, for transactions and branches: node above time. Its time runs behind the clock. */
  seata: defineLayout({
    name: 'seata',
    fields: [
      { field: 'node', bits: 10 },
      { field: 'time', bits: 41 },
      { field: 'sequence', bits: 12 },
    ],
    epoch: '2020-05-03T00:00:00+08:00',
  }),

  /** uid-generator as a Spring Boot starter by wujun234 (UidConfigProperties): 53 bits, so that JavaScript reads them. */
  'uid-starter': defineLayout({
    name: 'uid-starter',
    fields: bits(30, 16, 7),
    unit: 's',
    epoch: '2019-02-20T00:00:00+08:00',
  }),

  /** Fits a JavaScript number until 2094: 32 nodes with 128,000 ids per second each. */
  js53: defineLayout({ name: 'js53', fields: bits(41, 5, 7), epoch: '2025-01-01T00:00:00Z' }),
} satisfies Record<string, Layout>)

/** The name of a preset. */
export type LayoutName = keyof typeof layouts
