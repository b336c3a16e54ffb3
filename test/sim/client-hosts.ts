/**
 * Processes that use fahao-client, as it is, on machines of their own: they buffer ranges and hold a worker lease. They are
 * stopped, killed and closed, their clocks are set, and their network fails, whatever happens to the nodes.
 */
import assert from 'node:assert/strict'
import { FahaoClient } from '../../client/src/client.ts'
import type { ClientGenerator } from '../../client/src/generator.ts'
import { parseUrls, settingsOf } from '../../client/src/options.ts'
import { FahaoError } from '../../src/base/errors.ts'
import type { GeneInput } from '../../src/ids/gene.ts'
import { Run } from '../../src/ids/run.ts'
import { ClientGrants } from './client-grants.ts'
import { ClientLink, type ClientLinkOptions, type Trouble } from './client-link.ts'
import { Machine } from './machine.ts'
import { PoolUsers } from './pool-users.ts'
import type { Simulation } from './simulation.ts'

/** One life of a process that uses the client. */
type Host = {
  readonly machine: Machine
  readonly client: FahaoClient
  readonly trouble: Trouble
  readonly grants: ClientGrants
  /** How often a machine has replied that could not know that others had taken over. */
  unaware: number
  isOver: boolean
  /** Resolves after this time, in the process: never once it is killed. */
  pass(ms: number): Promise<void>
}

/** Tasks of one process that draw at the same time. */
const tasks = 2
const burstMax = 40
/** Clocks of nodes that are no further apart let an id of a pool rest for long enough. */
const poolSkewMaxMs = 300
const batchMax = 30
/** How often a generator is asked for in the end, and the pause between, in ms. */
const aliveTries = 12
const alivePauseMs = 800
const calm: Trouble = { cut: false, loseRequest: 0, loseReply: 0, delayMaxMs: 2 }

export class ClientHosts {
  readonly #simulation: Simulation
  readonly #hosts: (Host | undefined)[] = []
  /** Undefined: the clocks of nodes differ too much for plain worker ids. */
  readonly #pool: PoolUsers | undefined
  #starts = 0

  constructor(simulation: Simulation) {
    this.#simulation = simulation
    const { options } = simulation
    this.#pool = options.skewMaxMs < poolSkewMaxMs ? new PoolUsers(simulation) : undefined
  }

  /** Runs processes in `count` places, one after the other in each, until the simulation is over. */
  begin(count: number): void {
    for (let place = 0; place < count; place++) void this.#live(place)
  }

  /** Every process gets an id of each generator, without help, unless it has seen clocks that were wrong by far. */
  async survey(generators: readonly string[]): Promise<void> {
    for (const host of this.#hosts) {
      if (host === undefined) continue
      for (const name of generators) await this.#issues(host, name)
    }
  }

  async #issues(host: Host, name: string): Promise<void> {
    for (let tries = 0; ; tries++) {
      const said = await this.#draw(host, name)
      if (said === undefined || said.includes('CLOCK')) return
      if (tries === aliveTries) {
        this.#simulation.checker.suspect = name
        assert.fail(`${host.machine.name} gets no id of ${name} any more: ${said}`)
      }
      await host.pass(alivePauseMs)
    }
  }

  async #live(place: number): Promise<void> {
    const { world } = this.#simulation
    while (!this.#simulation.isOver) {
      await world.pass(world.between(20, 1500))
      const host = this.#start()
      this.#hosts[place] = host
      for (let task = 0; task < tasks; task++) void this.#drawAgainAndAgain(host)
      void this.#pool?.goOn(host)
      const troubles = Math.floor(world.between(1, 6))
      for (let trouble = 0; trouble < troubles && !this.#simulation.isOver; trouble++) {
        await world.pass(world.between(500, 9000))
        await this.#trouble(host)
        Object.assign(host.trouble, calm)
        if (host.machine.isStopped) host.machine.goOn()
      }
      // The last life goes on, and shows in the end that it gets ids.
      if (this.#simulation.isOver) return
      await this.#end(host)
      this.#hosts[place] = undefined
    }
  }

  #start(): Host {
    const { world, options } = this.#simulation
    const machine = new Machine(world, `c${++this.#starts}`, options)
    const trouble: Trouble = { ...calm, delayMaxMs: world.pick([2, 2, 30]) }
    const urls = parseUrls(
      Array.from({ length: options.machines }, (_, place) => `redis://10.0.0.${place}:7379`),
    )
    const settings = settingsOf(urls, {
      horizonMs: world.pick([500, 500, 2000, 6000]),
      timeoutMs: world.pick([1000, 3000, 10_000]),
      attemptTimeoutMs: world.pick([300, 1000, 3000]),
      holder: machine.name,
      onEvent: (event) => {
        world.note(() => `${machine.name}: ${event.type} ${'error' in event ? event.error.message : ''}`)
        if (event.type === 'memory-copied') grants.copied(world.nowUs)
      },
    })
    const grants = new ClientGrants(machine)
    const onReply: ClientLinkOptions['onReply'] = ({ words, reply, by, sentUs, sentMonoUs }) => {
      if (by.isUnaware) host.unaware++
      grants.replied(words, reply, sentUs, sentMonoUs)
    }
    const client = new FahaoClient(urls, settings, {
      clock: machine,
      random: world.random,
      marks: [],
      link: ({ host }) => new ClientLink(host, { simulation: this.#simulation, machine, trouble, onReply }),
    })
    machine.program = client
    const pass = (ms: number) =>
      new Promise<void>((resolve) => world.after(ms * 1000, () => machine.reach(resolve)))
    const host: Host = { machine, client, trouble, grants, unaware: 0, isOver: false, pass }
    world.note(() => `${machine.name} is started, and uses the client`)
    return host
  }

  /** What befalls a process, or its machine. */
  async #trouble({ machine, trouble }: Host): Promise<void> {
    const { world } = this.#simulation
    const dice = world.random()
    if (dice < 0.3) machine.stop(world.pick(['stopped', 'suspended', 'paused']))
    else if (dice < 0.5) trouble.cut = true
    else if (dice < 0.8)
      Object.assign(trouble, { loseRequest: world.between(0, 0.3), loseReply: world.between(0, 0.4) })
    else if (dice < 0.9) machine.setWall(world.pick([-3_600_000, -1000, 400, 10_000, 86_400_000]))
    else Object.assign(trouble, { delayMaxMs: 800 })
    await world.pass(world.between(100, 6000))
  }

  /** It is killed, or closes its client, and is killed afterwards or meanwhile. */
  async #end(host: Host): Promise<void> {
    const { world } = this.#simulation
    const { machine, client } = host
    host.isOver = true
    if (world.chance(0.6)) {
      world.note(() => `${machine.name} closes its client`)
      machine.reach(() => void client.close())
      await world.pass(world.chance(0.8) ? 2500 : world.between(0, 50))
    }
    world.note(() => `${machine.name} is killed`)
    machine.kill()
  }

  async #drawAgainAndAgain(host: Host): Promise<void> {
    const { world, generators } = this.#simulation
    while (!host.isOver && !this.#simulation.isOver) {
      await host.pass(world.between(1, world.chance(0.1) ? 2000 : 120))
      const name = world.pick(generators)
      if (name !== undefined) await this.#draw(host, name)
    }
  }

  /** Draws once, in one of the ways that the client has. Resolves to what was said instead of ids. */
  async #draw(host: Host, name: string): Promise<string | undefined> {
    const { world } = this.#simulation
    try {
      const generator = await host.client.generator(name)
      const dice = world.random()
      if (dice < 0.4 && this.#take(host, generator) > 0) return undefined
      const count = dice < 0.7 ? 1 : Math.ceil(world.between(0, batchMax))
      await this.#wait(host, generator, count).catch((error) => {
        if (!/needs a gene/.test(error.message)) throw error
        return this.#wait(host, generator, count, { gene: count % 2 })
      })
      return undefined
    } catch (error) {
      if (error instanceof FahaoError) return `${error.code} ${error.message}`
      throw error
    }
  }

  /** Takes what is buffered, up to a limit, in one callback. Returns how many. */
  #take(host: Host, generator: ClientGenerator): number {
    const { world } = this.#simulation
    const most = Math.ceil(world.between(0, burstMax))
    const ids: bigint[] = []
    while (ids.length < most) {
      const id = generator.tryNext()
      if (id === undefined) break
      ids.push(id)
    }
    if (ids.length > 0) this.#received(host, generator.name, ids, world.nowUs, false)
    return ids.length
  }

  async #wait(host: Host, generator: ClientGenerator, count: number, options?: GeneInput): Promise<void> {
    const { world } = this.#simulation
    const sentUs = world.nowUs
    const { unaware } = host
    const wasStrict = isStrict(generator)
    const ids = count === 1 ? [await generator.next(options)] : await generator.nextBatch(count, options)
    // Ids of leases are in no order with those of others.
    const isInOrder = wasStrict && isStrict(generator) && host.unaware === unaware
    this.#received(host, generator.name, ids, sentUs, isInOrder)
  }

  #received(host: Host, name: string, ids: readonly bigint[], sentUs: number, isInOrder: boolean): void {
    const { world, checker } = this.#simulation
    const { machine, grants } = host
    world.note(() => `${name}: ${machine.name} has ${ids.join(', ')}`)
    for (const id of ids) {
      const grant = grants.grantOf(name, id)
      if (grant === undefined) checker.fail(name, `${machine.name} gave ${id}, which it was not granted`)
      if (grant?.kind !== 'range') continue
      checker.counted(name, id, grant.incarnation)
      checker.askedFor(name, id, grant.sentUs)
      checker.block(name, id, grant.increment)
    }
    const runs = ids.map((id) => {
      const run = new Run()
      run.setOne(id)
      return run
    })
    checker.reply(name, {
      sentUs,
      by: machine.name,
      runs,
      count: ids.length,
      contiguous: false,
      isUnaware: !isInOrder,
    })
  }
}

function isStrict({ kind }: ClientGenerator): boolean {
  return kind === 'sequence' || kind === 'timestamp'
}
