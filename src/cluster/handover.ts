/**
 * The writes by which leadership of a shard changes hands.
 *
 * Invariants
 *  1. Every new holder gets the epoch after the last one, in the same conditional write that names it.
 *  2. A shard is taken only if its record names nobody, or a node whose own record a read that began after this
 *     version was seen finds gone or dead. (A node writes its record before anybody can name it, and never
 *     again after it is gone: so a node that merely is not known here yet is not mistaken for a dead one.)
 *  3. A holder gives a shard away only after it has stopped issuing, and tries until the record has changed or
 *     its own lease is over. It issues again only if the record names it with a new epoch: a write that is
 *     still on its way then meets another version.
 *  4. What it leaves goes to whom the record names, in the write that names it: of all attempts one is carried out.
 */
import { type Clock, sleep } from '../base/clock.ts'
import { describe, hasCode } from '../base/errors.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'
import type { Leaderships, LeaderTerm } from './leadership.ts'
import type { Lease } from './lease.ts'
import { withTimeout } from './pauses.ts'
import { type Leadership, type LeftoverRange, nodeKey, readNode, shardKey } from './records.ts'
import type { Timing } from './timing.ts'
import type { View } from './view.ts'

/** How a shard was given away. */
export type HandedOver = {
  readonly shard: number
  /** Node id of the successor; empty: nobody. */
  readonly to: string
  /** For how long nothing was issued before the write was sent, and until it was known to be carried out, in ms. */
  readonly releaseMs: number
  readonly writeMs: number
}

/** What is needed to change leaderships. */
export type HandoverOptions = {
  readonly engine: Engine
  readonly clock: Clock
  readonly timing: Timing
  readonly view: View
  readonly lease: () => Lease
  readonly leaderships: Leaderships
  /** See `ClusterListener`. */
  readonly onLosing: (here: LeaderTerm, tails: LeftoverRange[] | undefined) => Promise<void>
  /** Whether to give up giving away: this process is about to end. */
  readonly isAbandoned: () => boolean
  readonly onHandedOver: (handedOver: HandedOver) => void
  readonly onTrouble: (message: string) => void
}

/** See the invariants at the top of the file. */
export class Handover {
  readonly #options: HandoverOptions

  constructor(options: HandoverOptions) {
    this.#options = options
  }

  /** Tries to take a shard that nobody leads. Whether it worked shows in the view. Rejects as the engine does. */
  async take(shard: number): Promise<void> {
    const { view, lease } = this.#options
    const me = lease()
    const known = view.shard(shard)
    const holder = known?.value.holder ?? ''
    if (holder !== '' && !(await this.#isGone(holder))) return
    if (!me.check()) return
    const next = {
      holder: me.id,
      epoch: (known?.value.epoch ?? 0) + 1,
      from: holder || (known?.value.from ?? ''),
    }
    await this.#write(shard, next, known?.version)
    // Somebody else, or a write of ours that was thought lost: the view says which.
    if (view.shard(shard)?.version === known?.version) await this.read(shard)
  }

  /** Reads who leads a shard; the view knows then. Rejects as the engine does. */
  async read(shard: number): Promise<void> {
    const stored = await this.#call(this.#options.engine.read(shardKey(shard)))
    if (stored !== undefined) this.#options.view.learn(stored)
  }

  /**
   * Gives a shard away. `successor` is asked before each attempt: a node id, the own one to keep it after all, or
   * empty for nobody. Resolves when the record has changed, the lease is over, or `isAbandoned` says so.
   */
  async handOver(shard: number, successor: () => string): Promise<void> {
    const { clock, timing, view, lease, leaderships, onLosing, isAbandoned, onHandedOver, onTrouble } =
      this.#options
    const startedUs = clock.monoUs()
    const me = lease()
    const here = leaderships.lose(shard)
    if (here === undefined) return
    const tails: LeftoverRange[] = []
    await withTimeout(clock, timing.releaseMs, onLosing(here, successor() === '' ? undefined : tails)).catch(
      (error: unknown) => {
        if (!hasCode(error, 'UNKNOWN')) onTrouble(`shard ${shard} could not be released: ${describe(error)}`)
      },
    )
    // Of what comes later nobody will know.
    const left = [...tails]
    const releasedUs = clock.monoUs()
    while (leaderships.isLosing(here) && !me.over && !isAbandoned()) {
      try {
        await this.#resign(shard, me.id, successor(), left)
      } catch (error) {
        onTrouble(`shard ${shard} could not be handed over: ${describe(error)}`)
      }
      if (leaderships.isLosing(here)) await sleep(clock, timing.retryMs / 3)
    }
    const to = view.shard(shard)?.value.holder ?? ''
    if (leaderships.isLosing(here) || me.over || to === me.id) return
    const writtenUs = clock.monoUs()
    const releaseMs = (releasedUs - startedUs) / 1000
    onHandedOver({ shard, to, releaseMs, writeMs: (writtenUs - releasedUs) / 1000 })
  }

  async #resign(shard: number, from: string, to: string, tails: readonly LeftoverRange[]): Promise<void> {
    const { view } = this.#options
    const known = view.shard(shard)!
    const next =
      to === ''
        ? { holder: to, epoch: known.value.epoch, from }
        : { holder: to, epoch: known.value.epoch + 1, from, tails }
    await this.#write(shard, next, known.version)
    if (view.shard(shard)!.version === known.version) await this.read(shard)
  }

  async #isGone(id: string): Promise<boolean> {
    const { engine, view } = this.#options
    const stored = await this.#call(engine.read(nodeKey(id)))
    if (stored === undefined) return true
    view.learn(stored)
    return readNode(stored).value.deadBy !== undefined
  }

  /** Writes, and lets the view know if that is known to have been carried out. */
  async #write(shard: number, next: Leadership, expected: bigint | undefined): Promise<void> {
    const { engine, view } = this.#options
    let stored: StoredRecord | undefined
    try {
      stored = await this.#call(engine.write(shardKey(shard), JSON.stringify(next), expected))
    } catch (error) {
      if (!hasCode(error, 'UNKNOWN')) throw error
    }
    if (stored !== undefined) view.learn(stored)
  }

  #call<Value>(promise: Promise<Value>): Promise<Value> {
    return withTimeout(this.#options.clock, this.#options.timing.renewMs, promise)
  }
}
