/**
 * Processes outside that stamp ids of snowflakes by themselves, from worker leases. A holder has no clock: it looks at nothing
 * but its span, however late it is. Some have a copy, which returns the lease after the holder has renewed it.
 */
import { encode } from '../../src/ids/id-parts.ts'
import { Run } from '../../src/ids/run.ts'
import type { Clients } from './clients.ts'
import type { Grant, LeaseReply, LeaseRequest } from './program.ts'
import type { Simulation } from './simulation.ts'

const idsMax = 6
const renewalsMax = 5
/** Longer than most spans. */
const lateMs = 12_000

export class LeaseHolders {
  readonly #simulation: Simulation
  readonly #clients: Clients

  constructor(simulation: Simulation, clients: Clients) {
    this.#simulation = simulation
    this.#clients = clients
  }

  /** Lets holders come and go until the simulation is over. */
  begin(count: number): void {
    for (let each = 0; each < count; each++) void this.#comeAndGo()
  }

  async #comeAndGo(): Promise<void> {
    const { world, generators } = this.#simulation
    while (!this.#simulation.isOver) {
      await world.pass(world.between(20, 1500))
      const generator = world.pick(generators)
      if (generator === undefined) continue
      const given = await this.#ask({ do: 'lease', generator, ttlMs: this.#ttlMs() })
      if ('lease' in given) await this.#hold(generator, given)
    }
  }

  /** Stamps and renews, for this generator and others, until it returns the lease or crashes. */
  async #hold(first: string, given: Grant): Promise<void> {
    const { world, generators } = this.#simulation
    /** By generator, where the next id may begin, in Unix µs. */
    const stamped = new Map<string, number>()
    let [generator, grant] = [first, given]
    const renewals = Math.floor(world.between(0, renewalsMax))
    for (let renewal = 0; ; renewal++) {
      this.#stamp(generator, grant, stamped)
      await world.pass(world.chance(0.2) ? world.between(0, lateMs) : world.between(1, 800))
      this.#stamp(generator, grant, stamped)
      if (renewal === renewals || this.#simulation.isOver) break
      generator = world.chance(0.3) ? (world.pick(generators) ?? first) : generator
      const { lease, untilUs } = grant
      const renewed = await this.#ask({ do: 'renew', generator, lease, untilUs, ttlMs: this.#ttlMs() })
      if (!('lease' in renewed)) return
      if (renewed.untilUs > untilUs && world.chance(0.2))
        await this.#ask({ do: 'return', lease, fromUs: grant.fromUs, untilUs })
      grant = renewed
    }
    if (world.chance(0.4)) return
    const fromUs = Math.max(grant.fromUs, ...stamped.values())
    await this.#ask({ do: 'return', lease: grant.lease, fromUs, untilUs: grant.untilUs })
  }

  /** Stamps a few ids of one unit of time of the span: the next, the last, or one between them. */
  #stamp(generator: string, { worker, layout, fromUs, untilUs }: Grant, stamped: Map<string, number>): void {
    const { world, checker } = this.#simulation
    const { epochUs, unitUs } = layout
    const next = Math.ceil((Math.max(fromUs, stamped.get(generator) ?? 0) - epochUs) / unitUs)
    const end = Math.floor((untilUs - epochUs) / unitUs)
    if (next >= end) return
    const dice = world.random()
    const time = dice < 0.5 ? next : dice < 0.6 ? end - 1 : Math.floor(world.between(next, end - 1))
    const count = Math.ceil(world.between(0, idsMax))
    const runs = Array.from({ length: count }, (_, sequence) => {
      const run = new Run()
      run.setOne(encode(layout, { time, node: worker, sequence }))
      return run
    })
    stamped.set(generator, epochUs + (time + 1) * unitUs)
    world.note(
      () => `${generator}: a holder of worker id ${worker} stamps ${count} ids from ${runs[0]?.first} on`,
    )
    checker.reply(generator, {
      sentUs: world.nowUs,
      by: `a holder of worker id ${worker}`,
      runs,
      count,
      contiguous: false,
      // Ids of holders are in no order with those of others.
      isUnaware: true,
    })
  }

  async #ask(request: LeaseRequest): Promise<LeaseReply> {
    const { world, processes } = this.#simulation
    const { answer } = await this.#clients.send(world.pick(processes)?.address, ({ program }) =>
      program.lease!(request),
    )
    return answer
  }

  #ttlMs(): number {
    return Math.floor(this.#simulation.world.between(1000, 10_000))
  }
}
