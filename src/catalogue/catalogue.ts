/** Which generators exist, and how to get hold of one. */

import type { MovedDetails } from '../base/moved.ts'
import type { Page } from '../engine/engine.ts'
import type { Run } from '../ids/run.ts'
import type { DrawOptions, IssuerStats, Kind } from '../issuing/issuer.ts'
import type { Definition } from './definition.ts'
import type { MoveOptions } from './floor.ts'
import type { GeneratorInput } from './options.ts'

/**
 * How the ids of a generator are issued here, as ID.INFO shows it. `local`: in strict order, from what this process
 * has in hand; `group commit`: in strict order, with a reserve for each batch of requests; `leader`: in strict order, by
 * the node of the cluster that leads it, this one or another; `node`: in order per node.
 */
export type Mode = 'local' | 'group commit' | 'leader' | 'node'

/** A generator in use on this node. */
export interface Generator {
  readonly name: string
  readonly kind: Kind
  readonly definition: Definition
  /** Which life of the name this is, from 1. */
  readonly incarnation: bigint
  readonly mode: Mode
  /** Whether INCRBY n can be answered: ids increase by 1 and are issued as they are counted. */
  readonly contiguous: boolean
  /** See `Issuer`. */
  take(count: number, run: Run): number
  takeNumber(): number
  draw(count: number, options?: DrawOptions): Promise<Run[]>
  nextIsSafe(): boolean
  /** See `Issuer`. With group commit others may have issued more: `Catalogue.info` asks the engine. */
  lastIssued(): bigint | undefined
  stats(): IssuerStats
  /** Puts the format around an id; decimal where there is none. */
  text(id: bigint): string
  /** What puts the format around ids that are issued now, however late it is called; undefined where there is none. */
  writer(): ((id: bigint) => string) | undefined
  /** The id in a text that `text` made; ERR when it is none. */
  parse(text: string): bigint
  /**
   * The generator on the node that can tell what it has issued: this one, or what takes its place here. Waits as `draw`
   * does for this node to lead it; rejects with MOVED where another does, and with CLUSTERDOWN.
   */
  here(): Promise<Generator>
  /**
   * Moves a strict generator so that its next id is the first above `newest`; ERR when ids above it may have
   * been issued, or when it gives up more than a sensible move does, unless forced. Durable when it resolves.
   */
  moveTo(newest: bigint, options?: MoveOptions): Promise<void>
}

/** What ID.INFO and HTTP show of a generator, in use or not. */
export type GeneratorInfo = {
  readonly name: string
  readonly definition: Definition
  readonly incarnation: bigint
  /** An id: nothing at or above it has been issued; of a snowflake, on this node. */
  readonly bound: bigint | undefined
  /** Of a row of another system's table: when it last changed, in Unix µs, where the table tells. */
  readonly updatedUs?: number | undefined
  readonly mode: Mode
  /** Of a strict generator of a cluster: the address of its leader. Undefined while nobody leads it, and elsewhere. */
  readonly leader?: string | undefined
  /** Where another node leads it: that node. It alone knows `lastIssued` and `stats`. */
  readonly elsewhere?: MovedDetails | undefined
  readonly lastIssued: bigint | undefined
  /** Undefined when not in use here. */
  readonly stats: IssuerStats | undefined
  /** When its ids run out at this rate, or its time field does: ISO 8601; undefined when not in sight. */
  readonly exhaustedAt: string | undefined
  /** What to know, in a sentence each: warnings of exhaustion, worker id, order. */
  readonly notes: readonly string[]
}

/** What an alteration changes. */
export type Changes = Partial<GeneratorInput> & MoveOptions & { readonly floor?: bigint | string }

/** Which generators exist. Names are 1–256 bytes of UTF-8 without white space and control characters. */
export interface Catalogue {
  /** The generator, if it is in use here already. */
  find(name: string): Generator | undefined

  /**
   * The generator, looked up in the engine when it is not in use yet, and created where autoCreate matches.
   * Rejects with NOGENERATOR, UNAVAILABLE, or what opening it says.
   */
  open(name: string): Promise<Generator>

  /** Whether there is one, in use or not. Creates nothing. */
  exists(name: string): Promise<boolean>

  /** Creates it. EXISTS when there is one with another definition; one with the same definition is returned. */
  create(name: string, options: GeneratorInput): Promise<Generator>

  /**
   * Changes options. Tunable ones take effect at once; a fixed one starts a new incarnation above every raw
   * id of the old one. `floor` (segment and sequence): ranges reserved from now on start at or above it; `force`: also
   * where that gives up more than a sensible move does.
   */
  alter(name: string, changes: Changes): Promise<Generator>

  /** Drops it; its bound is remembered. Resolves to whether there was one. */
  drop(name: string): Promise<boolean>

  /** What there is to know of it. NOGENERATOR when there is none. */
  info(name: string): Promise<GeneratorInfo>

  /** Names in byte order, after `after`, at most `limit`, with their kinds. */
  list(page?: Page): Promise<{ name: string; definition: Definition }[]>

  /** The generators in use here. */
  inUse(): Iterable<Generator>
}
