/**
 * A minimal issuer for leaders: one counter per generator, reserved with the fence, issued from memory. It reports the
 * issued ids to the checker, and reads nothing from there.
 */
import { hasCode } from '../../src/base/errors.ts'
import type { Cluster } from '../../src/cluster/cluster.ts'
import type { LeaderTerm } from '../../src/cluster/events.ts'
import type { Engine, Reservation } from '../../src/engine/engine.ts'
import { Run } from '../../src/ids/run.ts'
import { type Answer, counterOf, type OnIssue, type Program, type Request, slotOfName } from './program.ts'

/** The buffered ids of a generator, under one leadership. */
type BufferedRange = {
  readonly here: LeaderTerm
  next: bigint
  end: bigint
  newest: Reservation | undefined
  refill: Promise<void> | undefined
}

const step = 20n
const parkMs = 2000

/** Issues ids of the shards that a cluster's node leads. */
export class Issuer implements Pick<Program, 'ask'> {
  readonly #cluster: Cluster
  readonly #engine: Engine
  readonly #onIssue: OnIssue
  readonly #buffers = new Map<string, BufferedRange>()

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
      if (lead.state === 'none') return { down: `no leader for ${lead.forMs} ms`, code: 'CLUSTERDOWN' }
      if (lead.state === 'elsewhere') return { moved: lead.node.resp! }
      try {
        const run = await this.#issueOrRefill(generator, count, slot)
        if (run !== undefined) return { runs: [run] }
      } catch (error) {
        if (!hasCode(error, 'STALE')) return { down: String(error), code: 'UNAVAILABLE' }
        const counter = await this.#engine.counter(counterOf(generator)).catch(() => undefined)
        if (counter !== undefined) this.#cluster.sealedOut(lead, counter.fence)
      }
    }
    return { down: 'dry', code: 'DRY' }
  }

  async #issueOrRefill(generator: string, count: number, slot: number): Promise<Run | undefined> {
    const here = this.#cluster.here(slot)
    if (here === undefined) return undefined
    const run = this.#issue(generator, count, here)
    if (run !== undefined) return run
    const buffer = this.#buffer(generator, here)
    buffer.refill ??= this.#refill(generator, buffer).finally(() => {
      buffer.refill = undefined
    })
    await buffer.refill
    // During the wait the lease may have lapsed, or the shard may have moved.
    const still = this.#cluster.here(slot)
    return still && this.#issue(generator, count, still)
  }

  /** Issues buffered ids, `count` at most. */
  #issue(generator: string, count: number, here: LeaderTerm): Run | undefined {
    const buffer = this.#buffer(generator, here)
    const left = Number(buffer.end - buffer.next)
    if (left === 0) return undefined
    const run = new Run()
    run.set(buffer.next, Math.min(count, left), 1)
    buffer.next += BigInt(run.count)
    this.#onIssue(generator, [run], { kind: 'sequence', fence: here.fence })
    return run
  }

  #buffer(generator: string, here: LeaderTerm): BufferedRange {
    const buffer = this.#buffers.get(generator)
    if (buffer?.here === here) return buffer
    const fresh: BufferedRange = { here, next: 0n, end: 0n, newest: undefined, refill: undefined }
    this.#buffers.set(generator, fresh)
    return fresh
  }

  async #refill(generator: string, buffer: BufferedRange): Promise<void> {
    const reservation = await this.#engine.reserve(counterOf(generator), {
      size: step,
      floor: buffer.end,
      fence: buffer.here.fence,
      incarnation: 1n,
    })
    // The reply came too late: the range is a gap.
    if (this.#buffers.get(generator) !== buffer) return
    buffer.newest = reservation
    buffer.next = reservation.start
    buffer.end = reservation.end
  }

  #takeOut(here: LeaderTerm): [string, BufferedRange][] {
    const taken = [...this.#buffers].filter(([, buffer]) => buffer.here === here)
    for (const [generator] of taken) this.#buffers.delete(generator)
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
