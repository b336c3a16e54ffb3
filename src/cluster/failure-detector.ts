/**
 * Watches the other nodes' records grow old, and declares dead who has not renewed for too long.
 *
 * Invariants
 *  1. A node is declared dead by a conditional write on the very version that stood unchanged, as seen from here,
 *     for at least ttl + margin of this process's monotonic time since it was *received* here. That the write is
 *     carried out proves that no renewal came in between; the node's own deadline has passed before.
 *  2. Only time between two observations counts, and of a longer gap no more than `gapMs`: while this process was
 *     stopped, or the engine was away from it, others may have had no way to renew either. Safety does not need
 *     this (1 suffices); without it, an engine that was away for ten seconds would cost every node its life.
 *  3. A record that says dead is final. It is removed much later, when no write of that node can be on its way.
 */
import type { Clock } from '../base/clock.ts'
import { describe, hasCode } from '../base/errors.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'
import { withTimeout } from './pauses.ts'
import type { Known, NodeRecord } from './records.ts'
import type { Timing } from './timing.ts'

/** What an observer takes from its process. */
export type FailureDetectorOptions = {
  readonly engine: Engine
  readonly clock: Clock
  readonly timing: Timing
  /** Id of the node that observes. */
  readonly self: () => string
  /** Told of the record which says that a node is dead. */
  readonly learn: (stored: StoredRecord) => void
  readonly onDeclaredDead: (node: NodeRecord, silentMs: number) => void
  readonly onTrouble: (message: string) => void
}

type Watched = { version: bigint; silentUs: number; lastUs: number }

/** See the invariants at the top of the file. */
export class FailureDetector {
  readonly #options: FailureDetectorOptions
  readonly #watched = new Map<string, Watched>()
  readonly #limitUs: number
  readonly #gapUs: number
  readonly #forgetUs: number

  constructor(options: FailureDetectorOptions) {
    const { ttlMs, marginMs, renewMs, forgetMs } = options.timing
    this.#options = options
    this.#limitUs = (ttlMs + marginMs) * 1000
    this.#gapUs = renewMs * 1000
    this.#forgetUs = forgetMs * 1000
  }

  /** Takes in that the engine has just now answered with these records, or told of a change of one. */
  observe(nodes: Iterable<Known<NodeRecord>>): void {
    const nowUs = this.#options.clock.monoUs()
    for (const { value, version } of nodes) {
      const watched = this.#watched.get(value.id)
      if (watched === undefined || watched.version !== version) {
        this.#watched.set(value.id, { version, silentUs: 0, lastUs: nowUs })
      } else {
        watched.silentUs += Math.min(nowUs - watched.lastUs, this.#gapUs)
        watched.lastUs = nowUs
      }
    }
  }

  /** The node's record is gone. */
  forget(id: string): void {
    this.#watched.delete(id)
  }

  /** For how long a node has been seen not to renew, in ms; 0 when it has never been seen. */
  silentMs(id: string): number {
    return (this.#watched.get(id)?.silentUs ?? 0) / 1000
  }

  /**
   * How long from the last observation until another living node may be declared dead, in ms. A node that may be
   * already does not count: this node may not judge now, or the engine has refused, and neither changes within ms.
   */
  nextMs(nodes: Iterable<Known<NodeRecord>>): number {
    let nextUs = this.#limitUs
    for (const { value } of nodes) {
      const watched = this.#watched.get(value.id)
      if (watched === undefined || value.deadBy !== undefined || value.id === this.#options.self()) continue
      if (watched.silentUs < this.#limitUs) nextUs = Math.min(nextUs, this.#limitUs - watched.silentUs)
    }
    return nextUs / 1000
  }

  /** Declares dead whoever has been silent for too long. Resolves when all of them have been tried. */
  async judge(nodes: Iterable<Known<NodeRecord>>): Promise<void> {
    const attempts: Promise<void>[] = []
    for (const node of nodes) {
      const watched = this.#watched.get(node.value.id)
      if (node.value.id === this.#options.self() || watched?.version !== node.version) continue
      if (node.value.deadBy === undefined) {
        if (watched.silentUs >= this.#limitUs) attempts.push(this.#declareDead(node, watched))
      } else if (watched.silentUs >= this.#forgetUs) attempts.push(this.#bury(node))
    }
    await Promise.all(attempts)
  }

  async #declareDead({ key, value }: Known<NodeRecord>, watched: Watched): Promise<void> {
    const { engine, learn, onDeclaredDead, onTrouble, self } = this.#options
    const silentMs = watched.silentUs / 1000
    try {
      const dead = JSON.stringify({ ...value, deadBy: self() } satisfies NodeRecord)
      const stored = await this.#call(engine.write(key, dead, watched.version))
      if (stored === undefined) return
      onDeclaredDead(value, silentMs)
      learn(stored)
    } catch (error) {
      // When it was carried out all the same, the next look at the records will show it.
      if (!hasCode(error, 'UNKNOWN'))
        onTrouble(`node ${value.id} could not be declared dead: ${describe(error)}`)
    }
  }

  async #bury({ key, version }: Known<NodeRecord>): Promise<void> {
    await this.#call(this.#options.engine.remove(key, version)).catch(() => false)
  }

  #call<Value>(promise: Promise<Value>): Promise<Value> {
    return withTimeout(this.#options.clock, this.#options.timing.renewMs, promise)
  }
}
