/** A whole installation in one process: machines, an engine behind a bad network, clients, operators, and what befalls them. */

import { type PeriodDefinition, periodsOf } from '../../src/catalogue/periods.ts'
import { generatorKey } from '../../src/catalogue/stored-generator.ts'
import { Cluster } from '../../src/cluster/cluster.ts'
import { nodePrefix, settingsKey } from '../../src/cluster/records.ts'
import { shardTable, slotOf } from '../../src/cluster/slots.ts'
import { brokenInvariant, forgetTouched } from '../invariants.ts'
import { CatalogueProgram } from './catalogue-program.ts'
import { Checker } from './checker.ts'
import { Issuer } from './least-program.ts'
import { type Clocks, Machine } from './machine.ts'
import { NodeProgram } from './node-program.ts'
import type { OnIssue, Program } from './program.ts'
import { type Link, RemoteEngine, type RemoteHooks } from './remote-engine.ts'
import { SharedStore, type Snapshot } from './store.ts'
import { Witness } from './witness.ts'
import type { World } from './world.ts'

/** What a simulation consists of. */
export type SimulationOptions = Clocks & {
  /** What runs on the machines: the least that leads, the catalogue of servers, or whole nodes. */
  readonly program: 'least' | 'catalogue' | 'node'
  /** Whether a catalogue has a family. */
  readonly hasFamily?: boolean
  readonly machines: number
  /** What counters are created with, and at which moment wall clocks begin, in Unix µs; undefined: there are no periods. */
  readonly periods?: SimulatedPeriods
  /** 0: no cluster. */
  readonly shards: number
  /** Without a cluster: whether one machine has the store for itself. */
  readonly owned: boolean
  readonly clients: number
  /** How many ids clients ask for at once, at most. */
  readonly countMax: number
  readonly leaseTtlMs: number
  readonly marginMs: number
  /** Ways between machines and the engine, when nothing is wrong, in ms. */
  readonly delayMinMs: number
  readonly delayMaxMs: number
  /** How late news of records are at most, in ms. */
  readonly newsMs: number
  /** For how long snowflakes reserve time ahead, in ms. */
  readonly leadMs: number
  /** Undefined: the store forgets nothing. 0: an operator raises bounds. */
  readonly failoverGap: bigint | undefined
}

/** Generators with periods, and the moment at which a simulation begins. */
export type SimulatedPeriods = {
  readonly options: Required<Pick<PeriodDefinition, 'period' | 'zone' | 'width' | 'keep'>>
  readonly beginUs: number
  /** How many of the counters have periods. */
  readonly share: number
}

/** One process on its machine. */
export type Process = {
  readonly machine: Machine
  readonly link: Link
  readonly program: Pick<Program, 'ask' | 'close'> & Partial<Program>
  readonly address: string
  /** Requests that it has not answered, until when, and what ends them. */
  readonly pending: Set<{ readonly untilUs: number; readonly fail: (code: string) => void }>
}

const port = 7379
const lookMs = 400

export class Simulation {
  readonly world: World
  readonly options: SimulationOptions
  readonly store = new SharedStore()
  readonly checker: Checker
  readonly witness: Witness
  /** The generators that clients ask for. */
  readonly generators: string[] = []
  /** Set when clients and operators shall stop. */
  isOver = false
  /** Told of generators whose creation was forgotten. */
  onForgotten: (names: readonly string[]) => void = () => {}
  readonly #places: (Process | undefined)[]
  readonly #starting = new Map<number, Promise<void>>()
  /** Links of machines, of those too on which nothing runs yet. */
  readonly #links = new Set<Link>()
  #processes: readonly Process[] = []
  #ids = 0

  constructor(world: World, options: SimulationOptions) {
    this.world = world
    this.options = options
    forgetTouched()
    const { shards, machines, leaseTtlMs, marginMs, program } = options
    const table = shardTable(Math.max(1, shards))
    this.checker = new Checker(
      world,
      options.periods && periodsOf(options.periods.options),
      options.periods?.options.keep,
    )
    this.witness = new Witness(
      world,
      this.store,
      leaseTtlMs,
      (name) => table[slotOf(name)]!,
      options.periods?.options,
    )
    this.#places = new Array<Process | undefined>(machines).fill(undefined)
    if (program === 'node' && shards > 0) {
      const value = JSON.stringify({ cluster: 'simulated', shards, leaseTtlMs, marginMs })
      void this.store.engine.write(settingsKey, value, undefined)
    }
  }

  /** The processes that run, stopped ones too. */
  get processes(): readonly Process[] {
    return this.#processes
  }

  /** Starts a process in every place that has none. Resolves when all have joined. */
  async startAll(trouble: Partial<Link> = {}): Promise<void> {
    for (const place of this.#places.keys()) {
      if (this.#places[place] !== undefined || this.#starting.has(place)) continue
      this.#starting.set(
        place,
        this.#start(place, trouble).finally(() => this.#starting.delete(place)),
      )
    }
    await Promise.all(this.#starting.values())
  }

  /** What is found wrong by now. */
  get wrong(): Error | undefined {
    return this.checker.wrong ?? this.witness.wrong ?? brokenInvariant()
  }

  async #start(place: number, trouble: Partial<Link>): Promise<void> {
    const { world, options } = this
    const machine = new Machine(world, `m${place}.${++this.#ids}`, {
      ...options,
      ...options.periods,
      onWall: this.checker.noteWall,
    })
    const link: Link = { ...this.#calmLink(), ...trouble }
    this.#links.add(link)
    const address = `10.0.0.${place}:${port}`
    world.note(() => `${machine.name} is started`)
    const onIssue: OnIssue = (...issue) => this.witness.issue(machine, ...issue)
    const enter = (program: Process['program']) => {
      const process = { machine, link, program, address, pending: new Set() } satisfies Process
      this.#places[place] = process
      this.#processes = this.#places.filter((each) => each !== undefined)
    }
    if (options.program === 'node') return this.#startNode(place, machine, link, onIssue, enter)
    const fences = new Map<string, bigint>()
    // The answer to a reserve of an earlier leadership may come late: its range is no longer issued.
    const onReserved = (counter: string, fence: bigint) => {
      if (fence > (fences.get(counter) ?? 0n)) fences.set(counter, fence)
    }
    const engine = this.#engine(machine, link, { onReserved })
    const cluster = this.#cluster(machine, engine, address)
    const kindOf = (name: string) => (name.startsWith('s') ? 'segment' : 'sequence')
    const program =
      options.program === 'least'
        ? new Issuer(cluster, engine, onIssue)
        : await CatalogueProgram.open({
            world,
            machine,
            cluster,
            engine,
            fences,
            kindOf,
            onIssue,
            hasFamily: options.hasFamily === true,
          })
    enter({ cluster, ask: (request) => program.ask(request), close: () => cluster.close() })
    await cluster.start()
  }

  /** kill -9. */
  kill(process: Process): void {
    this.world.note(() => `${process.machine.name} is killed`)
    this.#links.delete(process.link)
    process.machine.kill()
    for (const { fail } of process.pending) fail('LOST')
    this.#places[this.#places.indexOf(process)] = undefined
    this.#processes = this.#places.filter((each) => each !== undefined)
  }

  /** A clean stop. */
  async stop(process: Process): Promise<void> {
    await process.program.close()
    this.kill(process)
  }

  /** Takes every fault away. */
  heal(): void {
    for (const link of this.#links) Object.assign(link, this.#calmLink())
    for (const { machine } of this.processes) if (machine.isStopped) machine.goOn()
  }

  /** The store loses all that was written after a snapshot. */
  forget(snapshot: Snapshot): void {
    const { store, world, checker, witness, generators } = this
    const before = new Map(generators.map((name) => [name, store.records.get(generatorKey(name))]))
    store.forget(snapshot)
    witness.forgot()
    checker.lost()
    world.note(
      () =>
        `the store forgets what was written in the last ${Math.round((world.nowUs - snapshot.atUs) / 1000)} ms`,
    )
    const isLost = (name: string) =>
      store.records.get(generatorKey(name))?.version !== before.get(name)?.version
    for (const name of generators.filter(isLost)) checker.forgot(name)
    this.onForgotten(generators.filter((name) => !store.records.has(generatorKey(name))))
  }

  async #startNode(
    place: number,
    machine: Machine,
    link: Link,
    onIssue: OnIssue,
    enter: (program: NodeProgram) => void,
  ): Promise<void> {
    const { shards, leaseTtlMs, leadMs, failoverGap = 0n } = this.options
    const node = await NodeProgram.start({
      world: this.world,
      machine,
      address: { host: `10.0.0.${place}`, port },
      open: ({ onRegressed, onAdvanced }) => this.#engine(machine, link, { onRegressed, onAdvanced }),
      newId: () => `n${++this.#ids}`,
      cluster: shards > 0 ? { shards, leaseTtlMs } : undefined,
      leadMs,
      failoverGap,
      onIssue,
      onEvent: (message) => this.world.note(() => `${machine.name}: ${message}`),
    })
    enter(node)
    await node.join()
  }

  #engine(machine: Machine, link: Link, hooks: RemoteHooks): RemoteEngine {
    const { world, store, options, witness } = this
    return new RemoteEngine({
      world,
      machine,
      store,
      link,
      witness: (...seen) => witness.witness(...seen),
      ownership: options.owned ? 'owner' : 'shared',
      newsWithinMs: 2 * (options.newsMs + options.delayMaxMs),
      lookMs: options.failoverGap === undefined ? undefined : lookMs,
      onWritten: (key, pauses) => {
        // The answer to a renewal: from now on it knows whether others have taken over.
        if (key.startsWith(nodePrefix) && pauses === machine.pauses) machine.isUnaware = false
      },
      ...hooks,
    })
  }

  #cluster(machine: Machine, engine: RemoteEngine, resp: string): Cluster {
    const { shards, leaseTtlMs, marginMs } = this.options
    return new Cluster({
      engine,
      clock: machine,
      newNodeId: () => `n${++this.#ids}`,
      cluster: 'simulated',
      shards,
      resp,
      version: '0',
      leaseTtlMs,
      marginMs,
      onEvent: (event) => this.world.note(() => `${machine.name}: ${JSON.stringify(event, plain)}`),
    })
  }

  #calmLink(): Link {
    const { delayMinMs, delayMaxMs, newsMs } = this.options
    return { cut: false, delayMinMs, delayMaxMs, newsMs, answerMs: 0, loseRequest: 0, loseReply: 0, late: 0 }
  }
}

function plain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
