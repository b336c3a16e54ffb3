/**
 * A store that loses its last writes: a failover to a replica that lacks them, or an older copy in its place. From then on
 * it refuses writes, until its bounds have been raised: by nodes that were told by how much, or else by an operator.
 */
import { type Fault, one } from './faults.ts'
import type { Simulation } from './simulation.ts'

/** More than any generator can have issued in what is lost. */
const gap = 100_000n
const byThemselves = 2
/** A worker id that has not been extended for longer is free. */
const leadsMax = 1.3

/** What happens around the moment in which the store goes back. */
export const forgetting: Readonly<Record<string, Fault>> = {
  async 'lost writes'(simulation) {
    await lose(simulation, async () => {})
  },

  async 'lost writes, and one node is cut off'(simulation) {
    const { world } = simulation
    await lose(simulation, async () => {
      one(simulation).link.cut = true
      await world.pass(world.between(0, 500))
    })
  },

  async 'lost writes, and one node stands still'(simulation) {
    await lose(simulation, async () => one(simulation).machine.stop())
  },

  async 'lost writes, and one node is killed'(simulation) {
    await lose(simulation, async () => simulation.kill(one(simulation)))
  },

  async 'lost writes, and all nodes are started again'(simulation) {
    await lose(simulation, async () => {
      for (const process of simulation.processes) simulation.kill(process)
      await simulation.startAll()
    })
  },

  async 'lost writes on slow links'(simulation) {
    const { world } = simulation
    for (const { link } of simulation.processes) link.answerMs = world.between(0, 600)
    await lose(simulation, async () => {})
  },

  async 'a lost take-over of a worker id'(simulation) {
    const { world, options, store } = simulation
    const [idle, other] = simulation.processes
    idle!.machine.stop()
    await world.pass(options.leadMs * leadsMax + world.between(0, 2000))
    const snapshot = store.snapshot(world.nowUs)
    // The next life of another machine takes the lowest id that is free.
    simulation.kill(other!)
    await simulation.startAll()
    await world.pass(world.between(500, 2000))
    const taker = simulation.processes.find(({ address }) => address === other!.address)
    if (taker !== undefined) taker.link.cut = true
    idle!.machine.goOn()
    simulation.forget(snapshot)
    await byHand(simulation)
    for (let burst = 0; burst < 3; burst++) {
      await world.pass(world.between(100, 800))
      const snowflake = simulation.generators.find((name) => simulation.checker.kind(name) === 'snowflake')
      // Two nodes of one worker id would meet.
      if (snowflake !== undefined) await hurry(simulation, snowflake, 150, 1)
    }
  },

  async 'lost writes on which nodes had waited'(simulation) {
    const { world } = simulation
    const { link } = one(simulation)
    link.newsMs = 4000
    await world.pass(world.between(0, 1500))
    await lose(simulation, async () => {})
  },
}

/** For `forMs`, every node is asked for an id of the generator every `everyMs`. */
export async function hurry(
  { world, processes, checker }: Simulation,
  generator: string,
  forMs: number,
  everyMs: number,
): Promise<void> {
  for (let ms = 0; ms < forMs; ms += everyMs) {
    await world.pass(everyMs)
    for (const { machine, program } of processes) {
      const sentUs = world.nowUs
      machine.reach(() => {
        void program.ask({ generator, count: 1 }).then((answer) => {
          if (!('runs' in answer)) return
          const { runs } = answer
          const reply = { sentUs, by: machine.name, runs, count: 1, contiguous: false, isUnaware: false }
          checker.reply(generator, reply)
        })
      })
    }
  }
}

async function lose(simulation: Simulation, meanwhile: () => Promise<void>): Promise<void> {
  const { world, options, store } = simulation
  const snapshot = store.snapshot(world.nowUs)
  // Idle nodes let their claims of worker ids lapse meanwhile, and others take them.
  await world.pass(world.chance(0.7) ? world.between(100, 3000) : world.between(3000, 12_000))
  if (world.chance(0.5)) await meanwhile()
  else void meanwhile()
  simulation.forget(snapshot)
  await world.pass(world.between(200, 4000))
  // Nodes raise bounds by themselves twice in ten minutes, and leave the third time to an operator.
  if (options.failoverGap === 0n || store.losses > byThemselves) {
    await byHand(simulation)
    await world.pass(world.between(0, 2000))
  }
  await world.pass(world.between(500, 8000))
}

/** An operator raises all bounds, on one node, as often as it takes; `once`: once, whatever the store has lost. */
export async function byHand(simulation: Simulation, once = false): Promise<void> {
  const { world, store } = simulation
  for (let tries = 0; once ? tries === 0 : store.isSuspect; tries++) {
    if (tries > 20) simulation.heal()
    if (simulation.processes.length === 0) await world.pass(1000)
    const { machine, program } = one(simulation)
    world.note(() => `${machine.name} is told to advance by ${gap}`)
    const said = new Promise<void>((resolve) => {
      machine.reach(
        () =>
          void program.advance!(gap).then(
            () => resolve(),
            () => resolve(),
          ),
      )
    })
    await Promise.race([said, world.pass(3000)])
  }
}
