/**
 * The failure detector: how long the other nodes have been silent, and which of them may be declared dead. `core.ts`
 * writes the declaration.
 *
 * Invariants
 *  1. A node is declared dead by a conditional write on the very version that stood unchanged, as seen from here, for at
 *     least ttl + margin of this process's monotonic time since it was *received* here. If the write is carried out, no
 *     renewal came in between; the node's own deadline has passed before.
 *  2. Only time between two observations counts, and of a longer gap no more than `renewMs`: while this process was
 *     stopped, or the engine was away from it, the others may have had no way to renew either. Safety does not need
 *     this (1 suffices); without it, every node would be declared dead after ten seconds without the engine.
 *  3. Only a heartbeat above the last one is a sign of life. Others write a node's record too: who declares it dead, and an
 *     advance. A version that they make begins the silence again, which safety needs (1), and counts as no renewal.
 *  4. A record that says dead is final. It is removed much later, when no write of that node can be on its way.
 */
import type { Known, NodeRecord } from './records.ts'
import type { Timing } from './timing.ts'

/**
 * How long this version of a node's record has been observed, and when it was last; its heartbeat, when that was first
 * observed, and how many came before it.
 */
type Silence = {
  readonly version: bigint
  readonly heartbeat: number
  readonly heartbeatUs: number
  readonly renewals: number
  silentUs: number
  lastUs: number
}

/** The observed silence of each other node. */
export class FailureDetector {
  readonly #silences = new Map<string, Silence>()
  readonly #limitUs: number
  readonly #gapUs: number
  readonly #forgetUs: number

  constructor({ ttlMs, marginMs, renewMs, forgetMs }: Timing) {
    this.#limitUs = (ttlMs + marginMs) * 1000
    this.#gapUs = renewMs * 1000
    this.#forgetUs = forgetMs * 1000
  }

  /** The engine has just now answered with these records, or reported a change of one. */
  observe(nodes: Iterable<Known<NodeRecord>>, nowUs: number): void {
    for (const { value, version } of nodes) {
      const silence = this.#silences.get(value.id)
      if (silence?.version !== version) {
        this.#silences.set(value.id, {
          ...heardOf(value, silence, nowUs),
          version,
          silentUs: 0,
          lastUs: nowUs,
        })
      } else {
        silence.silentUs += Math.min(nowUs - silence.lastUs, this.#gapUs)
        silence.lastUs = nowUs
      }
    }
  }

  /** The node's record is gone. */
  forget(id: string): void {
    this.#silences.delete(id)
  }

  /** For how long a node has been observed not to renew, in ms; 0 when it has never been observed. */
  silentMs(id: string): number {
    return (this.#silences.get(id)?.silentUs ?? 0) / 1000
  }

  /** When the newest heartbeat of a node was first observed, on the monotonic clock in µs; undefined: none was. */
  heardUs(id: string): number | undefined {
    return this.#silences.get(id)?.heartbeatUs
  }

  /** How often a node has been observed to renew since its record was first seen. */
  renewals(id: string): number {
    return this.#silences.get(id)?.renewals ?? 0
  }

  /**
   * How long from the last observation until another living node may be declared dead, in ms. A node that may be
   * already does not count: this node may not judge now, or the engine has refused, and neither changes within ms.
   */
  nextMs(nodes: Iterable<Known<NodeRecord>>, self: string): number {
    let nextUs = this.#limitUs
    for (const { value } of nodes) {
      const silence = this.#silences.get(value.id)
      if (silence === undefined || value.deadBy !== undefined || value.id === self) continue
      if (silence.silentUs < this.#limitUs) nextUs = Math.min(nextUs, this.#limitUs - silence.silentUs)
    }
    return nextUs / 1000
  }

  /** The living nodes that have been silent for too long, and the dead ones whose records may be removed. */
  *overdue(nodes: Iterable<Known<NodeRecord>>, self: string): Generator<Known<NodeRecord>> {
    for (const node of nodes) {
      const silence = this.#silences.get(node.value.id)
      if (node.value.id === self || silence?.version !== node.version) continue
      const limitUs = node.value.deadBy === undefined ? this.#limitUs : this.#forgetUs
      if (silence.silentUs >= limitUs) yield node
    }
  }
}

/** What a record says about its node's heartbeats, after what was known. */
function heardOf(
  { heartbeat }: NodeRecord,
  known: Silence | undefined,
  nowUs: number,
): Pick<Silence, 'heartbeat' | 'heartbeatUs' | 'renewals'> {
  if (known === undefined) return { heartbeat, heartbeatUs: nowUs, renewals: 0 }
  const isRenewal = heartbeat > known.heartbeat
  return isRenewal ? { heartbeat, heartbeatUs: nowUs, renewals: known.renewals + 1 } : known
}
