/**
 * Processes that use a plain worker id of a pool through the client, for a generator of their own. Once another has used an id,
 * those that had it before use it no more.
 */
import type { FahaoClient } from '../../client/src/client.ts'
// The client loads it when it is first needed: time would pass outside of the simulation then.
import type { LeasedWorker } from '../../client/src/plain-worker.ts'
import '../../client/src/plain-worker.ts'
import { FahaoError } from '../../src/base/errors.ts'
import type { Machine } from './machine.ts'
import type { Simulation } from './simulation.ts'

/** A process with a client. */
export type PoolUser = {
  readonly machine: Machine
  readonly client: FahaoClient
  readonly isOver: boolean
  /** Resolves after this time, in the process: never once it is killed. */
  pass(ms: number): Promise<void>
}

const pool = 'plain'
/** Fewer than the processes and those before them need, so ids go from one to the other. */
const size = 3
const ttlsMs = [1000, 2000, 6000]
/** More than the clocks of nodes are apart. */
const restMs = 1000

export class PoolUsers {
  /** How often an id was used. */
  uses = 0
  readonly #simulation: Simulation
  readonly #last = new Map<number, LeasedWorker>()
  readonly #retired = new Map<LeasedWorker, string>()

  constructor(simulation: Simulation) {
    this.#simulation = simulation
  }

  /** Claims and uses ids until the process is over. */
  async goOn(user: PoolUser): Promise<void> {
    const { world } = this.#simulation
    while (!user.isOver) {
      await user.pass(world.between(10, 3000))
      try {
        const own = world.chance(0.3) ? { owner: user.machine.name } : {}
        const stable = world.chance(0.2)
        const ttlMs = world.pick(ttlsMs)
        await this.#use(user, await user.client.leaseWorker(pool, { size, ttlMs, restMs, stable, ...own }))
      } catch (error) {
        if (!(error instanceof FahaoError)) throw error
      }
    }
  }

  async #use(user: PoolUser, worker: LeasedWorker): Promise<void> {
    const { world } = this.#simulation
    const { pauses } = user.machine
    const uses = Math.floor(world.between(1, 30))
    world.note(() => `${user.machine.name} has worker id ${worker.id} of ${pool}`)
    for (let use = 0; use < uses && !user.isOver; use++) {
      await user.pass(world.chance(0.1) ? world.between(0, 9000) : world.between(1, 400))
      if (worker.validForMs() === 0) return
      // Where both clocks stood still, nothing shows that time has passed.
      if (user.machine.pauses === pauses) this.#used(worker, user.machine.name)
    }
    if (world.chance(0.7)) await worker.release()
  }

  #used(worker: LeasedWorker, by: string): void {
    const last = this.#last.get(worker.id)
    this.uses++
    const after = this.#retired.get(worker)
    if (after !== undefined)
      this.#simulation.checker.fail(pool, `${by} used worker id ${worker.id} after ${after} had used it`)
    if (last === worker) return
    if (last !== undefined) this.#retired.set(last, by)
    this.#last.set(worker.id, worker)
  }
}
