/** Operators of a simulation: they create, alter, move and drop generators while all issue. */
import type { Kind } from '../../src/issuing/issuer.ts'
import type { Clients } from './clients.ts'
import type { Done, Options, Order } from './program.ts'
import type { Simulation } from './simulation.ts'

/** What operators do, and to what. */
export type OperatorOptions = {
  readonly operators: number
  readonly kinds: readonly Kind[]
  /** What a generator of a kind may be altered into, or created as after it was dropped. */
  readonly successors: (kind: Kind) => readonly Kind[]
  /** Of snowflakes. */
  readonly layouts: readonly string[]
  readonly generators: number
  /** Between two orders of one operator, in ms. */
  readonly pauseMaxMs: number
}

/** The steps that operators give counters. */
const steps = [5, 20, 50, 'adaptive'] as const
/** How far the ids of counters are apart, or how many of their lowest bits callers give. */
const distances = [
  { increment: 1 },
  { increment: 2 },
  { increment: 3 },
  { increment: '1..4' },
  { gene: 4 },
  { gene: 1 },
  { gene: 0 },
] as const
/** An order is over after this: an alteration may have to wait for other nodes. */
const patienceUs = 30_000_000
/** Longer than a write can be on its way after the last fault. */
const settledMs = 7000
/** News that set out before all was well may come so much later, and others wait behind them. */
const newsLateMs = 4500
/** Codes of errors after which nothing has changed. */
const refusals: ReadonlySet<string> = new Set([
  'ERR',
  'WRONGTYPE',
  'EXISTS',
  'NOGENERATOR',
  'REFUSED',
  'MOVED',
])
const redirectsMax = 4

export class Operators {
  /** Orders that were carried out. */
  done = 0
  readonly #simulation: Simulation
  readonly #clients: Clients
  readonly #options: OperatorOptions
  readonly #kinds = new Map<string, Kind | undefined>()
  /** Of those that were dropped as well, and of those whose creation was not answered. */
  readonly #newestKinds = new Map<string, Kind>()
  #names = 0

  constructor(simulation: Simulation, clients: Clients, options: OperatorOptions) {
    this.#simulation = simulation
    this.#clients = clients
    this.#options = options
  }

  /** Creates the first generators, then goes on until the simulation is over. */
  async begin(): Promise<void> {
    const { kinds, operators, generators } = this.#options
    for (const kind of kinds) if (this.#names < generators) await this.#create(kind)
    for (let each = 0; each < operators; each++) void this.#operator()
  }

  /** Generators that the store has forgotten; their names are not used again. */
  forgot(names: readonly string[]): void {
    const { generators } = this.#simulation
    for (const name of names) if (generators.includes(name)) generators.splice(generators.indexOf(name), 1)
  }

  /** Looks what became of everything, once all is well. */
  async survey(): Promise<void> {
    for (const generator of [...this.#simulation.generators]) await this.#find(generator)
  }

  /** What is known to exist. */
  get living(): readonly string[] {
    return this.#simulation.generators.filter((name) => this.#kinds.get(name) !== undefined)
  }

  async #operator(): Promise<void> {
    const { world, generators } = this.#simulation
    while (!this.#simulation.isOver) {
      await world.pass(world.between(50, this.#options.pauseMaxMs))
      const generator = world.pick(generators)
      const isNew = this.#names < this.#options.generators && world.chance(0.15)
      if (generator === undefined || isNew) await this.#create(world.pick(this.#options.kinds))
      else if (this.#simulation.witness.calmMs > settledMs && world.chance(0.5)) await this.#find(generator)
      else await this.#change(generator)
    }
  }

  /** A name that was dropped is often used again at once, before every node has received the drop. */
  async #change(generator: string): Promise<void> {
    const { world, generators } = this.#simulation
    const order = this.#next(generator)
    await this.#order(order)
    if (order.do === 'drop' && world.chance(0.6) && generators.includes(generator))
      await this.#order(this.#next(generator))
  }

  async #create(kind: Kind): Promise<void> {
    const generator = `${'abcdefghijklmnopqrstuvwxyz'[this.#names % 26]}${this.#names++}`
    await this.#order({ do: 'create', generator, options: this.#optionsOf(kind) })
    this.#simulation.generators.push(generator)
  }

  #next(generator: string): Order {
    const { world, checker } = this.#simulation
    const kind = this.#kinds.get(generator)
    const dice = world.random()
    if (kind === undefined || dice < 0.05) {
      const newest = this.#newestKinds.get(generator)
      const possible = newest === undefined ? this.#options.kinds : this.#options.successors(newest)
      return { do: 'create', generator, options: this.#optionsOf(world.pick(possible)) }
    }
    if (dice < 0.15) return { do: 'drop', generator }
    const above = checker.largest(generator) + BigInt(Math.floor(world.between(0, 60)))
    if (dice < 0.3 && kind === 'sequence') return { do: 'set', generator, newest: above }
    const isCounter = kind === 'sequence' || kind === 'segment'
    if (dice < 0.45 && isCounter) {
      const now = kind === 'segment' && world.chance(0.5)
      return { do: 'alter', generator, options: { floor: above + 1n, ...(now && { now }) } }
    }
    if (dice < 0.55 && isCounter) return { do: 'alter', generator, options: { step: world.pick(steps) } }
    if (dice < 0.7 && isCounter) return { do: 'alter', generator, options: world.pick(distances) }
    if (dice < 0.6) return { do: 'alter', generator, options: { layout: world.pick(this.#options.layouts) } }
    return { do: 'alter', generator, options: this.#optionsOf(world.pick(this.#options.successors(kind))) }
  }

  #optionsOf(kind: Kind): Options {
    const { world } = this.#simulation
    const { layouts } = this.#options
    if (kind === 'snowflake') return world.chance(0.5) ? { kind } : { kind, layout: world.pick(layouts) }
    const horizon = world.pick(['1s', '3s'])
    if (kind === 'timestamp') return { kind, horizon }
    const { periods } = this.#simulation.options
    return {
      kind,
      horizon,
      step: world.pick(steps),
      ...(periods && world.chance(periods.share) && periods.options),
    }
  }

  async #find(generator: string): Promise<void> {
    const { checker, witness } = this.#simulation
    const asked = checker.looks(generator)
    const { answer } = await this.#clients.send(this.#anywhere(), ({ program }) =>
      program.obey!({ do: 'info', generator }),
    )
    const isGone = 'code' in answer && answer.code === 'NOGENERATOR'
    if (!('kind' in answer) && !isGone) return
    const now = 'kind' in answer ? answer : { kind: undefined, incarnation: 0n }
    this.#know(generator, now.kind)
    if (witness.calmMs > settledMs) checker.found(generator, now, asked)
  }

  async #order(order: Order): Promise<void> {
    const { world, checker, witness } = this.#simulation
    const { generator } = order
    const kind = 'options' in order ? order.options.kind : undefined
    const strictly =
      order.do === 'set' ||
      (order.do === 'alter' && (kind === undefined || kind === 'sequence' || kind === 'timestamp'))
    const change = checker.change(generator, {
      strictly,
      keepsFloor: order.do === 'alter' && kind === undefined,
    })
    if (kind !== undefined && !this.#newestKinds.has(generator)) this.#newestKinds.set(generator, kind)
    world.note(() => `${generator}: an operator asks for ${textOf(order)}`)
    const { answer, by } = await this.#carriedOut(order)
    world.note(() => `${generator}: ${by} answers to ${order.do}: ${textOf(answer)}`)
    const calmly = witness.calmMs > newsLateMs + (world.nowUs - change.sentUs) / 1000
    if ('kind' in answer) {
      this.done++
      this.#know(generator, answer.kind)
      checker.changed(generator, change, by, answer, calmly)
      if (order.do === 'set' && answer.kind === 'sequence') checker.moved(generator, order.newest)
      if (order.do === 'alter' && order.options.floor !== undefined) {
        const { floor, now = false } = order.options
        checker.moved(generator, floor - 1n)
        if (now && calmly) checker.floored(generator, floor)
      }
      return
    }
    const isRefused = !('code' in answer) || refusals.has(answer.code)
    if ('code' in answer && answer.code === 'NOGENERATOR') this.#know(generator, undefined)
    checker.changed(generator, change, by, isRefused ? 'refused' : 'unclear', calmly)
  }

  async #carriedOut(order: Order): Promise<{ readonly answer: Done; readonly by: string }> {
    let address = this.#anywhere()
    for (let redirects = 0; ; redirects++) {
      const found = await this.#clients.send(address, ({ program }) => program.obey!(order), patienceUs)
      if (!('moved' in found.answer) || redirects === redirectsMax) return found
      address = found.answer.moved
    }
  }

  #know(generator: string, kind: Kind | undefined): void {
    this.#kinds.set(generator, kind)
    if (kind !== undefined) this.#newestKinds.set(generator, kind)
  }

  #anywhere(): string | undefined {
    const { world, processes } = this.#simulation
    return world.pick(processes)?.address
  }
}

function textOf(value: object): string {
  return JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? String(each) : each))
}
