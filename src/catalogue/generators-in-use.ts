/**
 * The generators that are open in this process.
 *
 * When a generator's options have changed, here or on another node, its open generator is closed, and the next request
 * opens it with the new definition: engine-catalogue.ts closes it after a change on this node, and `#recordChanged` after
 * the watch has reported a change. `#rowChanged` does the same for a row of an old service's table. Calls that wait meanwhile
 * follow (`OpenGenerator`).
 *
 * Invariants
 *  1. At most one issuer of a name can issue in this process: the next opens when the one before has closed or, if a
 *     leadership has ended, its gate has (issuing/gate.ts); its releases may then still be under way.
 *  2. A generator whose record has changed is closed here as soon as the watch reports the change, also while it is being
 *     opened, and the counter refuses its reserves from the moment at which the new incarnation has sealed the counter.
 *  3. A generator whose right has ended is not found any more: a standby has its place if it was a leadership, and otherwise
 *     it is looked up again.
 *  4. Memory grows with the generators in use, not with those defined.
 *  5. When `abandonAll` returns, nothing that was reserved before is issued any more, also by generators that were being
 *     opened.
 */
import type { LeaderTerm } from '../cluster/events.ts'
import { slotOf } from '../cluster/slots.ts'
import { boundMax, type RecordChange, type StoreOwnership, type Watch } from '../engine/engine.ts'
import { Limiter } from '../issuing/engine-permits.ts'
import { IssuingGates } from '../issuing/issuing-gates.ts'
import { closeInParts, closeInTime, gapText } from './closings.ts'
import { ColdNames } from './cold-names.ts'
import type { CatalogueDeps } from './deps.ts'
import { EndedGenerators } from './ended-figures.ts'
import { FamiliesInUse } from './families/families-in-use.ts'
import type { FamilyRecords } from './families/family-records.ts'
import type { RowChange } from './foreign-rows.ts'
import type { GeneratorLimits } from './generator-limits.ts'
import { altered, type GeneratorRecords, noGenerator, stopping } from './generator-records.ts'
import { IssuingPlans } from './issuing-plans.ts'
import { issuingRight, ownsForSure, rightEnded } from './issuing-right.ts'
import { LedGenerators } from './leadership/led-generators.ts'
import { NameOpening, type OpenedName, type Opening } from './name-opening.ts'
import { checkName } from './name-rules.ts'
import { NameTable } from './name-table.ts'
import { NameTasks } from './name-tasks.ts'
import { NegativeCache } from './negative-cache.ts'
import { OpenGenerator, type OpenGeneratorDeps } from './open-generator.ts'
import { ledIssuerOf, openInTurn } from './open-issuer.ts'
import { RestingGenerators } from './resting-generators.ts'
import { formKey, generatorPrefix, holdsGenerator, rowVersion, watchGenerators } from './stored-generator.ts'
import { WaitingCallers } from './waiting-callers.ts'

/** Opens and closes generators. */
export class GeneratorsInUse {
  readonly #deps: CatalogueDeps
  readonly #mayIssueStrict: () => boolean
  /** A name that is created or altered here leaves it. */
  readonly absent: NegativeCache
  readonly #plans: IssuingPlans
  readonly #opening: NameOpening
  readonly #openings = new Limiter()
  readonly #cold: ColdNames
  readonly #openDeps: OpenGeneratorDeps
  /** All open generators, names of families among them, and those whose right has ended until they are replaced. */
  readonly names: NameTable<OpenGenerator>
  /** What runs for names. */
  readonly tasks = new NameTasks()
  readonly #waiting = new WaitingCallers()
  readonly #watches: Watch[] = []
  readonly #gates: IssuingGates
  readonly #led: LedGenerators | undefined
  readonly #families: FamiliesInUse
  readonly ended = new EndedGenerators()
  readonly resting: RestingGenerators
  #closed = false

  private constructor(
    deps: CatalogueDeps,
    records: GeneratorRecords,
    limits: GeneratorLimits,
    families: FamilyRecords,
    { state }: StoreOwnership,
  ) {
    const { cluster } = deps
    this.names = new NameTable(deps.runs)
    this.#deps = deps
    this.#mayIssueStrict = issuingRight(deps)
    this.absent = new NegativeCache(deps.clock, state === 'shared', deps.rows)
    this.#gates = new IssuingGates(deps.runs)
    const own = { ...deps, gates: this.#gates, ownsStore: ownsForSure(deps.engine, state) }
    this.#plans = new IssuingPlans({ ...own, onStale: (name) => this.#sealedOut(name) })
    const open = (name: string, term: LeaderTerm) => this.#openLeftover(name, term)
    const find = (name: string) => this.find(name)
    const demote = ({ name }: { name: string }) => void find(name)
    const closeEndedSections = () => this.#families.closeEnded()
    this.#led = cluster && new LedGenerators({ ...own, cluster, open, demote, closeEndedSections })
    const issuing = { plans: this.#plans, led: this.#led, gates: this.#gates }
    this.#opening = new NameOpening({ ...own, ...issuing, records, limits, families })
    const joins = (name: string) => this.#joins(name)
    const opened = (name: string, opening: Opening) => this.#settle(name, opening)
    this.#cold = new ColdNames(deps.clock, this.tasks, this.#waiting, this.#opening, { joins, opened })
    this.#openDeps = { ...own, find, reopen: (stale, use) => this.#reopen(stale, use) }
    this.resting = new RestingGenerators(this.names, this.#openDeps)
    const shared = { ...this.#openDeps, ...issuing, names: this.names, waiting: this.#waiting }
    this.names.enter = (name) => (this.#waiting.has(name) ? 0 : this.#families.enter(name))
    this.#families = new FamiliesInUse({ ...shared, records, families, ended: this.ended })
  }

  /** Starts to watch records and rows. */
  static async start(
    deps: CatalogueDeps,
    records: GeneratorRecords,
    limits: GeneratorLimits,
    families: FamilyRecords,
  ): Promise<GeneratorsInUse> {
    const { engine, rows } = deps
    const inUse = new GeneratorsInUse(deps, records, limits, families, await engine.ownership())
    try {
      inUse.#watches.push(await watchGenerators(engine, (change) => inUse.#recordChanged(change)))
      if (rows !== undefined) inUse.#watches.push(await rows.watch((change) => inUse.#rowChanged(change)))
      return inUse
    } catch (error) {
      // `inUse` listens to the cluster already: it and the next one started would continue the same leftover ranges.
      await inUse.closeAll()
      throw error
    }
  }

  /** The generator, if it is open. */
  find(name: string): OpenGenerator | undefined {
    const open = this.names.get(name)
    return open?.isOver ? this.#replace(open) : open
  }

  /** Throws where an invariant is broken. For tests. */
  assertInvariants(): void {
    for (const part of [this.names, ...this.names.awake(), this.#families, this.tasks])
      part.assertInvariants()
    this.#waiting.assertInvariants((name) => this.names.get(name)?.isOver === false)
  }

  /** See `Catalogue.whenOpen`. */
  whenOpen<Result>(
    name: string,
    use: (generator: OpenGenerator) => Result | Promise<Result>,
  ): Promise<Result> {
    const isFirst = !this.#waiting.has(name)
    const open = this.find(name) ?? (isFirst ? this.#families.opened(name) : undefined)
    if (open !== undefined) return this.resting.serve(open, use)
    if (isFirst) this.#cold.add(name)
    return this.#waiting.join(name, use)
  }

  /** Opens a generator that callers wait for. */
  async #openWaiting(name: string): Promise<void> {
    try {
      while (this.#waiting.has(name)) {
        // Closes one whose right has ended.
        this.find(name)
        if (this.tasks.has(name)) await this.tasks.idle(name)
        else await this.#openOne(name, true)
      }
    } catch (error) {
      this.#waiting.refuse(name, error)
    }
  }

  /** Opens a generator that is not open. `mayCreate`: whether a client asks for it, so that rules may create it. */
  #openOne(name: string, mayCreate: boolean): Promise<OpenGenerator> {
    const open = () => this.#lookUp(name, mayCreate)
    const inTurn = () => openInTurn(this.#openings, this.#deps.clock, open)
    return this.tasks.run(name, this.#families.has(name) ? open : inTurn)
  }

  /** Closes the generator that is open under the name; `only`: if it is this one. */
  async close(name: string, reason: Error, only?: OpenGenerator): Promise<void> {
    await this.#families.close(name, reason)
    await this.tasks.run(name, async () => {
      const open = this.names.get(name)
      // What one has that was put to rest meanwhile, the other one has.
      if (open === undefined || (only !== undefined && open !== only && !only.isAtRest)) return
      this.names.delete(name)
      if (open.under !== undefined) this.#led!.remove(open.under, open)
      await this.ended.add(open, () => open.close(reason))
    })
  }

  /**
   * Closes every generator that is open now, and lets others run meanwhile. Each is looked up again when it is next asked
   * for. Those that issue time of the node's worker id are stopped before it returns.
   */
  async reopenAll(): Promise<void> {
    this.#gates.endWorker(rightEnded())
    await this.#families.closeAll()
    await closeInParts(this.names, ({ name }) => this.close(name, altered(name)))
  }

  /** Stops, before it returns, every generator, and drops what it holds: a copy of this memory may hold it too. */
  abandonAll(): void {
    this.#led?.dropAll(rightEnded())
    this.#gates.dropAll(rightEnded())
    void this.#families.closeAll()
    void this.reopenAll()
  }

  /** Stops, before it returns, all generators that are issued here because this process owned the store. */
  disown(): void {
    this.#gates.endOwner(rightEnded())
    void this.#families.closeAll()
    void closeInParts(this.names, (open) => this.close(open.name, rightEnded(), open), this.resting)
  }

  /** Stops every generator, permanently, before anything else; then they give back what they hold while there is time. */
  async closeAll(): Promise<void> {
    this.#closed = true
    this.resting.stop()
    for (const watch of this.#watches) watch.close()
    // One for all: an error takes longer to make than a generator to close.
    const reason = stopping()
    this.#led?.endAll(reason)
    this.#gates.endAll(reason)
    await this.tasks.allIdle()
    const sections = this.#families.closeAll(reason)
    const atRest = this.resting.giveBackAll(reason)
    const close = (open: OpenGenerator) => this.close(open.name, reason, open)
    const late = await closeInTime(this.names.awake(), this.#deps.clock, close)
    const gaps = gapText([...late, ...(await atRest), ...(await sections)])
    if (gaps !== undefined) this.#deps.onEvent({ level: 'warn', message: `this node stops: ${gaps}` })
    await Promise.all(late.map((open) => open.abandon(reason)))
    await this.#led?.close()
  }

  async #lookUp(name: string, mayCreate: boolean): Promise<OpenGenerator> {
    for (;;) {
      if (this.#closed) throw stopping()
      const ofFamily = this.#families.has(name) && (await this.#families.open(name))
      if (ofFamily) return ofFamily
      this.absent.refuse(name)
      checkName(name)
      const opened = await this.#opening.open(name, mayCreate)
      if (opened === undefined) throw this.#notFound(name, mayCreate)
      const shown = opened !== 'other' && (await this.#show(name, opened))
      if (shown) return shown
    }
  }

  /** The error for a name that was just looked up in vain, while its task runs. */
  #notFound(name: string, mayCreate: boolean): Error {
    // The time counts from the answer: callers that waited for it must not look the name up again one by one.
    if (mayCreate && !this.tasks.isOutdated(name, 0n)) this.absent.add(name)
    return noGenerator(name, this.#deps.rows)
  }

  /** See `ColdNamesEnds`. A name that does not join is opened alone. */
  #joins(name: string): boolean {
    if (this.#closed) throw stopping()
    // Closes one whose right has ended.
    const isOpen = this.find(name) !== undefined
    if (isOpen || this.tasks.has(name) || !this.#opening.mayJoin(name)) {
      void this.#openWaiting(name)
      return false
    }
    this.absent.refuse(name)
    return true
  }

  /** Ends the opening of a name: serves its callers, refuses them, or opens it alone. */
  #settle(name: string, opening: Opening): void {
    const outcome = opening ?? this.#notFound(name, true)
    const shown = typeof outcome === 'object' && 'opened' in outcome ? this.#show(name, outcome) : undefined
    this.tasks.end(name)
    if (shown instanceof OpenGenerator) return
    if (shown !== undefined) void this.tasks.run(name, () => shown)
    if (outcome instanceof Error) this.#waiting.refuse(name, outcome)
    else void this.#openWaiting(name)
  }

  /** Has a generator that was just opened found from now on, and serves its callers. A promise: it is outdated, and is closed. */
  #show(
    name: string,
    { found, plan, incarnation, opened, copies }: OpenedName,
  ): OpenGenerator | Promise<undefined> {
    const version = found.record?.version ?? rowVersion
    const isOutdated = this.tasks.isOutdated(name, version)
    const { advances } = this.#deps.engine
    // An advance, or a copy of this memory that has the answers to what this opening has asked, may have come since.
    if (this.#closed || isOutdated || found.advances !== advances || this.#deps.copies?.count !== copies) {
      const reason = this.#closed ? stopping() : altered(name)
      const closing = opened.under ? this.#led!.discard(ledIssuerOf(opened)) : opened.issuer.close(reason)
      return Promise.resolve(closing).then(() => undefined)
    }
    const key = formKey(found.stored)
    const generator = new OpenGenerator(incarnation, version, plan, opened, this.#openDeps, key)
    if (!this.#mayStillIssue(generator)) return Promise.resolve(undefined)
    this.names.set(name, generator)
    this.#waiting.serve(generator)
    this.resting.served(generator)
    return generator
  }

  /** False, and the generator is stopped, if the leadership or the store ownership that it was opened under has ended. */
  #mayStillIssue(generator: OpenGenerator): boolean {
    const { name, under } = generator
    if (under !== undefined) return this.#led!.add(under, generator)
    const mayIssue = generator.mode !== 'local' || this.#mayIssueStrict()
    if (mayIssue && !generator.isOver) return true
    void generator.close(altered(name))
    return false
  }

  /**
   * What has replaced a generator whose right has ended: a standby of one that was led; nothing of any other, which is
   * being closed when this returns.
   */
  #replace(over: OpenGenerator): OpenGenerator | undefined {
    const { name, under } = over
    if (over.definition.family) return void this.#families.forget(over)
    if (under === undefined) {
      // What runs for the name now may close it. If not, the next look-up does.
      if (!this.tasks.has(name)) void this.close(name, altered(name), over)
      return undefined
    }
    const standby = over.demoted()
    this.ended.replaced(over)
    this.names.set(name, standby)
    return standby
  }

  /**
   * Opens a generator that has a leftover range: in this very turn if a standby has its definition, which the watch keeps
   * as current for a standby as for a leader.
   */
  #openLeftover(name: string, term: LeaderTerm): void {
    const standby = this.#closed || this.tasks.has(name) ? undefined : this.find(name)
    const gate = this.#led!.gateOf(slotOf(name), term)
    if (standby !== undefined && gate !== undefined && this.#led!.hasLeftover(name, standby.version, term)) {
      const leftover = this.#led!.takeLeftover(name, standby.version, term)!
      const generator = standby.promoted({ term, gate }, leftover)
      if (this.#mayStillIssue(generator)) this.names.set(name, generator)
    } else void this.#openUnasked(name)
  }

  /** Opens a generator that no client has asked for. */
  async #openUnasked(name: string): Promise<void> {
    await this.tasks.idle(name)
    if (this.find(name) === undefined) await this.#openOne(name, false).catch(() => {})
  }

  /** A newer incarnation or leader has sealed the counter: what is buffered here must not be issued. */
  #sealedOut(name: string): void {
    const open = this.names.get(name)
    if (open?.under !== undefined) void this.close(name, altered(name), open)
    void this.#families.close(name, altered(name))
  }

  /** Passes on the generator after `stale`, whose record may have changed before the watch reported it. */
  async #reopen<Result>(
    stale: OpenGenerator,
    use: (generator: OpenGenerator) => Promise<Result>,
  ): Promise<Result> {
    const { name } = stale
    if (stale.definition.family) this.#families.forget(stale)
    if (this.find(name) === stale) {
      const closed = this.close(name, altered(name), stale)
      // Without an await where it cannot be found any more, so that callers that follow keep their order.
      if (this.names.get(name) === stale) await closed
    }
    return this.whenOpen(name, use)
  }

  #recordChanged({ key, record }: RecordChange): void {
    const name = key.slice(generatorPrefix.length)
    this.absent.remove(name)
    const version = record?.version ?? boundMax
    this.#families.changed(name, version)
    this.tasks.report(name, version)
    const known = this.resting.versionOf(name)
    if (known === undefined || version <= known) return
    const open = this.names.get(name)!
    const reason = holdsGenerator(record) ? altered(name) : noGenerator(name, this.#deps.rows)
    // At once, even while a task of this name runs: another node may acknowledge strict order in a moment.
    void open.close(reason)
    void this.#closeVersion(name, reason, open)
  }

  /** Closes a generator, and each that replaces it meanwhile without having been looked up again. */
  async #closeVersion(name: string, reason: Error, open: OpenGenerator): Promise<void> {
    let next: OpenGenerator | undefined = open
    for (; next?.version === open.version; next = this.names.get(name)) await this.close(name, reason, next)
  }

  /** Versions of rows and of records cannot be compared: a name that is being opened is looked up once more. */
  #rowChanged({ name, exists, definition }: RowChange): void {
    this.absent.remove(name)
    this.tasks.report(name, boundMax)
    const open = this.names.get(name)
    if (open?.version !== rowVersion) return
    // Ranges of rows cannot be released, so the buffer is kept wherever possible.
    const next = definition()
    const resized = next && open.resized(next, this.#plans)
    if (resized !== undefined) this.names.set(name, resized)
    else void this.close(name, exists ? altered(name) : noGenerator(name, this.#deps.rows), open)
  }
}
