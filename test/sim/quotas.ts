/** An operator of a simulation who sets the limits of namespaces, changes them and takes them away. */
import assert from 'node:assert/strict'
import type { Simulation } from './simulation.ts'

const names = ['few', 'many'] as const
const tries = 20
const pauseMs = 500
/** Within this time every node has heard of it. */
const newsMs = 2000

export class QuotaOperator {
  readonly #simulation: Simulation

  constructor(simulation: Simulation) {
    this.#simulation = simulation
  }

  /** Sets and drops until the simulation is over. */
  begin(): void {
    void this.#goOn()
  }

  /** Takes all limits away. */
  async end(): Promise<void> {
    const { world } = this.#simulation
    for (const name of names) {
      for (let tried = 0; ; tried++) {
        const said = await this.#command('ID.NAMESPACE', 'DROP', name)
        if (said === undefined) break
        if (tried === tries) assert.fail(`the namespace '${name}' cannot be dropped: ${said}`)
        await world.pass(pauseMs)
      }
    }
    await world.pass(newsMs)
  }

  async #goOn(): Promise<void> {
    const { world } = this.#simulation
    while (!this.#simulation.isOver) {
      await world.pass(world.between(200, 5000))
      const name = world.pick(names)
      if (world.chance(0.5)) await this.#command('ID.NAMESPACE', 'DROP', name)
      else await this.#command('ID.NAMESPACE', 'SET', name, ...this.#limits())
    }
  }

  #limits(): string[] {
    const { world, generators } = this.#simulation
    const match = world.chance(0.3) ? '*' : (world.pick(generators) ?? '*')
    const rate = world.pick(['20', '1000', '1000000'])
    const limits = world.pick([
      ['RATE', rate],
      ['RATE', rate],
      ['DAILY', '1000000000'],
      ['RATE', rate, 'LEASES', world.pick(['0', '1', '100'])],
      ['LEASES', world.pick(['0', '1', '3'])],
    ])
    return ['MATCH', match, ...limits]
  }

  /** Resolves to what was said instead of OK. */
  async #command(...words: string[]): Promise<string | undefined> {
    const { world, processes } = this.#simulation
    const process = world.pick(processes)
    if (process === undefined) return 'no process'
    const { machine, program } = process
    world.note(() => `an operator asks ${machine.name} for ${words.join(' ')}`)
    const said = new Promise<string | undefined>((resolve) =>
      machine.reach(() =>
        program.command!(words).then(
          () => resolve(undefined),
          (error) => resolve(String(error)),
        ),
      ),
    )
    return Promise.race([said, world.pass(5000).then(() => 'nothing')])
  }
}
