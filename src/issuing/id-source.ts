/**
 * What a reservoir asks of a kind: a buffer of ids, and a way to refill it. `counter-source.ts`, `timestamp-source.ts` and
 * `snowflake-source.ts` implement it.
 */
import type { FahaoError } from '../base/errors.ts'
import type { IdBuffer } from '../buffers/id-buffer.ts'
import type { Reservation } from '../engine/engine.ts'
import type { CounterAtRest } from './counter-rows.ts'
import type { RefillSizes } from './refill-size.ts'
import type { ReservedCounter } from './reserved-counter.ts'

/** How buffered ids that expire are replaced while none are issued, so that an outage meets fresh ones. */
export type Expiry = {
  /** How often to look, in ms. */
  readonly lookMs: number
  /** Sets `low` if the ids would last too short a time after the next look. */
  look(): void
}

/** The buffer of one generator and the way to more ids. Driven by its reservoir, which makes one call at a time. */
export interface IdSource {
  readonly buffer: IdBuffer

  /** What it reserves from; undefined where the ids follow the clock alone. */
  readonly counter?: ReservedCounter

  /** Name of the generator, for messages. */
  readonly name: string

  /**
   * Reserves what is wanted now and adds it to the buffer; does nothing if nothing is wanted.
   * `demand`: ids that callers wait for beyond the buffer; `contiguous`: the longest run among them;
   * `ratePerSecond`: ids issued per second; `floor`: the least value that serves all of them, where the kind is a counter.
   */
  refill(demand: number, contiguous: number, ratePerSecond: number, floor: bigint): Promise<void>

  /**
   * Issues nothing at or below `newest` any more. Durable when it resolves. Reserves: not while a refill is under
   * way. Rejects with WRONGTYPE where ids follow the clock alone.
   */
  moveTo(newest: bigint): Promise<void>

  /**
   * Drops the buffered ids below `floor`, if as many as `count` are left then. False: they are not, and nothing is dropped. Of an
   * ordered counter.
   */
  skipTo?(floor: bigint, count: number): boolean

  /** Sets `low` when the buffer would not last at this rate, in ids per second, for as long as it should. */
  observe?(ratePerSecond: number): void

  /** Undefined: the buffered ids last until they are issued. */
  readonly expiry?: Expiry

  /** Changes the sizes of refills from now on, where refills have sizes. The buffer stays as it is. */
  resize?(sizes: RefillSizes): void

  /** Records that callers had to wait, so that the next refill is larger. */
  ranEmpty?(): void

  /** The ms until the clock allows more ids; undefined when callers wait for the engine and not for time itself. */
  waitMs?(): number | undefined

  /** The error for a caller that has waited too long, `cause` being the newest failure to refill. */
  whyDry(cause: unknown): FahaoError

  /** See `Issuer.nextIsSafe`. */
  nextIsSafe(): boolean

  /** See `Issuer.lastIssued`. */
  lastIssued(): bigint | undefined

  /** For how long the buffer would last at this rate, in seconds. */
  seconds(ratePerSecond: number): number

  /** Whether much more is buffered than is used. Undefined: that is not known. */
  readonly holdsSpare?: boolean

  /**
   * Writes down what it knows, leaves its ids in its row and issues nothing more, so that another source can go on. Returns the
   * row; `emptyRow`, and goes on: its state does not fit into numbers.
   */
  rest?(into: CounterAtRest): number

  /** Adds what is being reserved for it. Rejects as that does, unless nothing was reserved and a refill may fare better. */
  receive?(reserved: Promise<Reservation>): Promise<void>

  /** Adds what another process has reserved and transferred. `low` is set: how long it will last is not known. */
  acquire?(leftover: Reservation): void

  /** Empties the buffer, permanently. Returns from which value on everything up to the counter's bound was untouched. */
  empty(): bigint | undefined
}
