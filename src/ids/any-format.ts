/** What every format can do: a template (format.ts), or a wide one (wide-format.ts). */
import type { FormatValues, Shown } from './format-part.ts'
import type { IdText } from './id-text.ts'

/** A compiled format. */
export interface Format {
  /** The format as it was given. */
  readonly template: string
  /** Whether `format` needs `node`. */
  readonly needsNode: boolean
  /** Whether `format` needs `unixUs`. */
  readonly needsTime: boolean
  /** Whether it needs the key of a generator: `withKey`. */
  readonly needsKey: boolean
  /** The part of its generator's name that it shows; undefined: none. It writes and reads texts once `named` has put that in. */
  readonly shows: Shown | undefined
  /** The largest id that it can write: 2^63 − 1 where the id has no fixed width. */
  readonly maxId: bigint
  /** Whether two texts can differ in the case of letters alone: where case is ignored, they are one. */
  readonly mixesCases: boolean
  /** The zone of its date, if it is an abbreviation that means different times to different people. */
  readonly ambiguousZone: string | undefined
  /**
   * The text of an id. Throws EXHAUSTED for an id above `maxId` (a wider text would break what relies on the
   * width), ERR for a value that is missing or does not fit.
   */
  format(id: bigint, values?: FormatValues): string
  /**
   * The smallest text of an id, by its bytes: the texts of larger ids are above it. Cut off behind the id where what follows
   * depends on more than the id. Undefined where texts are not in the order of ids, and above `maxId`.
   */
  smallest(id: bigint): string | undefined
  /** The bytes of an id, the most significant first; undefined: the format has none. Throws as `format`. */
  bytes(id: bigint): Uint8Array | undefined
  /** What writes the texts of ids with these values. Throws ERR as `format`. */
  texts(values?: FormatValues): IdText
  /** The id in a text that this format wrote, or that a reader meant by one. Throws ERR for any other text. */
  parse(text: string): bigint
  /** The same format with a key, where it needs one. */
  withKey(key: string): Format
  /** The same format with this text where it shows the name or the tenant of its generator. Cheap: it shares all other parts. */
  named(text: string): Format
  /** What the texts of ids up to `max` ask of a column. */
  column(max: bigint): TextColumn
}

/** What texts ask of what stores them. */
export type TextColumn = {
  /** The fewest and the most characters of a text. */
  readonly charactersMin: number
  readonly charactersMax: number
  readonly isAscii: boolean
  /** The characters that ids and check digits are written with. */
  readonly signs: string
  /** Whether two texts can differ in the case of letters alone: the column must tell cases apart. */
  readonly caseMatters: boolean
  /** Whether the texts sort like their ids where they are compared by bytes. */
  readonly sortsLikeIds: boolean
}
