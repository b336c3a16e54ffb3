/** What can befall an installation: drawn from the seed, one after another. Each leaves at least one process that runs. */
import assert from 'node:assert/strict'
import type { Standstill } from './machine.ts'
import type { Process, Simulation } from './simulation.ts'

/** Resolves when it is over; what it has changed of links and machines is healed afterwards. */
export type Fault = (simulation: Simulation) => Promise<void>

/** During these nothing is wrong with the network or the machines. */
export const plannedFaults: ReadonlySet<string> = new Set(['moves', 'drain', 'clean stop'])

/** Faults of machines, of the network and of the engine, wherever there are processes. */
export const commonFaults: Readonly<Record<string, Fault>> = {
  async kill(simulation) {
    simulation.kill(one(simulation))
  },

  async 'kill and start'(simulation) {
    simulation.kill(one(simulation))
    await simulation.world.pass(simulation.world.between(0, 500))
    await simulation.startAll()
  },

  stop: (simulation) => standstill(simulation, 'stopped'),

  suspend: (simulation) => standstill(simulation, 'suspended'),

  async 'stop two'(simulation) {
    const { world } = simulation
    for (const { machine } of simulation.processes.slice(0, 2))
      machine.stop(world.chance(0.3) ? 'suspended' : 'stopped')
    await around(simulation)
  },

  async cut(simulation) {
    one(simulation).link.cut = true
    await around(simulation)
  },

  async 'slow, then stop'(simulation) {
    const { link, machine } = one(simulation)
    Object.assign(link, { delayMinMs: 200, delayMaxMs: 700 })
    await simulation.world.pass(simulation.world.between(2000, 6000))
    machine.stop()
    await around(simulation)
  },

  async lossy(simulation) {
    const { world } = simulation
    for (const { link } of simulation.processes) lossy(simulation, link)
    await world.pass(world.between(1000, 9000))
    if (world.chance(0.5)) simulation.kill(one(simulation))
  },

  async 'engine away'(simulation) {
    for (const { link } of simulation.processes) link.cut = true
    await around(simulation)
  },

  async 'clean stop'(simulation) {
    const process = one(simulation)
    await within(simulation, simulation.stop(process))
  },

  async 'clean stop of a node that was cut off'(simulation) {
    const process = one(simulation)
    process.link.cut = true
    await simulation.world.pass(simulation.world.between(0, 4000))
    await within(simulation, simulation.stop(process))
  },

  async 'late news'(simulation) {
    const { world } = simulation
    for (const { link } of simulation.processes) link.newsMs = world.between(500, 4000)
    await world.pass(world.between(2000, 8000))
  },
}

/** Faults of clocks. */
export const clockFaults: Readonly<Record<string, Fault>> = {
  async 'clock set'(simulation) {
    const { world } = simulation
    for (let jump = 0; jump < 3; jump++) {
      one(simulation).machine.setWall(world.pick([-3_600_000, -1000, 400, 10_000, 86_400_000]))
      await world.pass(world.between(0, 1500))
    }
  },

  async 'stop and clock set back'(simulation) {
    const { machine } = one(simulation)
    machine.stop()
    await around(simulation)
    machine.setWall(-60_000)
  },
}

/** What happens to leaders. */
export const clusterFaults: Readonly<Record<string, Fault>> = {
  async 'slow answers, then cut'(simulation) {
    const { world } = simulation
    const { link, program } = one(simulation)
    link.answerMs = world.between(300, 950)
    await world.pass(world.between(2000, 5000))
    // Just after the answer to a renewal has come: the most that it can believe to have left.
    const cluster = program.cluster!
    let leftMs = cluster.status().leaseLeftMs
    for (let waits = 0; waits < 500; waits++) {
      await world.pass(5)
      const nowMs = cluster.status().leaseLeftMs
      if (nowMs > leftMs) break
      leftMs = nowMs
    }
    link.cut = true
    await world.pass(5000)
  },

  async 'back while being declared dead'(simulation) {
    const { world, options, witness } = simulation
    const { machine, link, program } = one(simulation)
    const answerMs = world.between(40, 120)
    for (const other of simulation.processes) if (other.link !== link) other.link.answerMs = answerMs
    await world.pass(1000)
    machine.stop()
    await world.pass(50)
    // The last look of those who wait for it has been carried out, and its answer is on the way.
    const silentMs = (world.nowUs - (witness.renewedUs.get(program.cluster!.nodeId) ?? world.nowUs)) / 1000
    const deadlineMs = options.leaseTtlMs + options.marginMs - silentMs
    await world.pass(deadlineMs + world.between(-20, answerMs))
    machine.goOn()
    await world.pass(2000)
  },

  async 'moves with slow answers'(simulation) {
    const { world } = simulation
    const { link } = one(simulation)
    link.answerMs = world.between(100, 900)
    await moves(simulation, 200, 1500)
  },

  async 'lossy moves'(simulation) {
    for (const { link } of simulation.processes) lossy(simulation, link)
    await moves(simulation, 200, 2000)
  },

  async 'lossy start, then moves'(simulation) {
    const { world } = simulation
    simulation.kill(one(simulation))
    const trouble = { loseRequest: 0.3, loseReply: 0.3 }
    void simulation.startAll(trouble)
    await world.pass(world.between(3000, 8000))
    simulation.heal()
    await world.pass(world.between(1000, 5000))
    await moves(simulation, 0, 1500)
  },

  moves: (simulation) => moves(simulation, 0, 1000),

  async drain(simulation) {
    const { program, machine } = one(simulation)
    machine.reach(() => void program.cluster!.drain())
    await simulation.world.pass(simulation.world.between(0, 2000))
    machine.reach(() => void program.cluster!.drain(false))
  },
}

/** A virtual machine is paused, and both of its clocks with it. */
export const pauses: Readonly<Record<string, Fault>> = {
  pause: (simulation) => standstill(simulation, 'paused'),

  async 'pause two'(simulation) {
    for (const { machine } of simulation.processes.slice(0, 2)) machine.stop('paused')
    await around(simulation)
  },
}

/** One of the processes. */
export function one(simulation: Simulation): Process {
  return simulation.world.pick(simulation.processes)
}

/** Lets pass what makes it interesting: often about as long as a lease takes to lapse. */
export async function around({ world, options }: Simulation): Promise<void> {
  const leaseMs = options.leaseTtlMs + options.marginMs
  await world.pass(world.chance(0.6) ? leaseMs + world.between(-1200, 600) : world.between(100, 9000))
}

async function standstill(simulation: Simulation, how: Standstill): Promise<void> {
  one(simulation).machine.stop(how)
  await around(simulation)
}

function lossy({ world }: Simulation, link: Process['link']): void {
  link.loseRequest = world.between(0, 0.2)
  link.loseReply = world.between(0, 0.4)
  link.late = world.between(0, 0.2)
}

async function moves(simulation: Simulation, fromMs: number, toMs: number): Promise<void> {
  const { world, options } = simulation
  for (let move = 0; move < 4; move++) {
    const from = one(simulation)
    const to = one(simulation).program.cluster!.nodeId
    const shard = Math.floor(world.random() * options.shards)
    const pinned = world.chance(0.8) ? to : undefined
    from.machine.reach(() => void from.program.cluster!.move(shard, pinned).catch(() => {}))
    await world.pass(world.between(fromMs, toMs))
  }
}

async function within({ world }: Simulation, done: Promise<void>): Promise<void> {
  await Promise.race([done, world.pass(20_000).then(() => assert.fail('it never stopped'))])
}
