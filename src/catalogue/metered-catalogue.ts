/** The catalogue as the user of one connection or request sees it: its ids are charged to namespaces. */
import type { Page } from '../engine/engine.ts'
import type { Catalogue, CurrentGenerator, Generator, GeneratorChanges, GeneratorInfo } from './catalogue.ts'
import type { Meters } from './metered-generator.ts'
import type { GeneratorInput } from './options.ts'

/** Every generator that it returns is metered for the user of the caller. */
export class MeteredCatalogue implements Catalogue {
  readonly #catalogue: Catalogue
  readonly #meters: Meters
  readonly #user: () => string

  /** @param user the user of the caller, which may change. */
  constructor(catalogue: Catalogue, meters: Meters, user: () => string) {
    this.#catalogue = catalogue
    this.#meters = meters
    this.#user = user
  }

  find(name: string): Generator | undefined {
    const generator = this.#catalogue.find(name)
    return generator && this.#metered(generator)
  }

  async open(name: string): Promise<Generator> {
    return this.#metered(await this.#catalogue.open(name))
  }

  exists(name: string): Promise<boolean> {
    return this.#catalogue.exists(name)
  }

  async create(name: string, options: GeneratorInput): Promise<Generator> {
    return this.#metered(await this.#catalogue.create(name, options))
  }

  async alter(name: string, changes: GeneratorChanges): Promise<Generator> {
    return this.#metered(await this.#catalogue.alter(name, changes))
  }

  drop(name: string): Promise<boolean> {
    return this.#catalogue.drop(name)
  }

  info(name: string): Promise<GeneratorInfo> {
    return this.#catalogue.info(name)
  }

  current(name: string): Promise<CurrentGenerator> {
    return this.#catalogue.current(name)
  }

  list(page?: Page): Promise<Awaited<ReturnType<Catalogue['list']>>> {
    return this.#catalogue.list(page)
  }

  *inUse(): Iterable<Generator> {
    for (const generator of this.#catalogue.inUse()) yield this.#metered(generator)
  }

  #metered(generator: Generator): Generator {
    return this.#meters.meter(generator, this.#user())
  }
}
