/**
 * The catalogue over an engine's records. Invariants:
 *  1. At most one issuer of a name is open in this process: the next opens when the one before has closed, or, where a
 *     leadership has ended, has been stopped; what it gives back may then still be on its way.
 *  2. A generator whose record has changed is closed here as soon as the watch tells, also while it is being
 *     opened, and the counter refuses its reserves from the moment on at which the new incarnation has sealed it.
 *  3. In a cluster, a strict generator is one of this node's only as long as it leads it: when that ends, a standby has
 *     taken its place before anything else runs.
 *  4. Memory grows with the generators in use, not with those defined.
 */
import { hasCode } from '../base/errors.ts'
import type { LeaderTerm } from '../cluster/leadership.ts'
import { boundMax, type Page, type RecordChange, type Watch } from '../engine/engine.ts'
import { isStrict } from '../issuing/issuer.ts'
import { Limiter } from '../issuing/limiter.ts'
import { type AutoCreate, autoCreate } from './auto-create.ts'
import type { Catalogue, Changes, Generator, GeneratorInfo } from './catalogue.ts'
import type { Definition } from './definition.ts'
import { floorOf, refuseFloor } from './floor.ts'
import type { RowChange, RowsDeps } from './foreign-rows.ts'
import { altered, GeneratorRecords, noGenerator, stopping } from './generator-records.ts'
import { describeGenerator, unlessAway } from './info.ts'
import { LedGenerators } from './led-generators.ts'
import { checkName } from './names.ts'
import { NegativeCache } from './negative-cache.ts'
import { OpenGenerator, type OpenGeneratorDeps } from './open-generator.ts'
import { counterOfLed, openInTurn, openIssuer, type SeenCounter } from './open-issuer.ts'
import { type GeneratorInput, parseOptions } from './options.ts'
import { mayIssueStrict } from './ownership.ts'
import { type IssuerDeps, Plans } from './plans.ts'
import {
  generatorPrefix,
  incarnationOf,
  isGenerators,
  type ReadGenerator,
  type StoredGenerator,
} from './stored.ts'

/** What a catalogue is made of. */
export type CatalogueOptions = IssuerDeps & RowsDeps & { readonly autoCreate: readonly AutoCreate[] }

/** What stands for the version of a generator that is a row: below that of every record which may take its place. */
const rowVersion = 0n

/** Generators by name, opened on demand. */
export class EngineCatalogue implements Catalogue {
  readonly #options: CatalogueOptions
  readonly #records: GeneratorRecords
  readonly #plans: Plans
  readonly #openings = new Limiter()
  readonly #shared: OpenGeneratorDeps
  readonly #open = new Map<string, OpenGenerator>()
  /** Names being opened or closed. */
  readonly #pending = new Map<string, Promise<unknown>>()
  readonly #absent: NegativeCache
  /** The newest versions that the watch has told of names that are being opened. */
  readonly #told = new Map<string, bigint>()
  readonly #watches: Watch[] = []
  readonly #leading: LedGenerators | undefined
  #closed = false

  private constructor(options: CatalogueOptions, shared: boolean) {
    this.#options = options
    this.#absent = new NegativeCache(options.clock, shared)
    this.#records = new GeneratorRecords(options)
    this.#plans = new Plans({ ...options, onStale: (name) => this.#sealedOut(name) })
    this.#leading =
      options.leads && new LedGenerators(options.leads, options.clock, (name, here) => this.#goOn(name, here))
    this.#shared = {
      leads: options.leads,
      timeline: options.timeline,
      node: options.nodeIndex?.value,
      reopen: (stale) => this.#reopen(stale),
    }
  }

  /** Opens the catalogue and starts to watch. */
  static async open(options: CatalogueOptions): Promise<EngineCatalogue> {
    const { engine } = options
    const { state } = await engine.ownership()
    const catalogue = new EngineCatalogue(options, state === 'shared')
    try {
      catalogue.#watches.push(await engine.watch(generatorPrefix, (change) => catalogue.#changed(change)))
      if (options.rows !== undefined)
        catalogue.#watches.push(await options.rows.watch((change) => catalogue.#rowChanged(change)))
      return catalogue
    } catch (error) {
      // It listens to the cluster already: the next one to be opened would go on with the same leftover ranges.
      await catalogue.close()
      throw error
    }
  }

  find(name: string): Generator | undefined {
    return this.#open.get(name)
  }

  open(name: string): Promise<Generator> {
    return this.#openNamed(name)
  }

  /** @param mayCreate whether somebody has asked for it, who may have it created. */
  async #openNamed(name: string, mayCreate = true): Promise<OpenGenerator> {
    for (;;) {
      const open = this.#open.get(name)
      if (open !== undefined) return open
      if (this.#closed) throw stopping()
      const pending = this.#pending.get(name)
      if (pending === undefined)
        await this.#exclusively(name, () =>
          openInTurn(this.#openings, this.#options.clock, () => this.#lookUp(name, mayCreate)),
        )
      else await pending.catch(() => {})
      mayIssueStrict(this.#options)
    }
  }

  async exists(name: string): Promise<boolean> {
    return this.#open.has(name) || (await this.#records.live(name)) !== undefined
  }

  async create(name: string, input: GeneratorInput): Promise<Generator> {
    await this.define(name, input)
    return this.open(name)
  }

  /** Creates it without opening it: what a config file does, also where another process serves it. */
  async define(name: string, input: GeneratorInput): Promise<void> {
    const options = parseOptions(input)
    // One at a time with look-ups, so that none of them finds nothing and remembers it after this.
    const { record } = await this.#exclusively(name, () => this.#records.create(name, options))
    this.#absent.delete(name)
    const open = this.#open.get(name)
    // What is served as an earlier life, or as a row, is served as the record says from here on, before the watch tells.
    if (open !== undefined && record !== undefined && open.version < record.version)
      await this.#close(name, altered(name), open)
  }

  async alter(name: string, changes: Changes): Promise<Generator> {
    const { floor, force = false, ...changed } = changes
    const wanted = floor === undefined ? undefined : floorOf(floor)
    const { stored } = await this.#records.alter(name, changed)
    this.#absent.delete(name)
    if (wanted !== undefined) refuseFloor(name, stored, wanted)
    // A range in hand is given back only while its version is the newest: before the bound is raised.
    await this.#close(name, altered(name))
    if (wanted !== undefined) await this.#raiseFloor(name, stored, wanted, force)
    return this.open(name)
  }

  async drop(name: string): Promise<boolean> {
    try {
      await this.#records.drop(name)
    } catch (error) {
      if (hasCode(error, 'NOGENERATOR')) return false
      throw error
    }
    await this.#close(name, noGenerator(name))
    return true
  }

  async info(name: string): Promise<GeneratorInfo> {
    const open = this.#open.get(name)
    const live = async () =>
      (await this.#records.live(name))?.stored ?? Promise.reject<never>(noGenerator(name))
    const stored = (await unlessAway(live(), open)) ?? open!
    return describeGenerator(this.#options, name, stored, open)
  }

  list({ after, limit = 1000 }: Page = {}): Promise<{ name: string; definition: Definition }[]> {
    return this.#records.list(after, limit)
  }

  inUse(): Iterable<Generator> {
    return this.#open.values()
  }

  /** Opens every generator anew when it is next asked for: the engine's records may not be what they were. */
  async reopenAll(): Promise<void> {
    for (const open of this.#open.values()) void open.close(altered(open.name))
    await Promise.all([...this.#open.keys()].map((name) => this.#close(name, altered(name))))
  }

  /** Stops, before it returns, what is issued here because this process owned the store. */
  disown(): void {
    for (const [name, open] of this.#open) {
      if (open.mode !== 'local') continue
      void open.close(altered(name))
      void this.#close(name, altered(name), open)
    }
  }

  /** Stops and releases every generator. */
  async close(): Promise<void> {
    this.#closed = true
    for (const watch of this.#watches) watch.close()
    await Promise.allSettled(this.#pending.values())
    await Promise.all([...this.#open.keys()].map((name) => this.#close(name, stopping())))
    await this.#leading?.close()
  }

  async #exclusively<Result>(name: string, task: () => Promise<Result>): Promise<Result> {
    while (this.#pending.has(name)) await this.#pending.get(name)!.catch(() => {})
    const running = task()
    this.#pending.set(name, running)
    try {
      return await running
    } finally {
      this.#pending.delete(name)
      this.#told.delete(name)
    }
  }

  async #lookUp(name: string, mayCreate: boolean): Promise<OpenGenerator> {
    if (this.#closed) throw stopping()
    if (this.#absent.has(name)) throw noGenerator(name)
    checkName(name)
    const seen = counterOfLed(this.#options, name)
    const rules = mayCreate ? this.#options.autoCreate : []
    const found = (await this.#records.live(name)) ?? (await autoCreate(this.#records, rules, name))
    if (found === undefined) {
      if (mayCreate) this.#absent.add(name)
      throw noGenerator(name)
    }
    return this.#openFound(name, found, mayCreate, await seen)
  }

  async #openFound(
    name: string,
    found: ReadGenerator,
    mayCreate: boolean,
    seen?: SeenCounter,
  ): Promise<OpenGenerator> {
    const { record, stored } = found
    const plan = this.#plans.of(stored.definition)
    const life = incarnationOf(name, found)
    const version = record?.version ?? rowVersion
    const takeTail = (here: LeaderTerm) => this.#leading!.takeTail(name, version, here)
    const opened = await openIssuer(this.#options, plan, life, stored.key, { seen, takeTail })
    if ((this.#told.get(name) ?? 0n) > version) {
      this.#told.delete(name)
      if (opened.under !== undefined) this.#leading!.discard(opened.under.reservoir)
      return this.#lookUp(name, mayCreate)
    }
    const generator = new OpenGenerator(life, version, plan, opened, this.#shared)
    if (this.#closed) {
      await generator.close(stopping())
      throw stopping()
    }
    if (!this.#isStillLed(generator)) return this.#openFound(name, found, mayCreate)
    this.#open.set(name, generator)
    return generator
  }

  /** False when a generator was opened under a leadership, or an ownership of the store, that is over already. */
  #isStillLed(generator: OpenGenerator): boolean {
    const { name, version, under } = generator
    if (generator.mode === 'local' && !mayIssueStrict(this.#options)) {
      void generator.close(altered(name))
      return false
    }
    if (under === undefined) return true
    const { leads } = this.#options
    const demote = () => {
      if (this.#open.get(name) === generator) this.#open.set(name, generator.demoted(leads!))
    }
    return this.#leading!.add(under.slot, under.here, under.reservoir, { name, version, demote })
  }

  /**
   * Goes on with what the leader before has left: in this very turn where a standby knows what the generator is, which
   * it is told as a leader is, by the watch.
   */
  #goOn(name: string, here: LeaderTerm): void {
    const standby = this.#closed || this.#pending.has(name) ? undefined : this.#open.get(name)
    if (standby !== undefined && this.#leading!.hasTail(name, standby.version, here)) {
      const generator = standby.promoted(here, this.#leading!.takeTail(name, standby.version, here)!)
      if (this.#isStillLed(generator)) this.#open.set(name, generator)
    } else this.#openNamed(name, false).catch(() => {})
  }

  /** A newer incarnation or leader has been there: what is in hand here is not for use any more. */
  #sealedOut(name: string): void {
    const open = this.#open.get(name)
    if (open?.under !== undefined) void this.#close(name, altered(name), open)
  }

  /** The generator after `stale`, whose record may have changed without the watch having told yet. */
  async #reopen(stale: OpenGenerator): Promise<OpenGenerator> {
    if (this.#open.get(stale.name) === stale) await this.#close(stale.name, altered(stale.name), stale)
    return this.#openNamed(stale.name)
  }

  async #raiseFloor(name: string, stored: StoredGenerator, floor: bigint, force: boolean): Promise<void> {
    if (isStrict(stored.definition.kind)) return (await this.open(name)).moveTo(floor - 1n, { force })
    await this.#records.raise(name, stored, floor, force)
    // Somebody may have opened it, and reserved below the floor, in the meantime.
    await this.#close(name, altered(name))
  }

  /** Closes what is open under the name, or `only` if that is. */
  async #close(name: string, reason: Error, only?: OpenGenerator): Promise<void> {
    await this.#exclusively(name, async () => {
      const open = this.#open.get(name)
      if (open === undefined || (only !== undefined && open !== only)) return
      this.#open.delete(name)
      if (open.under !== undefined) this.#leading!.remove(open.under.here, open.under.reservoir)
      await open.close(reason)
    })
  }

  #changed({ key, record }: RecordChange): void {
    const name = key.slice(generatorPrefix.length)
    this.#absent.delete(name)
    const version = record?.version ?? boundMax
    if (this.#pending.has(name)) this.#told.set(name, version)
    const open = this.#open.get(name)
    if (open === undefined || version <= open.version) return
    const reason = isGenerators(record) ? altered(name) : noGenerator(name)
    // At once, whatever is under way for this name: another node may acknowledge strict order in a moment.
    void open.close(reason)
    void this.#closeVersion(name, reason, open)
  }

  /** Closes a generator, and what may take its place meanwhile without having been looked up anew. */
  async #closeVersion(name: string, reason: Error, open: OpenGenerator): Promise<void> {
    for (
      let each: OpenGenerator | undefined = open;
      each?.version === open.version;
      each = this.#open.get(name)
    )
      await this.#close(name, reason, each)
  }

  /** A row's versions say nothing beside those of records: what is being opened is looked up once more. */
  #rowChanged({ name, exists, definition }: RowChange): void {
    this.#absent.delete(name)
    if (this.#pending.has(name)) this.#told.set(name, boundMax)
    const open = this.#open.get(name)
    if (open?.version !== rowVersion) return
    // Ranges of rows cannot be given back: what is in hand stays there wherever it can.
    const next = definition()
    const resized = next && open.resized(next, this.#plans)
    if (resized !== undefined) this.#open.set(name, resized)
    else void this.#close(name, exists ? altered(name) : noGenerator(name), open)
  }
}
