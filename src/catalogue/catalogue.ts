/** The contract of the catalogue: which generators exist, and how to open one. */

import type { NameRange } from '../auth/name-ranges.ts'
import type { MovedDetails } from '../base/moved.ts'
import type { Parts } from '../base/turns.ts'
import type { FastRuns } from '../buffers/fast-runs.ts'
import type { Format } from '../ids/format.ts'
import type { IdText } from '../ids/id-text.ts'
import type { CallerRange } from '../issuing/caller-ranges.ts'
import type { Issuer, IssuerStats, Kind } from '../issuing/issuer.ts'
import type { Ledger } from '../issuing/ledger/ledger.ts'
import type { RefillTimes } from '../issuing/refills.ts'
import type { Definition } from './definition.ts'
import type { EndedFigures } from './ended-figures.ts'
import type { FloorMove, MoveOptions } from './floor.ts'
import type { GeneratorInput } from './generator-options.ts'
import type { IssuedBelow } from './issued-below.ts'
import type { Charged, DrawnOnce, KeyedRequest } from './once.ts'
import type { PresentPeriod } from './present-period.ts'

/**
 * How the ids of a generator are issued here, as ID.INFO shows it. `local`: in strict order, from the buffer of this
 * process; `group commit`: in strict order, with a reserve for each batch of requests; `leader`: in strict order, by the
 * node of the cluster that leads it, this one or another; `node`: in order per node.
 */
export type IssuingMode = 'local' | 'group commit' | 'leader' | 'node'

/** A range of a `segment` for a caller that issues its ids itself, and the generator's state to issue by. */
export type GeneratorRange = CallerRange & {
  readonly incarnation: bigint
  readonly definition: Definition
  /** The key of the permutation of a scrambled generator, in hexadecimal digits; undefined otherwise. */
  readonly key: string | undefined
  /** See `Generator`. */
  readonly formKey?: string | undefined
}

/** A request to a ledger. `onWait`: see `DrawOptions`. */
export type AskLedger<Answer> = (ledger: Ledger, onWait?: () => void) => Promise<Answer>

/**
 * A generator that is open on this node. With group commit other nodes may have issued more than `lastIssued` shows:
 * `Catalogue.info` reads the engine.
 */
export interface Generator
  extends Pick<Issuer, 'row' | 'take' | 'takeNumber' | 'draw' | 'nextIsSafe' | 'lastIssued' | 'stats'> {
  readonly name: string
  readonly kind: Kind
  readonly definition: Definition
  /** The number of this incarnation of the name, from 1. */
  readonly incarnation: bigint
  readonly mode: IssuingMode
  /** The key of its wide format, 16 hexadecimal digits; undefined otherwise. */
  readonly formKey?: string | undefined
  /** Its format, with its key; undefined: plain decimal. */
  readonly format?: Format | undefined
  /** Whether this node issues its ids, if any node does. False: no ids come from here before `ledHere` has resolved. */
  readonly issuesHere: boolean
  /** Whether INCRBY n has an answer: ids increase by 1 and are issued in counting order. */
  readonly contiguous: boolean
  /**
   * Passes the ledger to `ask`, on the node that keeps it; `numbers`: how many it reserves, which namespaces count. Rejects with
   * WRONGTYPE where the generator keeps none, and as `ask`.
   */
  ledger<Answer>(ask: AskLedger<Answer>, numbers?: number): Promise<Answer>
  /**
   * Draws as `draw`, once for a key of a user: a second request with the same key gets the same ids, with the same texts. `charged` runs
   * the draw itself, which a repeat does without. Rejects also with KEYUSED, and with LIMIT for more than 1,000 ids.
   */
  drawOnce(count: number, request: KeyedRequest, charged?: Charged): Promise<DrawnOnce>
  /**
   * Reserves `ids` ids for one caller, or all that are left, with one durable write beside the buffer of this node. The
   * range holds raw values: those that are ≡ offset (mod increment) are ids, or what a permutation makes ids of. Rejects
   * with WRONGTYPE unless the kind is `segment`, and with EXHAUSTED, UNAVAILABLE, UNKNOWN or REGRESSED.
   */
  leaseRange(ids: number): Promise<GeneratorRange>
  /** The counter's bound as the ranges of callers have shown it on this node, in raw values; undefined: none was leased. */
  readonly leasedUpTo?: bigint | undefined
  /**
   * How many ids a draw of `count` above a number skips at most: those that no caller gets of it. Rejects with LIMIT where these are more than
   * the generator allows, and as a draw above the number.
   */
  skips(above: bigint | number, count: number): Promise<number>
  /** Counts ids that a caller has issued in its own process, as it reports. Strict kinds have no such callers. */
  noteDrawn(ids: number): void
  /** Counts ids that a caller gives back of a range that this node does not know: they are a gap. */
  noteReturned(ids: number): void
  /** The text of an id in the generator's format; decimal without a format. */
  text(id: bigint): string
  /** Returns a writer for the texts of ids that are issued now; it may write them later. Undefined without a format. */
  writer(): IdText | undefined
  /** Reads back the id that `text` has written; ERR for any other text. */
  parse(text: string): bigint
  /**
   * The generator on the node that issues its ids: this object, or the one that has replaced it here. Waits for a leader
   * as `draw` does; rejects with MOVED if another node leads it, and with CLUSTERDOWN.
   */
  ledHere(): Promise<Generator>
  /**
   * Moves a strict generator so that its next id is the first above `newest`. ERR if ids above `newest` may have been
   * issued, or, unless forced, if the move gives up a large part of the space. Durable when it resolves.
   */
  moveTo(newest: bigint, options?: MoveOptions): Promise<void>
}

/** What is shown of a generator that is open here, also while it is at rest. */
export type GeneratorInUse = Pick<
  Generator,
  'name' | 'kind' | 'mode' | 'definition' | 'stats' | 'lastIssued' | 'leasedUpTo'
>

/** What ID.INFO and HTTP show of a generator, open here or not. */
export type GeneratorInfo = {
  readonly name: string
  readonly definition: Definition
  readonly incarnation: bigint
  /** No id at or above this one has been issued; of a snowflake, on this node. */
  readonly bound: bigint | undefined
  /** When a row of another system's table last changed, in Unix µs, if the table stores it. */
  readonly updatedUs?: number | undefined
  readonly mode: IssuingMode
  /** The address of the leader of a strict generator in a cluster. Undefined while it has no leader, and otherwise. */
  readonly leader?: string | undefined
  /** The other node that leads it, which alone has `lastIssued` and `stats`. */
  readonly elsewhere?: MovedDetails | undefined
  readonly lastIssued: bigint | undefined
  /** Undefined if the generator is not open here. */
  readonly stats: IssuerStats | undefined
  /** The present period; undefined: it has none, or its bound is unknown. */
  readonly present?: PresentPeriod | undefined
  /** When its ids run out at this rate, or its time field ends, as ISO 8601; undefined if that is too far away. */
  readonly exhaustedAt: string | undefined
  /** Remarks of one sentence each: warnings of exhaustion, worker id, order. */
  readonly notes: readonly string[]
}

/** A generator as its record stood in the engine when it was read. */
export type CurrentGenerator = {
  readonly definition: Definition
  readonly incarnation: bigint
  /** Raw values, or units of time, below this belong to earlier incarnations. */
  readonly floor: bigint
  /** See `Generator`. */
  readonly formKey?: string | undefined
}

/** The changes that an alteration makes. */
export type GeneratorChanges = Partial<GeneratorInput> &
  Omit<FloorMove, 'floor'> & { readonly floor?: bigint | string }

/** A generator in a list. */
export type ListedGenerator = { readonly name: string; readonly definition: Definition }

/** Which part of the list of generators is wanted: it is in byte order of their names. */
export type PartOfList = {
  /** Where the names lie; default: anywhere. In byte order, without overlaps. */
  readonly ranges?: readonly NameRange[] | undefined
  /** The part begins behind this name, which may be none of a generator. */
  readonly after?: string | undefined
  /** At about how many names it looks at most, dropped ones among them. */
  readonly looks: number
  /** Tells the generators that are wanted. What it refuses costs little. */
  readonly wanted?: ((name: string) => boolean) | undefined
}

/** A part of the list. `next`: the `after` of the next part, which need not be a name that a caller may know; undefined: it was the last. */
export type ListPart = { readonly found: readonly ListedGenerator[]; readonly next: string | undefined }

/** A generator in one moment. */
export type Sample = {
  readonly name: string
  readonly definition: Definition
  readonly mode: IssuingMode
  readonly stats: IssuerStats
  /** The ids that are left of its space, as far as this node knows; undefined for clock kinds. */
  readonly leftIds: number | undefined
  /** How long its ids last, in seconds; undefined if no end is in sight. */
  readonly endsSeconds: number | undefined
}

/** All generators. Names are 1–256 bytes of UTF-8 without white space and control characters. */
export interface Catalogue {
  /** What can be issued at once: the rows of the generators that are open here. */
  readonly runs: FastRuns

  /** The generator, if it is open here already. */
  find(name: string): Generator | undefined

  /**
   * The generator, looked up in the engine if it is not open yet, and created if autoCreate matches. Rejects with
   * NOGENERATOR, UNAVAILABLE, or the error of its opening.
   */
  open(name: string): Promise<Generator>

  /**
   * Passes the generator to `use`: in this call if it is open here, otherwise as soon as it can be found open, to those who asked
   * first before the others. So what `use` draws before it first waits is drawn in the order of these calls. Rejects as
   * `open` and as `use` do.
   */
  whenOpen<Result>(name: string, use: (generator: Generator) => Result | Promise<Result>): Promise<Result>

  /** Whether there is a generator of this name, open or not. Creates nothing. */
  exists(name: string): Promise<boolean>

  /** Creates a generator. EXISTS if there is one with another definition; one with the same definition is returned. */
  create(name: string, options: GeneratorInput): Promise<Generator>

  /**
   * As `create`, without opening it: nothing of it is in memory until it is used. Resolves to whether it is new. `onlyNew`: one
   * that is there already may have any definition.
   */
  createUnopened(name: string, options: GeneratorInput, onlyNew?: boolean): Promise<boolean>

  /**
   * Changes options. Tunable options take effect at once; a fixed one starts a new incarnation above every raw id of the
   * old one. `floor` (segment and sequence): ranges reserved from now on start at or above it; with `now`, a new incarnation
   * does, and nodes drop what they have buffered. `force`: also a move that gives up a large part of the space.
   */
  alter(name: string, changes: GeneratorChanges): Promise<Generator>

  /** Drops a generator; its bound is remembered. Resolves to whether there was one. */
  drop(name: string): Promise<boolean>

  /** The description of a generator. NOGENERATOR if there is none of this name. */
  info(name: string): Promise<GeneratorInfo>

  /**
   * Reads the generator from the engine as the last acknowledged write left it: what was durable before the call is known
   * to every later incarnation. Errors: NOGENERATOR, UNAVAILABLE.
   */
  current(name: string): Promise<CurrentGenerator>

  /**
   * Up to where its ids can have been issued, by what was durable when this was called, or later. Errors: NOGENERATOR,
   * UNAVAILABLE, CONFIG.
   */
  issuedBelow(name: string): Promise<IssuedBelow>

  /** A part of the list of all generators. To read on: `generator-lists.ts`, which lets others run between two parts. */
  page(part: PartOfList): Promise<ListPart>

  /** The generators that are open here, families without their names. */
  inUse(): Iterable<GeneratorInUse>

  /** What is shown of a generator that is open here, or of a name of a family that is in memory. None is woken. */
  shown(name: string): GeneratorInUse | undefined

  /** Shows `see` all generators that are open here, families without their names. Its result was counted of those closed before. */
  survey(see: (sample: Sample) => void): Parts<EndedFigures>

  /** What was counted of generators that were closed here. */
  readonly ended: EndedFigures

  /** How long refills took here. */
  readonly refillTimes: RefillTimes
}
