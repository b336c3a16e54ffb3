/**
 * Installations of whole nodes: all kinds of generators, which operators change while clients draw. In the end, when all
 * is well, every generator that exists issues on every node, without help.
 */
import assert from 'node:assert/strict'
import { slotOf } from '../../src/cluster/slots.ts'
import type { Kind } from '../../src/issuing/issuer.ts'
import { clockFaults, clusterFaults, commonFaults, type Fault, pauses } from './faults.ts'
import { forgetting } from './forgetting.ts'
import { LeaseHolders } from './lease-holders.ts'
import { type OperatorOptions, Operators } from './operators.ts'
import type { Run, Scenario } from './scenario.ts'
import type { SimulationOptions } from './simulation.ts'
import type { World } from './world.ts'

type NodeScenario = {
  readonly options: (world: World) => Partial<SimulationOptions>
  readonly faults: Readonly<Record<string, Fault>>
  /** Between one and the next, in ms; before the first as well. */
  readonly calmMs: readonly [from: number, to: number]
  readonly kinds: readonly Kind[]
  readonly successors?: OperatorOptions['successors']
}

const rounds = 3
/** Processes outside that stamp ids of snowflakes. */
const holders = 2
const allKinds: readonly Kind[] = ['sequence', 'segment', 'timestamp', 'snowflake']
/** For all that is under way to end, and for all news to arrive. */
const settleMs = 9000
/** How often a generator is asked for, at the end, before it counts as dead, and the pause between. */
const aliveTries = 12
const alivePauseMs = 800

/** By name. */
export const nodeScenarios: Readonly<Record<string, Scenario>> = {
  /** A cluster of nodes. */
  cluster: nodes({
    options: clusterOptions,
    faults: { ...commonFaults, ...clockFaults, ...clusterFaults },
    calmMs: [1000, 9000],
    kinds: allKinds,
  }),
  /** Nodes on a shared engine, without a cluster: sequences go by group commit, and there are no timestamps. */
  fleet: nodes({
    options: fleetOptions,
    faults: { ...commonFaults, ...clockFaults },
    calmMs: [1000, 9000],
    kinds: ['sequence', 'segment', 'snowflake'],
  }),
  /** One node that owns its store, from one life to the next. */
  single: nodes({
    options: (world) => ({ ...fleetOptions(world), machines: 1, owned: true, newsMs: 0 }),
    faults: { ...commonFaults, ...clockFaults },
    calmMs: [500, 5000],
    kinds: allKinds,
  }),
  /** Machines whose clocks both stand still for a while. */
  paused: nodes({
    options: clusterOptions,
    faults: { ...pauses, cut: commonFaults.cut!, kill: commonFaults.kill! },
    calmMs: [1000, 5000],
    kinds: allKinds,
  }),
  /** A store that loses its last writes, under a cluster and under a fleet. */
  forgetting: nodes({
    options: (world) => ({
      ...(world.chance(0.5) ? clusterOptions(world) : fleetOptions(world)),
      skewMaxMs: 200,
      failoverGap: world.chance(0.6) ? 100_000n : 0n,
    }),
    faults: forgetting,
    calmMs: [1000, 9000],
    kinds: ['sequence', 'segment', 'snowflake', 'segment'],
    // A kind that was forgotten may count in another scale: see docs/internals/faults.md.
    successors: (kind) => (kind === 'sequence' || kind === 'segment' ? ['sequence', 'segment'] : [kind]),
  }),
}

function nodes({ options, faults: possible, calmMs, kinds, successors }: NodeScenario): Scenario {
  return {
    options: (world) => ({ ...nodeOptions(world), ...options(world) }),
    async story(run) {
      const { simulation, clients, faults } = run
      const { world, witness } = simulation
      const operators = new Operators(simulation, clients, {
        operators: 2,
        kinds,
        successors: successors ?? (() => kinds),
        generators: 9,
        pauseMaxMs: world.pick([1000, 3000]),
      })
      simulation.onForgotten = (names) => operators.forgot(names)
      await simulation.startAll()
      witness.calm()
      await operators.begin()
      clients.begin()
      new LeaseHolders(simulation, clients).begin(holders)
      for (let round = 0; round < rounds; round++) {
        await world.pass(world.between(...calmMs))
        const [name, fault] = world.pick(Object.entries(possible))
        faults.push(`${name} at ${Math.round(world.nowUs / 1000)}`)
        world.note(() => `fault: ${name}`)
        witness.trouble([])
        await fault(simulation)
        simulation.heal()
        await simulation.startAll()
        world.note(() => 'all is well')
        witness.calm()
      }
      await world.pass(world.between(0, 3000))
      simulation.isOver = true
      await world.pass(settleMs)
      await operators.survey()
      for (const generator of operators.living) await issues(run, generator)
    },
  }
}

/** Asks every node for an id of the generator until it has one; where another leads it, from there. */
async function issues({ simulation, clients }: Run, generator: string): Promise<void> {
  const { world, processes, checker } = simulation
  for (const { address, machine } of processes) {
    let said = ''
    for (let tries = 0; ; tries++) {
      const answer = await clients.once(
        { generator, count: 1 },
        new Map([[slotOf(generator), address]]),
        address,
      )
      if (answer === undefined) break
      said = answer
      if (tries === aliveTries) {
        checker.suspect = generator
        assert.fail(`${generator} is not issued by ${machine.name} any more: ${said}`)
      }
      await world.pass(alivePauseMs)
    }
  }
}

function nodeOptions(world: World): SimulationOptions {
  const slow = world.chance(0.3)
  return {
    program: 'node',
    machines: world.chance(0.3) ? 2 : 3,
    shards: 0,
    owned: false,
    clients: 3,
    countMax: 12,
    leaseTtlMs: 3000,
    marginMs: 300,
    driftMax: 0.005,
    skewMaxMs: 1_000_000,
    delayMinMs: slow ? 1 : 0.2,
    delayMaxMs: slow ? 40 : 3,
    newsMs: world.pick([0, 300, 1000]),
    leadMs: world.pick([2000, 6000]),
    failoverGap: undefined,
  }
}

function clusterOptions(world: World): Partial<SimulationOptions> {
  return { shards: world.pick([1, 2, 5]) }
}

function fleetOptions(_world: World): Partial<SimulationOptions> {
  return { shards: 0 }
}
