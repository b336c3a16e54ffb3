/** What `list` and `describe` show of a generator, in the library and in the client. */

/** A generator in a list. */
export type ListedGenerator = {
  readonly name: string
  readonly kind: 'sequence' | 'segment' | 'timestamp' | 'snowflake'
}

/** A generator as it is now. */
export type GeneratorDescription = ListedGenerator & {
  /** Every option with its value as text, also where it is a default: `{ kind: 'segment', start: '1', step: '1000', … }`. */
  readonly options: Readonly<Record<string, string>>
  /** The number of this incarnation of the name, from 1. */
  readonly incarnation: bigint
  /** How its ids are issued: `local`, `group commit`, `leader` or `node`. */
  readonly mode: string
  /** The address of the leader of a strict generator in a cluster. */
  readonly leader: string | undefined
  /** No id at or above this one has been issued; of a snowflake, on the node that answers. Undefined of scrambled and scattered ids, and where it is unknown. */
  readonly bound: bigint | undefined
  /** The newest id, as far as the node that answers knows it. */
  readonly lastIssued: bigint | undefined
  /** The label of its present period, when that ends, as ISO 8601, and how many of its numbers are at or above the bound. */
  readonly presentPeriod?: string | undefined
  readonly periodEnds?: string | undefined
  readonly leftInPeriod?: bigint | undefined
  /** When its ids run out at the present rate, or its time field ends, as ISO 8601; undefined if that is not in sight. */
  readonly exhaustedAt: string | undefined
  /** Remarks of one sentence each. */
  readonly notes: readonly string[]
}

/** Which generators are listed. */
export type ListOptions = {
  /** A glob pattern of names: `order:*`. Default: all. */
  readonly match?: string
}
