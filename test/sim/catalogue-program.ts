/**
 * The catalogue and the issuers that servers run, beside a cluster that the simulation has made. A catalogue that cannot
 * be opened is opened again beside the same cluster. Generators come into being when they are first asked for.
 */
import { hasCode } from '../../src/base/errors.ts'
import { Timeline } from '../../src/base/timeline.ts'
import { FastRuns } from '../../src/buffers/fast-runs.ts'
import type { CatalogueDeps } from '../../src/catalogue/deps.ts'
import { EngineCatalogue } from '../../src/catalogue/engine-catalogue.ts'
import type { Cluster } from '../../src/cluster/cluster.ts'
import type { Engine } from '../../src/engine/engine.ts'
import type { Kind } from '../../src/issuing/issuer.ts'
import { WorkerId } from '../../src/issuing/worker-id.ts'
import { answered, drawn } from './answers.ts'
import type { Machine } from './machine.ts'
import { type Answer, counterOf, family, type OnIssue, type Request } from './program.ts'
import type { World } from './world.ts'

/** What a program is made of. */
export type CatalogueProgramOptions = {
  readonly world: World
  readonly machine: Machine
  readonly cluster: Cluster
  readonly engine: Engine
  /** With which fence each counter was last reserved here. */
  readonly fences: Map<string, bigint>
  readonly kindOf: (generator: string) => Kind
  readonly onIssue: OnIssue
  /** Whether there is a family. */
  readonly hasFamily: boolean
}

export class CatalogueProgram {
  readonly cluster: Cluster
  readonly #catalogue: EngineCatalogue
  readonly #onIssue: OnIssue
  readonly #fences: ReadonlyMap<string, bigint>
  readonly #kindOf: (generator: string) => Kind

  private constructor(
    { cluster, fences, kindOf, onIssue }: CatalogueProgramOptions,
    catalogue: EngineCatalogue,
  ) {
    this.cluster = cluster
    this.#catalogue = catalogue
    this.#fences = fences
    this.#kindOf = kindOf
    this.#onIssue = onIssue
  }

  /** Opens it, however often the engine has to be asked. */
  static async open(options: CatalogueProgramOptions): Promise<CatalogueProgram> {
    const { world, machine, cluster, engine, fences, kindOf } = options
    const timeline = new Timeline(machine)
    const onEvent = () => {}
    const ids = { fixedId: undefined, leadUs: 1e6, owner: machine.name, holder: machine.name, onEvent }
    // Buffered ids were reserved with this fence, or are leftover ranges that it received.
    cluster.listen({
      onWon: ({ fence, leftovers }) => {
        for (const { name } of leftovers) fences.set(counterOf(name), fence)
      },
    })
    const parts: CatalogueDeps = {
      engine,
      clock: machine,
      random: world.random,
      timeline,
      worker: new WorkerId({ engine, timeline, ...ids }),
      runs: new FastRuns(),
      waitersMax: 1000,
      // Generators leave memory and come back all the time.
      idleAfterMs: world.pick([300, 2000, 600_000]),
      restAfterMs: world.pick([20, 200, 1000]),
      cluster,
      namespaces: { all: [] },
      autoCreate: [
        { pattern: 'g*', kind: kindOf('g') },
        { pattern: 's*', kind: kindOf('s') },
      ],
      // So few that names leave all the time.
      familyNamesMax: 3,
      nodeIndex: undefined,
      onEvent,
    }
    for (;;) {
      try {
        const catalogue = await EngineCatalogue.open(parts)
        if (options.hasFamily) await createFamily(catalogue)
        return new CatalogueProgram(options, catalogue)
      } catch (error) {
        if (!hasCode(error, 'UNAVAILABLE')) throw error
      }
    }
  }

  /** See `Program`. */
  ask(request: Request): Promise<Answer> {
    this.cluster.check()
    return answered(async () => {
      const { generator, runs } = await drawn(this.#catalogue, request)
      const { generator: name } = request
      const isLed = this.#kindOf(name) === 'sequence'
      const fence = this.#fences.get(counterOf(name)) ?? 0n
      this.#onIssue(name, runs, { kind: generator?.kind, ...(isLed && { fence }) })
      return { runs }
    })
  }
}

/** What a creation is tried again after. */
const retried = ['UNAVAILABLE', 'UNKNOWN', 'CONFLICT', 'STALE'] as const

/** Creates the family, however often that takes. Another machine may do the same. */
async function createFamily(catalogue: EngineCatalogue): Promise<void> {
  for (;;) {
    try {
      await catalogue.define(family, { kind: 'sequence', family: true })
      return
    } catch (error) {
      if (!retried.some((code) => hasCode(error, code))) throw error
    }
  }
}
