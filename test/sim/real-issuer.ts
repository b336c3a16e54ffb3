/**
 * The catalogue and the issuers that servers run, where `Issuer` is the least that would do. Generators are sequences
 * that come into being when they are first asked for.
 */
import { describe, FahaoError, hasCode } from '../../src/base/errors.ts'
import { Moved } from '../../src/base/moved.ts'
import { Timeline } from '../../src/base/timeline.ts'
import { EngineCatalogue } from '../../src/catalogue/engine-catalogue.ts'
import type { Cluster } from '../../src/cluster/cluster.ts'
import { slotOf } from '../../src/cluster/slots.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { Run } from '../../src/ids/run.ts'
import { Worker } from '../../src/issuing/worker.ts'
import type { Answer, OnIssue } from './issuer.ts'
import type { Machine } from './machine.ts'
import type { World } from './world.ts'

const run = new Run()

/** See the top of the file. */
export class RealIssuer {
  readonly #cluster: Cluster
  readonly #catalogue: EngineCatalogue
  readonly #onIssue: OnIssue

  private constructor(cluster: Cluster, catalogue: EngineCatalogue, onIssue: OnIssue) {
    this.#cluster = cluster
    this.#catalogue = catalogue
    this.#onIssue = onIssue
  }

  /** Opens it, however often the engine has to be asked. */
  static async open(
    world: World,
    machine: Machine,
    cluster: Cluster,
    engine: Engine,
    leaseTtlMs: number,
    onIssue: OnIssue,
  ): Promise<RealIssuer> {
    const timeline = new Timeline(machine)
    const onEvent = () => {}
    const ids = { fixedId: undefined, leadUs: 1e6, owner: machine.name, holder: machine.name, onEvent }
    const options = {
      engine,
      clock: machine,
      random: world.random,
      timeline,
      worker: new Worker({ engine, timeline, ...ids }),
      waitersMax: 1000,
      leads: { cluster, leaseTtlMs },
      autoCreate: [{ pattern: '*', kind: 'sequence' }] as const,
      nodeIndex: undefined,
      onEvent,
    }
    for (;;) {
      try {
        return new RealIssuer(cluster, await EngineCatalogue.open(options), onIssue)
      } catch (error) {
        if (!hasCode(error, 'UNAVAILABLE')) throw error
      }
    }
  }

  /** Answers a request, as a server does in the callback that brought it. */
  async ask(generator: string): Promise<Answer> {
    this.#cluster.check()
    if (this.#catalogue.find(generator)?.take(1, run) === 1) return this.#issued(generator, run.first)
    try {
      const [drawn] = await (await this.#catalogue.open(generator)).draw(1)
      return this.#issued(generator, drawn!.first)
    } catch (error) {
      if (error instanceof Moved) return { moved: error.details.resp! }
      if (error instanceof FahaoError) return { down: describe(error) }
      throw error
    }
  }

  /** Closes it; its cluster has been closed before. */
  close(): Promise<void> {
    return this.#catalogue.close()
  }

  #issued(generator: string, id: bigint): Answer {
    this.#onIssue(generator, id, this.#cluster.held(slotOf(generator))?.fence ?? 0n)
    return { id }
  }
}
