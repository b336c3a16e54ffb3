/**
 * Installations of whole nodes: all kinds of generators, which operators change while clients draw. In the end, when all
 * is well, every generator that exists issues on every node, without help.
 */
import assert from 'node:assert/strict'
import { slotOf } from '../../src/cluster/slots.ts'
import type { Kind } from '../../src/issuing/issuer.ts'
import { ClientHosts } from './client-hosts.ts'
import { killInColdGroups } from './cold-groups.ts'
import { clockFaults, clusterFaults, commonFaults, type Fault, pauses } from './faults.ts'
import { forgetting } from './forgetting.ts'
import { LeaseHolders } from './lease-holders.ts'
import { type OperatorOptions, Operators } from './operators.ts'
import { periodFaults, simulatedPeriods, skewOf } from './periods.ts'
import { QuotaOperator } from './quotas.ts'
import type { Run, Scenario } from './scenario.ts'
import type { SimulationOptions } from './simulation.ts'
import { takeovers } from './takeovers.ts'
import type { World } from './world.ts'

type NodeScenario = {
  readonly options: (world: World) => Partial<SimulationOptions>
  readonly faults: Readonly<Record<string, Fault>>
  /** Between one and the next, in ms; before the first as well. */
  readonly calmMs: readonly [from: number, to: number]
  readonly kinds: readonly Kind[]
  readonly successors?: OperatorOptions['successors']
  /** What snowflakes are altered to; the default layout, or one of these, is that of new ones. */
  readonly layouts?: readonly string[]
  /** Processes that use the client; then there are namespaces as well. */
  readonly hosts?: number
}

const rounds = 3
/** Processes outside that stamp ids of snowflakes. */
const holders = 2
const allKinds: readonly Kind[] = ['sequence', 'segment', 'timestamp', 'snowflake']
/** For all that is under way to end, and for all news to arrive. */
const settleMs = 9000
/** As `twitter`, for 32 worker ids: they change hands often. */
const fewWorkers = 'time:41,node:5,sequence:17;epoch=2010-11-04T01:42:54.657Z'
const scattered = 'scatter:4,time:41,node:5,sequence:13;epoch=2010-11-04T01:42:54.657Z'
const usualLayouts = ['twitter', 'discord', fewWorkers, scattered]
/** With fewer ids for each unit of time, clients run ahead of the clock. */
const layoutsOfClients = [
  'twitter',
  fewWorkers,
  'time:41,node:12,sequence:10;epoch=2010-11-04T01:42:54.657Z',
  'time:34,node:6,sequence:3;unit=100ms;epoch=2010-11-04T01:42:54.657Z',
  scattered,
]
/** How often a generator is asked for, at the end, before it counts as dead, and the pause between. */
const aliveTries = 12
const alivePauseMs = 800

/** Several times in the list, so that most seeds meet it. */
const coldFaults = {
  'kill in groups of new names': killInColdGroups,
  'kill in groups of new names, again': killInColdGroups,
}

const periodical = {
  faults: { ...commonFaults, ...periodFaults, ...periodFaults },
  calmMs: [1000, 9000],
  kinds: ['sequence', 'segment'],
} as const

/** By name. */
export const nodeScenarios: Readonly<Record<string, Scenario>> = {
  /** A cluster of nodes. */
  cluster: nodes({
    options: clusterOptions,
    faults: { ...commonFaults, ...clockFaults, ...clusterFaults, ...coldFaults },
    calmMs: [1000, 9000],
    kinds: allKinds,
  }),
  /** Nodes on a shared engine, without a cluster: sequences go by group commit, and there are no timestamps. */
  fleet: nodes({
    options: fleetOptions,
    faults: { ...commonFaults, ...clockFaults, ...coldFaults },
    calmMs: [1000, 9000],
    kinds: ['sequence', 'segment', 'snowflake'],
  }),
  /** One node that owns its store, from one life to the next. */
  single: nodes({
    options: (world) => ({ ...fleetOptions(world), machines: 1, owned: true, newsMs: 0 }),
    faults: { ...commonFaults, ...clockFaults, ...coldFaults },
    calmMs: [500, 5000],
    kinds: allKinds,
  }),
  /** Processes that use the client, above a cluster, while namespaces permit and forbid what they lease. */
  clients: nodes({
    options: (world) => ({ ...clusterOptions(world), skewMaxMs: 100 }),
    faults: commonFaults,
    calmMs: [1000, 9000],
    kinds: allKinds,
    layouts: layoutsOfClients,
    hosts: 2,
  }),
  /** The same above a fleet, whose clocks are wrong by far. */
  'clients-fleet': nodes({
    options: fleetOptions,
    faults: { ...commonFaults, ...clockFaults },
    calmMs: [1000, 9000],
    kinds: ['snowflake', 'segment', 'sequence', 'snowflake'],
    layouts: layoutsOfClients,
    hosts: 2,
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
  /** Counters that begin again in each period, in a cluster, in a fleet and on a store that loses its last writes. */
  periods: nodes({
    ...periodical,
    options: (world) => ({ ...clusterOptions(world), ...periodOptions(world) }),
  }),
  'periods-fleet': nodes({ ...periodical, options: (world) => periodOptions(world) }),
  'periods-forgetting': nodes({
    ...periodical,
    options: (world) => ({
      ...(world.chance(0.5) ? clusterOptions(world) : fleetOptions(world)),
      // A change that was forgotten may count in another scale: see docs/internals/faults.md.
      ...periodOptions(world, 1),
      failoverGap: world.chance(0.6) ? 100_000n : 0n,
    }),
    faults: forgetting,
  }),
  /** A store that loses the writes which name leaders, under a cluster. */
  takeovers: nodes({
    options: (world) => ({
      ...clusterOptions(world),
      skewMaxMs: 200,
      failoverGap: world.chance(0.6) ? 100_000n : 0n,
    }),
    faults: takeovers,
    calmMs: [1000, 5000],
    kinds: ['sequence'],
  }),
}

function nodes(scenario: NodeScenario): Scenario {
  const { options, faults: possible, calmMs, kinds, successors, layouts = usualLayouts, hosts = 0 } = scenario
  return {
    options: (world) => ({ ...nodeOptions(world), ...options(world) }),
    async story(run) {
      const { simulation, clients, faults } = run
      const { world, witness } = simulation
      const operators = new Operators(simulation, clients, {
        operators: 2,
        kinds,
        successors: successors ?? (() => kinds),
        layouts,
        generators: 9,
        pauseMaxMs: world.pick([1000, 3000]),
      })
      simulation.onForgotten = (names) => operators.forgot(names)
      await simulation.startAll()
      witness.calm()
      await operators.begin()
      clients.begin()
      new LeaseHolders(simulation, clients).begin(holders)
      const clientHosts = new ClientHosts(simulation)
      const quotas = new QuotaOperator(simulation)
      clientHosts.begin(hosts)
      if (hosts > 0) quotas.begin()
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
      if (hosts === 0) return
      await quotas.end()
      await clientHosts.survey(operators.living)
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

function periodOptions(world: World, share?: number): Partial<SimulationOptions> {
  return { periods: simulatedPeriods(world, share), skewMaxMs: skewOf(world) }
}

function fleetOptions(_world: World): Partial<SimulationOptions> {
  return { shards: 0 }
}
