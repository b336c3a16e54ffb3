/**
 * Groups of names that no request has named before, asked of one process at once, which may be killed at any moment: before the
 * look-up, between the commit that creates them and its answer, or while their callers are served. Each is asked for twice, and
 * again of another process afterwards.
 */
import { slotOf } from '../../src/cluster/slots.ts'
import { Clients } from './clients.ts'
import type { Simulation } from './simulation.ts'

/** What nodes create when it is first asked for. */
export const coldRules = [
  { pattern: 'cold-q*', kind: 'sequence' },
  { pattern: 'cold-g*', kind: 'segment' },
] as const

const groups = 4
const killShare = 0.7

/** The names that a simulation has asked for so far. */
const asked = new WeakMap<Simulation, number>()

/** Asks for several groups, one after the other. */
export async function killInColdGroups(simulation: Simulation): Promise<void> {
  const { world, checker, options } = simulation
  const clients = new Clients(simulation)
  for (let group = 0; group < groups; group++) {
    const process = world.pick(simulation.processes)!
    const { address } = process
    const names: string[] = []
    for (let left = Math.ceil(world.between(1, 20)); left > 0; left--) {
      const number = asked.get(simulation) ?? 0
      asked.set(simulation, number + 1)
      const isStrict = world.chance(0.5)
      const name = `cold-${isStrict ? 'q' : 'g'}${number}`
      if (isStrict) checker.strict(name)
      names.push(name)
    }
    const ask = (name: string, at: string | undefined) =>
      clients.once({ generator: name, count: 1 }, new Map(at === undefined ? [] : [[slotOf(name), at]]), at)
    const first = [...names, ...names].map((name) => ask(name, address))
    await world.pass(world.between(0, 8 * options.delayMaxMs))
    if (world.chance(killShare) && simulation.processes.includes(process)) simulation.kill(process)
    await Promise.all(first)
    await simulation.startAll()
    await Promise.all(names.map((name) => ask(name, world.pick(simulation.processes)?.address)))
  }
}
