/** What a reservoir holds and how it gets more: the part in which the kinds differ. */
import type { FahaoError } from '../base/errors.ts'
import type { Reservation } from '../engine/engine.ts'
import type { FastRun } from '../ids/fast-run.ts'
import type { Run } from '../ids/run.ts'
import type { RefillSizes } from './step.ts'

/** The ids in hand of one generator, and the way to more. Driven by its reservoir, never by two at once. */
export interface IdSource {
  /** What may be issued past `take`. `take` makes ids ready; whatever else is called takes them back. */
  readonly ready: FastRun

  /** Name of the generator, for messages. */
  readonly name: string

  /** Set when a refill should start. */
  low: boolean

  /** Ids issued since the start, ready ones too. */
  readonly issued: number

  /** Takes up to `count` ids into `run`; returns how many, 0 when nothing is in hand. */
  take(count: number, run: Run): number

  /** How many ids `take` would give now, all in all. */
  available(): number

  /**
   * Takes exactly `count` ids in one step, or none: undefined. `contiguous`: as one run with stride 1, dropping
   * what stands in the way of it.
   */
  collect(count: number, contiguous: boolean): Run[] | undefined

  /**
   * Reserves what is wanted now and takes it in hand; resolves without doing anything if nothing is wanted.
   * `demand`: ids that callers wait for beyond what is in hand; `contiguous`: the longest run among them;
   * `ratePerSecond`: how fast ids go.
   */
  refill(demand: number, contiguous: number, ratePerSecond: number): Promise<void>

  /**
   * Issues nothing at or below `newest` any more. Durable when it resolves. Reserves: not while a refill is under
   * way. Rejects with WRONGTYPE where ids follow the clock alone.
   */
  moveTo(newest: bigint): Promise<void>

  /** Sets `low` when what is in hand would not last at this rate, in ids per second, for as long as it should. */
  observe(ratePerSecond: number): void

  /** Refills are of other sizes from now on. What is in hand stays there. */
  resize(sizes: RefillSizes): void

  /** Callers had to wait: ask for more next time. */
  ranDry(): void

  /** When not the engine but time itself is what callers wait for: ms until `take` can give more. */
  waitMs(): number | undefined

  /** What to tell a caller whose time ran out, `cause` being the newest failure to refill. */
  whyDry(cause: unknown): FahaoError

  /** See `Issuer.nextIsSafe`. */
  nextIsSafe(): boolean

  /** See `Issuer.lastIssued`. */
  lastIssued(): bigint | undefined

  /** For how long what is in hand would last at this rate, in seconds. */
  seconds(ratePerSecond: number): number

  /** Raw values reserved and given back since the start. */
  readonly reserved: number
  readonly released: number

  /** Takes in hand what another holder has left. Only at first, when nothing else is. */
  adopt(tail: Reservation): void

  /** Lets go of everything in hand. Returns what of it is on top of its bound still, for another holder to go on with. */
  leave(): Reservation | undefined

  /** Lets go of everything in hand, and gives back what of it is on top of its bound still. Never throws. */
  close(): Promise<void>
}
