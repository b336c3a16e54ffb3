/**
 * The catalogue over an engine's records: creates, alters, drops, describes and lists generators. A change on this node
 * closes the open generator, and the next request opens it with the new definition. See generators-in-use.ts.
 */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Parts } from '../base/turns.ts'
import type { FastRuns } from '../buffers/fast-runs.ts'
import { slotOf } from '../cluster/slots.ts'
import { isStrict } from '../issuing/issuer.ts'
import { RefillTimes } from '../issuing/refills.ts'
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
import type { Definition } from './definition.ts'
import { formatNotes } from './definition-formats.ts'
import type { CatalogueDeps } from './deps.ts'
import type { EndedFigures } from './ended-figures.ts'
import { FamilyIndex, patternOf } from './families/family-index.ts'
import { FamilyRecords, sectionCounter } from './families/family-records.ts'
import { floorOf, refuseFloor, refuseNow } from './floor.ts'
import { GeneratorLimits } from './generator-limits.ts'
import { type GeneratorInput, parseOptions } from './generator-options.ts'
import { altered, GeneratorRecords, noGenerator } from './generator-records.ts'
import { GeneratorsInUse } from './generators-in-use.ts'
import { IdleGenerators } from './idle-generators.ts'
import { describeGenerator, unlessUnavailable } from './info.ts'
import { type IssuedBelow, issuedBelow } from './issued-below.ts'
import { formatOf } from './issuing-plans.ts'
import type { NameTable } from './name-table.ts'
import type { OpenGenerator } from './open-generator.ts'
import { formatFor } from './series.ts'
import { firstOf, formKey, type StoredGenerator } from './stored-generator.ts'
import { surveyOf } from './survey.ts'

/** Generators by name, opened on demand. */
export class EngineCatalogue implements Catalogue {
  readonly runs: FastRuns
  readonly refillTimes: RefillTimes
  readonly #deps: CatalogueDeps
  readonly #records: GeneratorRecords
  readonly #limits: GeneratorLimits
  readonly #index: FamilyIndex
  readonly #inUse: GeneratorsInUse
  readonly #idle: IdleGenerators | undefined

  private constructor(
    deps: CatalogueDeps & { readonly refillTimes: RefillTimes },
    records: GeneratorRecords,
    limits: GeneratorLimits,
    index: FamilyIndex,
    inUse: GeneratorsInUse,
  ) {
    this.runs = deps.runs
    this.refillTimes = deps.refillTimes
    this.#deps = deps
    this.#records = records
    this.#limits = limits
    this.#index = index
    this.#inUse = inUse
    this.#idle = IdleGenerators.start(deps, inUse)
  }

  /** Opens the catalogue, which watches the engine's records from then on. */
  static async open(given: CatalogueDeps): Promise<EngineCatalogue> {
    const deps = { ...given, refillTimes: given.refillTimes ?? new RefillTimes() }
    const index = await FamilyIndex.open(deps.engine)
    const families = new FamilyRecords(deps, index)
    const records = new GeneratorRecords(deps, families)
    const limits = new GeneratorLimits(deps.namespaces, records, deps)
    try {
      const inUse = await GeneratorsInUse.start(deps, records, limits, families)
      return new EngineCatalogue(deps, records, limits, index, inUse)
    } catch (error) {
      index.close()
      throw error
    }
  }

  /** The generators that are open here. */
  get names(): NameTable<OpenGenerator> {
    return this.#inUse.names
  }

  find(name: string): Generator | undefined {
    return this.#inUse.find(name)
  }

  /** Throws where an invariant of what is open here is broken. For tests. */
  assertInvariants(): void {
    this.#inUse.assertInvariants()
  }

  open(name: string): Promise<Generator> {
    return this.#inUse.whenOpen(name, (generator) => generator)
  }

  whenOpen<Result>(name: string, use: (generator: Generator) => Result | Promise<Result>): Promise<Result> {
    return this.#inUse.whenOpen(name, use)
  }

  async exists(name: string): Promise<boolean> {
    if (this.#inUse.find(name) !== undefined || this.#familyOf(name) !== undefined) return true
    return (await this.#records.live(name)) !== undefined
  }

  async create(name: string, input: GeneratorInput): Promise<Generator> {
    await this.createUnopened(name, input)
    return this.open(name)
  }

  async createUnopened(name: string, input: GeneratorInput, onlyNew = false): Promise<boolean> {
    const create = () => this.define(name, input, onlyNew)
    const mayBeThere = () =>
      this.#deps.rows !== undefined ||
      this.#inUse.find(name) !== undefined ||
      this.#familyOf(name) !== undefined
    if (!this.#limits.apply(name) && !(onlyNew && mayBeThere())) return create()
    if (!(await this.exists(name))) return this.#limits.admit(name, create)
    return onlyNew ? false : create()
  }

  /**
   * As `createUnopened`, as a config file creates it, even if another process serves it. No namespace limits that.
   */
  async define(name: string, input: GeneratorInput, onlyNew = false): Promise<boolean> {
    const options = parseOptions(input)
    // Not while a look-up of this name runs: it could find nothing before the record is written, and note the name as
    // absent afterwards.
    const { record, isNew, stored } = await this.#inUse.tasks.run(name, () =>
      this.#records.create(name, options, onlyNew),
    )
    if (isNew) this.#warnOfFormat(name, stored.definition)
    this.#inUse.absent.remove(name)
    const open = this.#inUse.find(name)
    // An earlier incarnation, or a row, that is open here ends now, and not when the watch reports the record.
    if (open !== undefined && record !== undefined && open.version < record.version)
      await this.#inUse.close(name, altered(name), open)
    return isNew
  }

  async alter(name: string, changes: GeneratorChanges): Promise<Generator> {
    const { floor, force = false, now = false, ...changed } = changes
    this.#refuseName(name, 'alter')
    const wanted = floor === undefined ? undefined : floorOf(floor)
    refuseNow({ floor: wanted, now })
    const { stored, isNext } = await this.#records.alter(name, changed, { floor: wanted, force, now })
    this.#inUse.absent.remove(name)
    if (changed.format !== undefined) this.#warnOfFormat(name, stored.definition)
    if (wanted !== undefined) refuseFloor(name, stored, wanted)
    // Before the bound is raised: a buffered range can be released only while its version is the newest.
    await this.#inUse.close(name, altered(name))
    // The next incarnation starts there, unless a node of an older version has completed the change.
    const isThere =
      (isNext || stored.definition.family) &&
      wanted !== undefined &&
      firstOf(stored.floor, stored.definition) >= wanted
    if (wanted !== undefined && !isThere) await this.#raiseFloor(name, stored, wanted, force)
    return this.open(name)
  }

  async drop(name: string): Promise<boolean> {
    this.#refuseName(name, 'drop')
    try {
      await this.#records.drop(name)
    } catch (error) {
      if (hasCode(error, 'NOGENERATOR')) return false
      throw error
    }
    this.#limits.dropped(name)
    await this.#inUse.close(name, noGenerator(name, this.#deps.rows))
    return true
  }

  async info(name: string): Promise<GeneratorInfo> {
    const open = this.#inUse.find(name)
    const live = async () =>
      (await this.#records.live(name))?.stored ?? Promise.reject<never>(noGenerator(name, this.#deps.rows))
    const pattern = this.#familyOf(name)
    if (pattern !== undefined && pattern !== name) {
      const counter = sectionCounter(pattern, slotOf(name))
      const family = await unlessUnavailable(this.#records.live(pattern), open)
      const { incarnation, floor, definition } = family?.stored ?? open!
      return describeGenerator(this.#deps, name, { incarnation, floor, definition, counter }, open)
    }
    const stored = (await unlessUnavailable(live(), open)) ?? open!
    return describeGenerator(this.#deps, name, stored, open)
  }

  async current(name: string): Promise<CurrentGenerator> {
    const { stored } =
      (await this.#records.live(this.#familyOf(name) ?? name)) ??
      (await Promise.reject<never>(noGenerator(name, this.#deps.rows)))
    const { definition, incarnation, floor } = stored
    return { definition, incarnation, floor, formKey: formKey(stored) }
  }

  async issuedBelow(name: string): Promise<IssuedBelow> {
    const pattern = this.#familyOf(name) ?? name
    const { record, stored } =
      (await this.#records.live(pattern)) ?? (await Promise.reject<never>(noGenerator(name, this.#deps.rows)))
    const { engine, nodeIndex, timeline } = this.#deps
    const key = formKey(stored)
    const plain = formatOf(stored.definition, nodeIndex)
    const format = formatFor(plain, { name, definition: stored.definition, formKey: key })
    const counter = pattern === name ? stored.counter : sectionCounter(pattern, slotOf(name))
    // What old nodes have made of a row is not known.
    const incarnation = record === undefined ? 0n : stored.incarnation
    return issuedBelow(engine, name, { ...stored, counter, incarnation }, format, timeline.nowUs())
  }

  page(part: PartOfList): Promise<ListPart> {
    return this.#records.page(part)
  }

  *inUse(): Iterable<GeneratorInUse> {
    const { names, resting } = this.#inUse
    for (const entry of names.entries()) {
      const generator = names.awakeAt(entry) ?? resting.shown(entry)
      if (generator !== undefined) yield generator
    }
  }

  shown(name: string): GeneratorInUse | undefined {
    const { names, resting } = this.#inUse
    const entry = names.entryNamed(name)
    return entry === 0 ? undefined : (resting.shown(entry) ?? names.at(entry))
  }

  survey(see: (sample: Sample) => void): Parts<EndedFigures> {
    return surveyOf(this.#inUse, see, () => this.#deps.timeline.nowUs())
  }

  get ended(): EndedFigures {
    return this.#inUse.ended.figures
  }

  /** Has every generator looked up again when it is next asked for: the engine may have lost records. */
  async reopenAll(): Promise<void> {
    await Promise.all([this.#inUse.reopenAll(), this.#index.reload()])
  }

  /** Stops, before it returns, every generator, and drops what it holds: a copy of this memory may hold it too. */
  abandonAll(): void {
    this.#inUse.abandonAll()
  }

  /** Stops, before it returns, all generators that are issued here because this process owned the store. */
  disown(): void {
    this.#inUse.disown()
  }

  /** Stops and releases every generator. */
  close(): Promise<void> {
    this.#index.close()
    this.#idle?.stop()
    return this.#inUse.closeAll()
  }

  /** The active family that a name belongs to, or the name is of. */
  #familyOf(name: string): string | undefined {
    const entry = this.#index.claiming(name)
    return entry?.state === 'active' ? patternOf(entry) : undefined
  }

  /** Refuses to change one name of a family. */
  #refuseName(name: string, verb: string): void {
    const pattern = this.#familyOf(name)
    if (pattern === undefined || pattern === name) return
    throw new FahaoError(
      'ERR',
      `'${name}' is a name of family '${pattern}', of which nothing is stored; to go forward use SET, or ${verb} the family with ${verb === 'drop' ? 'ID.DROP' : 'ID.ALTER'} ${pattern}`,
    )
  }

  #warnOfFormat(name: string, definition: Definition): void {
    for (const note of formatNotes(definition))
      this.#deps.onEvent({ level: 'warn', message: `generator '${name}': ${note}` })
  }

  async #raiseFloor(name: string, stored: StoredGenerator, floor: bigint, force: boolean): Promise<void> {
    const { kind, period } = stored.definition
    if (isStrict(kind) || period !== undefined) return (await this.open(name)).moveTo(floor - 1n, { force })
    await this.#records.raise(name, stored, floor, force)
    // The generator may have been opened meanwhile, and have reserved below the floor.
    await this.#inUse.close(name, altered(name))
  }
}
