/** A whole cluster in one process: machines, an engine behind a bad network, clients, and what befalls them. */
import { Cluster } from '../../src/cluster/cluster.ts'
import type { ClusterEvent } from '../../src/cluster/events.ts'
import { shardTable, slotOf } from '../../src/cluster/slots.ts'
import { MemoryEngine, MemoryStore } from '../../src/engine/memory/engine.ts'
import { Checker } from './checker.ts'
import { type Answer, Issuer, type OnIssue } from './issuer.ts'
import { Machine } from './machine.ts'
import { RealIssuer } from './real-issuer.ts'
import { type Link, RemoteEngine } from './remote-engine.ts'
import type { World } from './world.ts'

/** What a simulation consists of. */
export type SimulationOptions = {
  readonly machines: number
  readonly shards: number
  readonly clients: number
  readonly leaseTtlMs: number
  /** Whether ids are issued by what servers run. */
  readonly real: boolean
  readonly marginMs: number
  /** How far monotonic clocks run apart at most, as a fraction. */
  readonly driftMax: number
  /** Ways between machines and the engine, when nothing is wrong, in ms. */
  readonly delayMinMs: number
  readonly delayMaxMs: number
}

/** One process on its machine. */
export type Process = {
  readonly machine: Machine
  readonly link: Link
  readonly cluster: Cluster
  readonly issuer: Pick<Issuer, 'ask'>
  readonly address: string
  /** Ends the requests that it has not answered: their connections break. */
  readonly pending: Set<() => void>
}

/** A redirect that a client was given. */
type Redirect = { readonly from: string; readonly to: string }

/** See the top of the file. */
export class Simulation {
  readonly world: World
  readonly options: SimulationOptions
  readonly store = new MemoryStore()
  readonly checker: Checker
  readonly generators: readonly string[]
  /** What every process has said, newest last. */
  readonly events: { readonly machine: string; readonly atMs: number; readonly event: ClusterEvent }[] = []
  /** Requests that were sent from A to B to A to B although nothing was wrong. */
  bounces = 0
  /** Errors that clients saw. */
  errors = 0
  /** Longest time from a request to its id in ms, since it was last set to 0. */
  slowestMs = 0
  readonly #places: (Process | undefined)[]
  #ids = 0
  #over = false

  constructor(world: World, options: SimulationOptions) {
    this.world = world
    this.options = options
    const shards = shardTable(options.shards)
    this.checker = new Checker(world, this.store, options.leaseTtlMs, (name) => shards[slotOf(name)]!)
    this.#places = new Array<Process | undefined>(options.machines).fill(undefined)
    this.generators = Array.from({ length: options.shards + 2 }, (_, at) => `g${at}`)
  }

  /** The processes that run, stopped ones too. */
  get processes(): readonly Process[] {
    return this.#places.filter((place) => place !== undefined)
  }

  /** Places where no process runs. */
  get freePlaces(): readonly number[] {
    return [...this.#places.keys()].filter((at) => this.#places[at] === undefined)
  }

  /** Starts a process. Resolves when it has joined. */
  async start(place: number): Promise<Process> {
    const { world, options } = this
    const machine = new Machine(world, `m${place}.${++this.#ids}`, options.driftMax)
    const link: Link = { cut: false, ...this.#delays() }
    const engine = new RemoteEngine(world, machine, new MemoryEngine(this.store), link, (...seen) =>
      this.checker.witness(...seen),
    )
    const address = `10.0.0.${place}:7379`
    const cluster = new Cluster({
      engine,
      clock: machine,
      newNodeId: () => `n${++this.#ids}`,
      cluster: 'simulated',
      shards: options.shards,
      resp: address,
      version: '0',
      leaseTtlMs: options.leaseTtlMs,
      marginMs: options.marginMs,
      onEvent: (event) => this.events.push({ machine: machine.name, atMs: world.nowUs / 1000, event }),
    })
    const onIssue: OnIssue = (...issue) => this.checker.issue(machine, ...issue)
    const { real, leaseTtlMs } = options
    const issuer = real
      ? await RealIssuer.open(world, machine, cluster, engine, leaseTtlMs, onIssue)
      : new Issuer(cluster, engine, onIssue)
    const process = { machine, link, cluster, issuer, address, pending: new Set<() => void>() }
    this.#places[place] = process
    await cluster.start()
    return process
  }

  /** kill -9. */
  kill(process: Process): void {
    process.machine.kill()
    for (const end of process.pending) end()
    this.#places[this.#places.indexOf(process)] = undefined
  }

  /** A clean stop. */
  async stop(process: Process): Promise<void> {
    await process.cluster.close()
    this.kill(process)
  }

  /** Takes every fault away. */
  heal(): void {
    for (const { machine, link } of this.processes) {
      Object.assign(link, { cut: false, ...this.#delays() })
      if (machine.isStopped) machine.goOn()
    }
  }

  /** Lets clients ask until `finish`. */
  ask(): void {
    for (let each = 0; each < this.options.clients; each++) void this.#client()
  }

  /** Ends the clients and judges what they have seen. */
  finish(): void {
    this.#over = true
    this.checker.finish()
  }

  #delays(): Omit<Link, 'cut'> {
    const { delayMinMs, delayMaxMs } = this.options
    return { delayMinMs, delayMaxMs, answerMs: 0, loseRequest: 0, loseReply: 0, late: 0 }
  }

  async #client(): Promise<void> {
    const { world } = this
    const slots = new Map<number, string>()
    while (!this.#over) {
      await world.pass(world.between(1, 80))
      const generator = world.pick(this.generators)
      const sentUs = world.nowUs
      const answer = await this.#request(generator, slots)
      if ('id' in answer) {
        this.slowestMs = Math.max(this.slowestMs, (world.nowUs - sentUs) / 1000)
        this.checker.reply(generator, sentUs, world.nowUs, answer.id)
      } else {
        this.errors++
      }
    }
  }

  /** One request, redirects followed as cluster-aware clients do. */
  async #request(generator: string, slots: Map<number, string>): Promise<Answer> {
    const slot = slotOf(generator)
    let last: Redirect | undefined
    let returns = 0
    for (let hops = 0; hops < 6; hops++) {
      const addresses = this.processes.map(({ address }) => address)
      // Some have no memory of who leads, as behind a load balancer; all of them would stay with an old leader.
      const known = hops > 0 || this.world.chance(0.6) ? slots.get(slot) : undefined
      const address = known ?? this.world.pick(addresses)
      const answer = await this.#send(address, generator)
      if (!('moved' in answer)) {
        if ('down' in answer) slots.delete(slot)
        return answer
      }
      const back = last?.from === answer.moved && last.to === address
      returns = back ? returns + 1 : 0
      if (returns === 2 && this.checker.isCalm) this.bounces++
      last = { from: address, to: answer.moved }
      slots.set(slot, answer.moved)
    }
    slots.delete(slot)
    return { down: 'redirected too often' }
  }

  #send(address: string | undefined, generator: string): Promise<Answer> {
    const { world } = this
    const process = this.processes.find((each) => each.address === address)
    if (process === undefined) return world.pass(1).then(() => ({ down: 'connection refused' }))
    const wayUs = () => (world.chance(0.02) ? world.between(1000, 400_000) : world.between(100, 2000))
    return new Promise((resolve) => {
      const end = (answer: Answer) => {
        process.pending.delete(breaks)
        resolve(answer)
      }
      const breaks = () => end({ down: 'connection lost' })
      process.pending.add(breaks)
      world.after(3_000_000, () => end({ down: 'no answer' }))
      world.after(wayUs(), () =>
        process.machine.reach(() => {
          const wasLed = this.checker.isLedBy(generator, process.cluster.nodeId)
          void process.issuer.ask(generator, false).then((answer) => {
            const isLed = this.checker.isLedBy(generator, process.cluster.nodeId)
            if (wasLed && isLed && 'moved' in answer)
              this.checker.sentAway(process.machine, generator, answer.moved)
            world.after(wayUs(), () => end(answer))
          })
        }),
      )
    })
  }
}
