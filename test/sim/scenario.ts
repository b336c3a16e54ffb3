/** What a simulation of one seed is made of, how it goes, and how it is told when something is wrong. */
import assert from 'node:assert/strict'
import { Clients } from './clients.ts'
import { clockFaults, clusterFaults, commonFaults, type Fault, plannedFaults } from './faults.ts'
import { nodeScenarios } from './node-scenarios.ts'
import { Simulation, type SimulationOptions } from './simulation.ts'
import { World } from './world.ts'

/** How a simulation went. */
export type Outcome = {
  readonly seed: number
  readonly faults: readonly string[]
  readonly issued: number
  readonly answered: number
  readonly changes: number
  readonly longestGapMs: number
  readonly errors: number
  readonly bounces: number
}

/** A run of a simulation, as its story is told. */
export type Run = { readonly simulation: Simulation; readonly clients: Clients; readonly faults: string[] }

/** A kind of installation, and what befalls it. */
export type Scenario = {
  readonly options: (world: World) => SimulationOptions
  readonly story: (run: Run) => Promise<void>
}

const rounds = 3
/** Requests come at random moments; a generator that can issue is asked this often at least, in ms. */
const askedMs = 1000
/** The longest pause of refills after a reserve that failed while a caller waited. */
const refillPauseMs = 1000
const notesShown = 200

const leaderFaults = { ...commonFaults, ...clockFaults, ...clusterFaults }

/** Every kind of installation, by name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  /** The cluster alone: leaders by the least that issues. */
  leaders: {
    options: (world) => ({ ...leaderOptions(world), program: 'least' }),
    story: (run) => leaders(run, leaderFaults),
  },
  /** The catalogue and the issuers of servers on top of it. */
  servers: {
    options: (world) => ({ ...leaderOptions(world), program: 'catalogue' }),
    story: (run) => leaders(run, leaderFaults),
  },
  /** Names of a family, some of which share a section, on the same. */
  families: {
    options: (world) => ({ ...leaderOptions(world), program: 'catalogue', hasFamily: true }),
    story: (run) => leaders(run, leaderFaults),
  },
  ...nodeScenarios,
}

/** Runs the simulation of one seed. Rejects with what went wrong; `noted`: and with what led to it. */
export async function simulate(name: string, seed: number, noted = false): Promise<Outcome> {
  const scenario = scenarios[name]
  if (scenario === undefined) throw new Error(`no scenario '${name}'; there are ${Object.keys(scenarios)}`)
  const world = new World(seed, noted)
  const options = scenario.options(world)
  const simulation = new Simulation(world, options)
  const clients = new Clients(simulation)
  const faults: string[] = []
  try {
    await world.tell(scenario.story({ simulation, clients, faults }), () => simulation.wrong)
  } catch (error) {
    const where = `${name}, seed ${seed}, at ${(world.nowUs / 1000).toFixed(1)} ms, after ${faults.join(', ')}`
    const told = [`${where}: ${(error as Error).message}`, ...(noted ? notesOf(simulation) : [])]
    throw new Error(told.join('\n'), { cause: error })
  }
  const { changes, longestGapMs, issued } = simulation.witness
  const { errors, bounces } = clients
  return {
    seed,
    faults,
    issued,
    answered: simulation.checker.replies,
    changes,
    longestGapMs,
    errors,
    bounces,
  }
}

/** What happened last, and what happened to the generator that something is wrong with. */
function notesOf({ world, checker, options, generators }: Simulation): string[] {
  const others = generators.filter((name) => checker.suspect !== undefined && name !== checker.suspect)
  const isAbout = (note: string, name: string) => note.includes(` ${name}: `)
  const notes = world.notes!.filter((note) => !others.some((name) => isAbout(note, name)))
  const plain = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)
  return [JSON.stringify(options, plain), ...notes.slice(-notesShown)]
}

function leaderOptions(world: World): Omit<SimulationOptions, 'program'> {
  const slow = world.chance(0.3)
  const leaseTtlMs = 3000
  const marginMs = world.pick([60, 100, 300])
  return {
    machines: world.chance(0.2) ? 2 : 3,
    shards: world.pick([1, 2, 3, 5]),
    owned: false,
    clients: 4,
    countMax: 10,
    leaseTtlMs,
    marginMs,
    // As much as the margins allow for, now and then.
    driftMax: world.chance(0.5) ? 0.005 : (0.9 * marginMs) / leaseTtlMs,
    skewMaxMs: 1_000_000,
    delayMinMs: slow ? 1 : 0.2,
    delayMaxMs: slow ? 60 : 3,
    newsMs: 0,
    leadMs: 1000,
    failoverGap: undefined,
  }
}

/** Faults with calm in between, in which every generator has to issue. */
async function leaders(run: Run, possible: Readonly<Record<string, Fault>>): Promise<void> {
  const { simulation, clients, faults } = run
  const { world, witness, options, generators, checker } = simulation
  const { leaseTtlMs, marginMs, driftMax, program, hasFamily = false } = options
  if (hasFamily) for (let each = 0; each < 3; each++) generators.push(`room:{a}${each}`, `room:${each}`)
  else for (let each = 0; each < options.shards + 2; each++) generators.push(`g${each}`)
  for (const generator of generators) checker.strict(generator)
  const strict = [...generators]
  if (program === 'catalogue' && !hasFamily) generators.push('s0', 's1')
  await simulation.startAll()
  clients.begin()
  await world.pass(world.between(500, 5000))
  for (let round = 0; round < rounds; round++) {
    witness.trouble(strict)
    const [name, fault] = world.pick(Object.entries(possible))
    faults.push(`${name} at ${Math.round(world.nowUs / 1000)}`)
    world.note(() => `fault: ${name}`)
    witness.onlyPlanned = plannedFaults.has(name)
    await fault(simulation)
    witness.onlyPlanned = false
    simulation.heal()
    world.note(() => 'all is well')
    witness.calm()
    await world.pass(leaseTtlMs + marginMs + 1000 + askedMs + world.between(0, 500))
    witness.trouble(strict)
    await simulation.startAll()
    await world.pass(world.between(0, 4000))
  }
  simulation.isOver = true
  const waitMs = (leaseTtlMs + marginMs) * (1 + 2 * driftMax)
  const gapMaxMs = waitMs + 1000 + askedMs + (program === 'catalogue' ? refillPauseMs : 0)
  const { longestGapMs } = witness
  assert.ok(
    longestGapMs <= gapMaxMs,
    `a generator issued nothing for ${longestGapMs} ms, at most ${gapMaxMs}`,
  )
}
