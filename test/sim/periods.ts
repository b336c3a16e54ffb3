/** Simulations with generators whose numbers begin again: near midnight, and near both changes of summer time. */
import { periodsOf } from '../../src/catalogue/periods.ts'
import { type Fault, one } from './faults.ts'
import type { SimulatedPeriods } from './simulation.ts'
import type { World } from './world.ts'

const zone = 'Europe/Berlin'
/** Moments at which a period begins. */
const beginnings = [
  { period: 'day', at: '2026-11-26T23:00:00Z' },
  { period: 'day', at: '2026-10-25T23:00:00Z' },
  // 02:00 to 03:00 comes again, and goes on.
  { period: 'hour', at: '2026-10-25T01:00:00Z' },
  { period: 'hour', at: '2026-10-25T02:00:00Z' },
  // 02:00 to 03:00 is skipped.
  { period: 'hour', at: '2026-03-29T01:00:00Z' },
  { period: 'month', at: '2026-10-31T23:00:00Z' },
  { period: 'year', at: '2026-12-31T23:00:00Z' },
] as const

/** What counters of one simulation are created with. Most begin so late that a period begins meanwhile. */
export function simulatedPeriods(world: World, share = 0.9): SimulatedPeriods {
  const { period, at } = world.pick(beginnings)
  const options = { period, zone, width: 7, keep: world.pick([0, 1, 3]) }
  return { options, beginUs: (Date.parse(at) - world.between(1000, 30_000)) * 1000, share }
}

/** Clocks that are wrong by about an hour as well, and by so little that they show another period for a moment. */
export function skewOf(world: World): number {
  return world.pick([20, 2000, 20_000, 3_600_000])
}

/** What befalls nodes near the beginning of a period. */
export const periodFaults: Readonly<Record<string, Fault>> = {
  async 'kill at the end of a period'(simulation) {
    const process = one(simulation)
    const { world, options } = simulation
    const periods = periodsOf(options.periods!.options)!
    const ordinal = periods.ordinalOfMoment(process.machine.wallUs() + 100_000)
    for (let waits = 0; waits < 400; waits++) {
      await world.pass(25)
      if (periods.ordinalOfMoment(process.machine.wallUs() + 100_000) > ordinal) break
    }
    if (simulation.processes.includes(process)) simulation.kill(process)
    await world.pass(world.between(0, 300))
  },

  async 'clocks an hour off'(simulation) {
    const { world } = simulation
    for (const { machine } of simulation.processes)
      if (world.chance(0.5)) machine.setWall(world.pick([-3_600_000, 3_600_000]))
    await world.pass(world.between(5000, 9000))
  },
}
