/**
 * The issuer of a strict generator on a node that does not lead it: issues nothing, and names the leader.
 *
 * Invariants
 *  1. It reserves nothing and buffers nothing.
 *  2. While the slot has no leader, a caller waits as long as it would wait for ids; in no other case it waits. Once this
 *     node leads, callers get STALE, and continue with the issuer that has replaced this one.
 */
import { assert } from '../../base/assert.ts'
import { FahaoError } from '../../base/errors.ts'
import { slotNotServed } from '../../base/moved.ts'
import { emptyRow } from '../../buffers/fast-runs.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { slotOf } from '../../cluster/slots.ts'
import type { Run } from '../../ids/run.ts'
import { type DrawOptions, type Issuer, type IssuerStats, idleStats } from '../../issuing/issuer.ts'
import { moved } from './redirection.ts'

/** Waits for the leader of one generator. */
export class Standby implements Issuer {
  readonly row = emptyRow
  readonly isOver = false
  readonly #cluster: Cluster
  readonly #name: string
  readonly #waitersMax: number
  #waiting = 0
  #waits = 0
  #closed: Error | undefined

  /** @param waitersMax how many callers may wait. */
  constructor(cluster: Cluster, name: string, waitersMax: number) {
    this.#cluster = cluster
    this.#name = name
    this.#waitersMax = waitersMax
  }

  /** Always 0: nothing is buffered. */
  take(): number {
    return 0
  }

  /** Always −1: nothing is buffered. */
  takeNumber(): number {
    return -1
  }

  async draw(_count: number, { signal }: DrawOptions = {}): Promise<Run[]> {
    signal?.throwIfAborted()
    return this.#refuse(signal)
  }

  /** True: the leader checks it. */
  nextIsSafe(): boolean {
    return true
  }

  /** Undefined: only the leader knows its newest id. */
  lastIssued(): undefined {
    return undefined
  }

  assertInvariants(): void {
    assert(this.#waiting >= 0 && this.#waiting <= this.#waitersMax, 'at most waitersMax callers wait')
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
    const slot = slotOf(this.#name)
    if (this.#closed !== undefined) throw this.#closed
    if (this.#waiting >= this.#waitersMax)
      throw new FahaoError('BUSY', `${this.#waiting} requests wait for a leader already; retry with a pause`)
    this.#waiting++
    if (this.#cluster.lead(slot).state === 'none') this.#waits++
    const lead = await this.#cluster.leadWithin(slot)
    this.#waiting--
    signal?.throwIfAborted()
    if (this.#closed !== undefined) throw this.#closed
    if (lead.state === 'elsewhere') throw moved(slot, lead)
    if (lead.state === 'none') throw slotNotServed()
    throw new FahaoError('STALE', `this node has just become the leader of generator '${this.#name}'; retry`)
  }
}
