/** What befalls a cluster in one simulation: drawn from the seed, fault after fault, with calm in between. */
import assert from 'node:assert/strict'
import { type Process, Simulation, type SimulationOptions } from './simulation.ts'
import { World } from './world.ts'

/** How a simulation went. */
export type Outcome = {
  readonly seed: number
  readonly faults: readonly string[]
  readonly issued: number
  readonly answered: number
  readonly changes: number
  readonly longestGapMs: number
  readonly gapMaxMs: number
  readonly errors: number
  readonly bounces: number
}

/** During these nothing is wrong with the network or the machines. */
const plannedFaults: ReadonlySet<string> = new Set(['moves', 'drain', 'clean stop'])

type Fault = (simulation: Simulation) => Promise<void>

/** Requests come at random moments; a generator that can issue is asked this often at least, in ms. */
const askedMs = 1000
/** What servers issue by rests so long, at most, after a reserve that failed while somebody waited. */
const refillPauseMs = 1000

/** Runs the simulation of one seed, `real`: with what servers issue by. Rejects with what went wrong. */
export async function simulate(seed: number, rounds: number, real = false): Promise<Outcome> {
  const world = new World(seed)
  const simulation = new Simulation(world, { ...draw(world), real })
  const faults: string[] = []
  try {
    await world.tell(story(simulation, faults, rounds), () => simulation.checker.wrong)
    const { leaseTtlMs, marginMs } = simulation.options
    const gapMaxMs = leaseTtlMs + marginMs + 1000 + askedMs + (real ? refillPauseMs : 0)
    const { issued, answered, changes, longestGapMs } = simulation.checker
    assert.ok(
      longestGapMs <= gapMaxMs,
      `a generator issued nothing for ${longestGapMs} ms, at most ${gapMaxMs}`,
    )
    const { errors, bounces } = simulation
    return { seed, faults, issued, answered, changes, longestGapMs, gapMaxMs, errors, bounces }
  } catch (error) {
    const told = simulation.events
      .slice(-40)
      .map(({ atMs, machine, event }) => `${atMs.toFixed(1)} ${machine} ${JSON.stringify(event, plain)}`)
    throw new Error(
      `seed ${seed}, at ${(world.nowUs / 1000).toFixed(1)} ms, after ${faults.join(', ')}: ${(error as Error).message}\n${JSON.stringify(simulation.options)}\n${told.join('\n')}`,
      { cause: error },
    )
  }
}

function plain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

function draw(world: World): Omit<SimulationOptions, 'real'> {
  const slow = world.chance(0.3)
  return {
    machines: world.chance(0.2) ? 2 : 3,
    shards: world.pick([1, 2, 3, 5]),
    clients: 4,
    leaseTtlMs: 3000,
    marginMs: world.pick([60, 100, 300]),
    driftMax: 0.005,
    delayMinMs: slow ? 1 : 0.2,
    delayMaxMs: slow ? 60 : 3,
  }
}

async function story(simulation: Simulation, faults: string[], rounds: number): Promise<void> {
  const { world, checker, options, generators } = simulation
  await Promise.all(simulation.freePlaces.map((place) => simulation.start(place)))
  simulation.ask()
  await world.pass(world.between(500, 5000))
  for (let round = 0; round < rounds; round++) {
    checker.trouble(generators)
    const [name, fault] = world.pick(Object.entries(allFaults))
    faults.push(`${name} at ${Math.round(world.nowUs / 1000)}`)
    checker.onlyPlanned = plannedFaults.has(name)
    await fault(simulation)
    checker.onlyPlanned = false
    simulation.heal()
    checker.calm()
    await world.pass(options.leaseTtlMs + options.marginMs + 1000 + askedMs + world.between(0, 500))
    checker.trouble(generators)
    for (const place of simulation.freePlaces) await simulation.start(place)
    await world.pass(world.between(0, 4000))
  }
  simulation.finish()
}

/** What can happen. Each leaves behind at least one process that runs. */
export const allFaults: Readonly<Record<string, Fault>> = {
  async kill(simulation) {
    simulation.kill(one(simulation))
  },

  async 'kill and start'(simulation) {
    simulation.kill(one(simulation))
    await simulation.world.pass(simulation.world.between(0, 500))
    await Promise.all(simulation.freePlaces.map((place) => simulation.start(place)))
  },

  async stop(simulation) {
    one(simulation).machine.stop()
    await around(simulation)
  },

  async suspend(simulation) {
    one(simulation).machine.stop(true)
    await around(simulation)
  },

  async 'stop two'(simulation) {
    const { world } = simulation
    for (const { machine } of simulation.processes.slice(0, 2)) machine.stop(world.chance(0.3))
    await around(simulation)
  },

  async cut(simulation) {
    one(simulation).link.cut = true
    await around(simulation)
  },

  async 'slow answers, then cut'(simulation) {
    const { world } = simulation
    const { link, cluster } = one(simulation)
    link.answerMs = world.between(300, 950)
    await world.pass(world.between(2000, 5000))
    // Just after the answer to a renewal has come: the most that it can believe to have left.
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
    const { world, options, checker } = simulation
    const { machine, link, cluster } = one(simulation)
    const answerMs = world.between(40, 120)
    for (const other of simulation.processes) if (other.link !== link) other.link.answerMs = answerMs
    await world.pass(1000)
    machine.stop()
    await world.pass(50)
    // The last look of those who wait for it has been carried out, and its answer is on the way.
    const silentMs = (world.nowUs - checker.renewedUs.get(cluster.nodeId)!) / 1000
    const deadlineMs = options.leaseTtlMs + options.marginMs - silentMs
    await world.pass(deadlineMs + world.between(-20, answerMs))
    machine.goOn()
    await world.pass(2000)
  },

  async 'moves with slow answers'(simulation) {
    const { world } = simulation
    const { link } = one(simulation)
    link.answerMs = world.between(100, 900)
    for (let move = 0; move < 4; move++) {
      wish(simulation)
      await world.pass(world.between(200, 1500))
    }
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

  async 'lossy moves'(simulation) {
    const { world } = simulation
    for (const { link } of simulation.processes) lossy(simulation, link)
    for (let move = 0; move < 4; move++) {
      wish(simulation)
      await world.pass(world.between(200, 2000))
    }
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

  async moves(simulation) {
    for (let move = 0; move < 4; move++) {
      wish(simulation)
      await simulation.world.pass(simulation.world.between(0, 1000))
    }
  },

  async drain(simulation) {
    const { cluster, machine } = one(simulation)
    machine.reach(() => void cluster.drain())
    await simulation.world.pass(simulation.world.between(0, 2000))
    machine.reach(() => void cluster.drain(false))
  },

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

function one(simulation: Simulation): Process {
  return simulation.world.pick(simulation.processes)
}

function lossy({ world }: Simulation, link: Process['link']): void {
  link.loseRequest = world.between(0, 0.2)
  link.loseReply = world.between(0, 0.4)
  link.late = world.between(0, 0.2)
}

/** Lets pass what makes it interesting: often about as long as a lease takes to lapse. */
async function around({ world, options }: Simulation): Promise<void> {
  const leaseMs = options.leaseTtlMs + options.marginMs
  await world.pass(world.chance(0.6) ? leaseMs + world.between(-1200, 600) : world.between(100, 9000))
}

function wish({ world, processes, options }: Simulation): void {
  const from = world.pick(processes)
  const to = world.pick(processes).cluster.nodeId
  const shard = Math.floor(world.random() * options.shards)
  from.machine.reach(() => void from.cluster.move(shard, world.chance(0.8) ? to : undefined).catch(() => {}))
}

async function within({ world }: Simulation, done: Promise<void>): Promise<void> {
  await Promise.race([done, world.pass(20_000).then(() => assert.fail('it never stopped'))])
}
