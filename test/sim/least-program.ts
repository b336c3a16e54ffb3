/**
 * The least that issues as a leader does: a counter per generator, reserved with the fence, issued from memory. What
 * it issues, and when, is written down for the checker; it takes nothing from there.
 */
import { hasCode } from '../../src/base/errors.ts'
import type { Cluster } from '../../src/cluster/cluster.ts'
import type { LeaderTerm } from '../../src/cluster/events.ts'
import type { Engine, Reservation } from '../../src/engine/engine.ts'
import { Run } from '../../src/ids/run.ts'
import { type Answer, counterOf, type OnIssue, type Program, type Request, slotOfName } from './program.ts'

/** What is in hand of a generator, under one leadership. */
type Stock = {
  readonly here: LeaderTerm
  next: bigint
  end: bigint
  newest: Reservation | undefined
  refill: Promise<void> | undefined
}

const step = 20n
const parkMs = 2000

/** See the top of the file. */
export class Issuer implements Pick<Program, 'ask'> {
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
  async ask({ generator, count }: Request): Promise<Answer> {
    const slot = slotOfName(generator)
    if (this.#cluster.check()) {
      const here = this.#cluster.held(slot)
      const run = here && this.#issue(generator, count, here)
      if (run !== undefined) return { runs: [run] }
    }
    for (let tries = 0; tries < 8; tries++) {
      const lead = await this.#cluster.leadWithin(slot, parkMs)
      if (lead.state === 'none') return { down: `nobody leads for ${lead.forMs} ms`, code: 'CLUSTERDOWN' }
      if (lead.state === 'elsewhere') return { moved: lead.node.resp! }
      try {
        const run = await this.#issueOrRefill(generator, count, slot)
        if (run !== undefined) return { runs: [run] }
      } catch (error) {
        if (hasCode(error, 'STALE')) this.#cluster.sealedOut(lead)
        else return { down: String(error), code: 'UNAVAILABLE' }
      }
    }
    return { down: 'dry', code: 'DRY' }
  }

  async #issueOrRefill(generator: string, count: number, slot: number): Promise<Run | undefined> {
    const here = this.#cluster.here(slot)
    if (here === undefined) return undefined
    const run = this.#issue(generator, count, here)
    if (run !== undefined) return run
    const stock = this.#stock(generator, here)
    stock.refill ??= this.#refill(generator, stock).finally(() => {
      stock.refill = undefined
    })
    await stock.refill
    // Awake again: the lease may have lapsed, the shard may be gone.
    const still = this.#cluster.here(slot)
    return still && this.#issue(generator, count, still)
  }

  /** As many as are in hand, `count` at most. */
  #issue(generator: string, count: number, here: LeaderTerm): Run | undefined {
    const stock = this.#stock(generator, here)
    const left = Number(stock.end - stock.next)
    if (left === 0) return undefined
    const run = new Run()
    run.set(stock.next, Math.min(count, left), 1)
    stock.next += BigInt(run.count)
    this.#onIssue(generator, [run], { kind: 'sequence', fence: here.fence })
    return run
  }

  #stock(generator: string, here: LeaderTerm): Stock {
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

  #takeOut(here: LeaderTerm): [string, Stock][] {
    const taken = [...this.#stocks].filter(([, stock]) => stock.here === here)
    for (const [generator] of taken) this.#stocks.delete(generator)
    return taken
  }

  async #giveBack(here: LeaderTerm): Promise<void> {
    await Promise.all(
      this.#takeOut(here).map(async ([generator, { newest, next, end, refill }]) => {
        if (newest === undefined || refill !== undefined || next >= end) return
        await this.#engine.release(counterOf(generator), newest, next, { fence: here.fence, incarnation: 1n })
      }),
    )
  }
}
