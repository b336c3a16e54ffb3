/**
 * The catalogue and the issuers that servers run, where `Issuer` is the least that would do. Generators are sequences
 * that come into being when they are first asked for.
 */
import { describe, FahaoError, hasCode } from '../../src/base/errors.ts'
import { Moved } from '../../src/base/moved.ts'
import { Timeline } from '../../src/base/timeline.ts'
import { EngineCatalogue } from '../../src/catalogue/engine-catalogue.ts'
import type { Cluster } from '../../src/cluster/cluster.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { Run } from '../../src/ids/run.ts'
import { Worker } from '../../src/issuing/worker.ts'
import { type Answer, counterOf, type OnIssue } from './issuer.ts'
import type { Machine } from './machine.ts'
import type { World } from './world.ts'

const run = new Run()

/** See the top of the file. */
export class RealIssuer {
  readonly #cluster: Cluster
  readonly #catalogue: EngineCatalogue
  readonly #onIssue: OnIssue

  readonly #fences: ReadonlyMap<string, bigint>

  private constructor(
    cluster: Cluster,
    catalogue: EngineCatalogue,
    fences: ReadonlyMap<string, bigint>,
    onIssue: OnIssue,
  ) {
    this.#cluster = cluster
    this.#catalogue = catalogue
    this.#fences = fences
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
    const fences = new Map<string, bigint>()
    cluster.listen({
      onWon: ({ fence, tails }) => {
        for (const { name } of tails) fences.set(counterOf(name), fence)
      },
    })
    const options = {
      engine: noting(engine, fences),
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
        return new RealIssuer(cluster, await EngineCatalogue.open(options), fences, onIssue)
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
    this.#onIssue(generator, id, this.#fences.get(counterOf(generator)) ?? 0n)
    return { id }
  }
}

/** Notes with which fence each counter was last reserved here: what is in hand was, or else it was left to that one. */
function noting(engine: Engine, fences: Map<string, bigint>): Engine {
  const reserve: Engine['reserve'] = async (counter, request) => {
    const reservation = await engine.reserve(counter, request)
    fences.set(counter, request.fence ?? 0n)
    return reservation
  }
  return new Proxy(engine, {
    get(target, property) {
      const value: unknown = property === 'reserve' ? reserve : Reflect.get(target, property)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
