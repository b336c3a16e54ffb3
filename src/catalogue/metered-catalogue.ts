/** The catalogue as the user of one connection or request sees it: its ids are charged to namespaces. */
import type { Parts } from '../base/turns.ts'
import type { FastRuns } from '../buffers/fast-runs.ts'
import type { RefillTimes } from '../issuing/refills.ts'
import type {
  Catalogue,
  CurrentGenerator,
  Generator,
  GeneratorChanges,
  GeneratorInfo,
  GeneratorInUse,
  ListPart,
  PartOfList,
  Sample,
} from './catalogue.ts'
import type { EndedFigures } from './ended-figures.ts'
import type { GeneratorInput } from './generator-options.ts'
import type { IssuedBelow } from './issued-below.ts'
import type { Meters } from './metered-generator.ts'

/** Every generator that its promises and `find` return is metered for the user of the caller. */
export class MeteredCatalogue implements Catalogue {
  readonly runs: FastRuns
  readonly #catalogue: Catalogue
  readonly #meters: Meters
  readonly #user: () => string

  /** @param user the user of the caller, which may change. */
  constructor(catalogue: Catalogue, meters: Meters, user: () => string) {
    this.runs = catalogue.runs
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

  whenOpen<Result>(name: string, use: (generator: Generator) => Result | Promise<Result>): Promise<Result> {
    return this.#catalogue.whenOpen(name, (generator) => use(this.#metered(generator)))
  }

  exists(name: string): Promise<boolean> {
    return this.#catalogue.exists(name)
  }

  async create(name: string, options: GeneratorInput): Promise<Generator> {
    return this.#metered(await this.#catalogue.create(name, options))
  }

  createUnopened(name: string, options: GeneratorInput, onlyNew?: boolean): Promise<boolean> {
    return this.#catalogue.createUnopened(name, options, onlyNew)
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

  issuedBelow(name: string): Promise<IssuedBelow> {
    return this.#catalogue.issuedBelow(name)
  }

  page(part: PartOfList): Promise<ListPart> {
    return this.#catalogue.page(part)
  }

  /** To be counted and shown: none of them is metered, since to find the namespaces of each would take long. */
  inUse(): Iterable<GeneratorInUse> {
    return this.#catalogue.inUse()
  }

  shown(name: string): GeneratorInUse | undefined {
    return this.#catalogue.shown(name)
  }

  survey(see: (sample: Sample) => void): Parts<EndedFigures> {
    return this.#catalogue.survey(see)
  }

  get ended(): EndedFigures {
    return this.#catalogue.ended
  }

  get refillTimes(): RefillTimes {
    return this.#catalogue.refillTimes
  }

  #metered(generator: Generator): Generator {
    return this.#meters.meter(generator, this.#user())
  }
}
