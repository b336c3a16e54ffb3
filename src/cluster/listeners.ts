/** Everybody who is told what becomes of this node's leaderships, as one. */
import type { LeaderTerm } from './leadership.ts'
import type { ClusterListener } from './options.ts'
import type { LeftoverRange, NodeRecord } from './records.ts'

/** See the top of the file. */
export class Listeners implements Required<ClusterListener> {
  readonly #all = new Set<ClusterListener>()

  /** Tells it from now on. Returns what ends that. */
  add(listener: ClusterListener): () => void {
    this.#all.add(listener)
    return () => void this.#all.delete(listener)
  }

  onWon(here: LeaderTerm): void {
    for (const { onWon } of this.#all) onWon?.(here)
  }

  async onLosing(here: LeaderTerm, tails: LeftoverRange[] | undefined, releaseMs: number): Promise<void> {
    await Promise.all([...this.#all].map(({ onLosing }) => onLosing?.(here, tails, releaseMs)))
  }

  onLost(here: LeaderTerm): void {
    for (const { onLost } of this.#all) onLost?.(here)
  }

  onLapse(): void {
    for (const { onLapse } of this.#all) onLapse?.()
  }

  onResume(): void {
    for (const { onResume } of this.#all) onResume?.()
  }

  onDead(node: NodeRecord): void {
    for (const { onDead } of this.#all) onDead?.(node)
  }
}
