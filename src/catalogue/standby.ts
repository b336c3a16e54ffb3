/**
 * A strict generator on a node that does not lead it: issues nothing, and tells whoever asks who does.
 *
 * Invariants
 *  1. It reserves nothing and holds nothing.
 *  2. A caller waits for a leader as long as it would wait for ids, and in no other case. Once this node leads, callers
 *     are told STALE: they go on with the issuer that takes this one's place.
 */
import { FahaoError } from '../base/errors.ts'
import { slotNotServed } from '../base/moved.ts'
import type { Run } from '../ids/run.ts'
import { type DrawOptions, type Issuer, type IssuerStats, idleStats } from '../issuing/issuer.ts'
import { aborted } from '../issuing/wait-queue.ts'
import { type GeneratorLeaders, moved } from './generator-leaders.ts'

/** What a standby is made of. */
export type StandbyOptions = {
  readonly leads: GeneratorLeaders
  readonly name: string
  /** Of the name. */
  readonly slot: number
  /** How many callers may wait. */
  readonly waitersMax: number
}

/** See the invariants at the top of the file. */
export class Standby implements Issuer {
  readonly #options: StandbyOptions
  #waiting = 0
  #waits = 0
  #closed: Error | undefined

  constructor(options: StandbyOptions) {
    this.#options = options
  }

  /** Always 0: nothing is in hand. */
  take(): number {
    return 0
  }

  /** Always −1: nothing is in hand. */
  takeNumber(): number {
    return -1
  }

  async draw(_count: number, { signal }: DrawOptions = {}): Promise<Run[]> {
    if (signal?.aborted) throw aborted()
    return this.#refuse(signal)
  }

  /** The leader knows. */
  nextIsSafe(): boolean {
    return true
  }

  /** The leader knows. */
  lastIssued(): undefined {
    return undefined
  }

  moveTo(): Promise<void> {
    return this.#refuse()
  }

  stats(): IssuerStats {
    return { ...idleStats, waits: this.#waits, waiting: this.#waiting }
  }

  close(reason: Error): Promise<void> {
    this.#closed ??= reason
    return Promise.resolve()
  }

  /** Rejects with MOVED, CLUSTERDOWN or BUSY, or with STALE once this node leads. */
  async #refuse(signal?: AbortSignal): Promise<never> {
    const { leads, name, slot, waitersMax } = this.#options
    if (this.#closed !== undefined) throw this.#closed
    if (this.#waiting >= waitersMax)
      throw new FahaoError('BUSY', `${this.#waiting} requests wait for a leader already; retry with a pause`)
    this.#waiting++
    if (leads.cluster.lead(slot).state === 'nobody') this.#waits++
    const lead = await leads.cluster.leadWithin(slot)
    this.#waiting--
    if (signal?.aborted) throw aborted()
    if (this.#closed !== undefined) throw this.#closed
    if (lead.state === 'elsewhere') throw moved(slot, lead)
    if (lead.state === 'nobody') throw slotNotServed()
    throw new FahaoError('STALE', `this node has just become the leader of generator '${name}'; retry`)
  }
}
