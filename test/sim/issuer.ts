/**
 * The least that issues as a leader does: a counter per generator, reserved with the fence, issued from memory. What
 * it issues, and when, is written down for the checker; it takes nothing from there.
 */
import { hasCode } from '../../src/base/errors.ts'
import type { Cluster } from '../../src/cluster/cluster.ts'
import type { Here } from '../../src/cluster/leadership.ts'
import { slotOf } from '../../src/cluster/slots.ts'
import type { Engine, Reservation } from '../../src/engine/engine.ts'

/** What a client hears. */
export type Answer =
  | { readonly id: bigint }
  | { readonly moved: string }
  | { readonly down: string; readonly forMs?: number }

/** Told of each id in the moment when it is issued. */
export type OnIssue = (generator: string, id: bigint, fence: bigint) => void

/** What is in hand of a generator, under one leadership. */
type Stock = {
  readonly here: Here
  next: bigint
  end: bigint
  newest: Reservation | undefined
  refill: Promise<void> | undefined
}

const step = 20n
const parkMs = 2000

/** Counter of a generator. */
export function counterOf(generator: string): string {
  return `generators/${generator}`
}

/** See the top of the file. */
export class Issuer {
  readonly #cluster: Cluster
  readonly #engine: Engine
  readonly #onIssue: OnIssue
  readonly #stocks = new Map<string, Stock>()

  constructor(cluster: Cluster, engine: Engine, onIssue: OnIssue) {
    this.#cluster = cluster
    this.#engine = engine
    this.#onIssue = onIssue
    cluster.listen({
      onLosing: (here) => this.#giveBack(here),
      onLost: (here) => void this.#takeOut(here),
    })
  }

  /** Answers a request, as a server does in the callback that brought it. */
  async ask(generator: string, sentHere: boolean): Promise<Answer> {
    const slot = slotOf(generator)
    if (this.#cluster.check()) {
      const here = this.#cluster.held(slot)
      const id = here && this.#issue(generator, here)
      if (id !== undefined) return { id }
    }
    for (let tries = 0; tries < 8; tries++) {
      const lead = await this.#cluster.leadWithin(slot, parkMs, sentHere)
      if (lead.state === 'nobody') return { down: 'nobody leads', forMs: lead.forMs }
      if (lead.state === 'elsewhere') return { moved: lead.node.resp! }
      try {
        const id = await this.#issueOrRefill(generator, slot)
        if (id !== undefined) return { id }
      } catch (error) {
        if (hasCode(error, 'STALE')) this.#cluster.sealedOut(lead)
        else return { down: String(error) }
      }
    }
    return { down: 'dry' }
  }

  async #issueOrRefill(generator: string, slot: number): Promise<bigint | undefined> {
    const here = this.#cluster.here(slot)
    if (here === undefined) return undefined
    const id = this.#issue(generator, here)
    if (id !== undefined) return id
    const stock = this.#stock(generator, here)
    stock.refill ??= this.#refill(generator, stock).finally(() => {
      stock.refill = undefined
    })
    await stock.refill
    // Awake again: the lease may have lapsed, the shard may be gone.
    const still = this.#cluster.here(slot)
    return still && this.#issue(generator, still)
  }

  #issue(generator: string, here: Here): bigint | undefined {
    const stock = this.#stock(generator, here)
    if (stock.next >= stock.end) return undefined
    const id = stock.next++
    this.#onIssue(generator, id, here.fence)
    return id
  }

  #stock(generator: string, here: Here): Stock {
    const stock = this.#stocks.get(generator)
    if (stock?.here === here) return stock
    const fresh: Stock = { here, next: 0n, end: 0n, newest: undefined, refill: undefined }
    this.#stocks.set(generator, fresh)
    return fresh
  }

  async #refill(generator: string, stock: Stock): Promise<void> {
    const reservation = await this.#engine.reserve(counterOf(generator), {
      size: step,
      floor: stock.end,
      fence: stock.here.fence,
      incarnation: 1n,
    })
    // It came too late: a gap.
    if (this.#stocks.get(generator) !== stock) return
    stock.newest = reservation
    stock.next = reservation.start
    stock.end = reservation.end
  }

  #takeOut(here: Here): [string, Stock][] {
    const taken = [...this.#stocks].filter(([, stock]) => stock.here === here)
    for (const [generator] of taken) this.#stocks.delete(generator)
    return taken
  }

  async #giveBack(here: Here): Promise<void> {
    await Promise.all(
      this.#takeOut(here).map(async ([generator, { newest, next, end, refill }]) => {
        if (newest === undefined || refill !== undefined || next >= end) return
        await this.#engine.release(counterOf(generator), newest, next, { fence: here.fence, incarnation: 1n })
      }),
    )
  }
}
