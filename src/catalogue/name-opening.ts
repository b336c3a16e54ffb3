/**
 * What happens when a name is asked for that is not open: it is looked up, created by a rule if it is new, and its issuer is
 * opened. A name that exists takes one trip to the engine; a new one takes two, and can issue after them and after a read that shows
 * that no family has come to have the name. All names that are asked for together share these trips.
 *
 * Invariants
 *  1. Nothing is issued by a record that was not read, or whose write was not acknowledged.
 *  2. The first range of a new name is reserved beside the write of its record. It is used only if that write was acknowledged.
 *  3. An issuer that is not returned is closed, and holds nothing when this has returned.
 *
 * Why the first reserve may be sent before the write of the record is known to have succeeded: the write succeeds only if the name
 * never had a record, for a record is never removed. Then no id was ever issued under it, other reserves of the counter are first
 * reserves as well, and the counter keeps their ranges apart. If the write fails, because another process was faster, or if its
 * outcome is unknown, the range is given back unused, which the counter refuses if anything came after it; and the record is read
 * before anything is issued. What may remain of the reserve is a bound and an incarnation in the counter, and both are harmless to
 * every record that another process may have written: only a counter that was never used gets such a reserve, so its incarnation
 * is 1, which refuses none; and only one that counts ids, so a step of them is a gap, also where the other process counts time. A
 * count of time would leave a sequence no room. A scrambled generator cannot be created above such a bound, as if ids had been
 * issued. If the reserve fails, the reservoir repeats it as any other. With group commit nothing is reserved here, because a
 * request takes ids of a reserve that was sent after it.
 */
import { hasCode } from '../base/errors.ts'
import { globMatches } from '../base/glob.ts'
import type { StoredRecord } from '../engine/engine.ts'
import type { Incarnation } from '../issuing/incarnation.ts'
import type { Kind } from '../issuing/issuer.ts'
import { define, isCounter, optionsAtFirstUse } from './definition.ts'
import type { CatalogueDeps } from './deps.ts'
import type { FamilyRecords } from './families/family-records.ts'
import type { GeneratorLimits } from './generator-limits.ts'
import { parseOptions } from './generator-options.ts'
import { altered, type GeneratorRecords } from './generator-records.ts'
import type { IssuingPlan, IssuingPlans } from './issuing-plans.ts'
import type { LedGenerators } from './leadership/led-generators.ts'
import { checkNewName } from './name-rules.ts'
import { rowVersion } from './open-generator.ts'
import { type OpenedIssuer, openAtOnce, openIssuer, type ReadCounter, readCounter } from './open-issuer.ts'
import {
  generatorKey,
  incarnationOf,
  type ReadGenerator,
  type StoredGenerator,
  writeStored,
} from './stored-generator.ts'

/** What opening takes beside its node. */
export type NameOpeningDeps = CatalogueDeps & {
  readonly records: GeneratorRecords
  readonly limits: GeneratorLimits
  readonly families: FamilyRecords
  readonly plans: IssuingPlans
  /** Undefined: the node is in no cluster. */
  readonly led: LedGenerators | undefined
  /** See `ownsForSure`. */
  readonly ownsStore: () => boolean
}

/** A generator that was just opened and cannot be found yet. */
export type OpenedName = {
  readonly found: ReadGenerator
  readonly plan: IssuingPlan
  readonly incarnation: Incarnation
  readonly opened: OpenedIssuer
  /** How many copies of this memory had been noticed before anything was asked for it. */
  readonly copies: number | undefined
}

/** Opens the names of one catalogue. */
export class NameOpening {
  readonly #deps: NameOpeningDeps
  /** Of the kinds whose first records are alike at any time. */
  readonly #first = new Map<Kind, FirstRecord>()

  constructor(deps: NameOpeningDeps) {
    this.#deps = deps
  }

  /**
   * Looks a name up and opens it. Undefined: there is no generator, and no rule creates one. `other`: a family has come to have
   * the name, or one was dropped; look it up again.
   * @param mayCreate whether a client asks for it, so that rules may create it.
   * @param callers how many wait for ids of it by now.
   */
  async open(name: string, mayCreate: boolean, callers: () => number): Promise<Opening> {
    const { engine, copies: detector, records, families } = this.#deps
    const copies = detector?.count
    const { advances } = engine
    const reading = readCounter(this.#deps, name)
    const looked = await records.look(name)
    const read = await reading
    if (typeof looked === 'object') return this.#openItself(name, looked, copies, read)
    if (families.has(name)) return 'other'
    const kind = mayCreate ? this.#ruleFor(name) : undefined
    if (kind === undefined) return undefined
    // A store may have lost the record and kept the counter, which has the newest incarnation.
    if (looked === 'dropped' || read?.counter.version !== 0n || families.concern(name))
      return this.#create(name, kind, copies)
    const { drops } = families
    const create = () => this.#createUnused(name, kind, { drops, advances, read, copies, callers })
    const created = await this.#admit(name, create)
    // Another process has just created it, perhaps with another definition, which counts.
    return created ?? this.open(name, mayCreate, callers)
  }

  /** Opens the issuer of a generator once more: what it was opened under has ended. */
  openAgain(name: string, found: ReadGenerator): Promise<OpenedName> {
    return this.#openRead(name, found, this.#deps.copies?.count)
  }

  /** The kind of the first rule for a name. */
  #ruleFor(name: string): Kind | undefined {
    return this.#deps.autoCreate.find(({ pattern }) => globMatches(pattern, name))?.kind
  }

  #admit<Created>(name: string, create: () => Promise<Created>): Promise<Created> {
    const { limits } = this.#deps
    return limits.apply(name) ? limits.admit(name, create) : create()
  }

  /** Opens a generator that was just read or written, unless it must not issue because of a family. */
  async #openItself(
    name: string,
    found: ReadGenerator,
    copies: number | undefined,
    read?: ReadCounter,
  ): Promise<OpenedName | 'other'> {
    if (!(await this.#deps.records.isItself(name, found))) return 'other'
    return this.#openRead(name, found, copies, read)
  }

  async #openRead(
    name: string,
    found: ReadGenerator,
    copies: number | undefined,
    read?: ReadCounter,
  ): Promise<OpenedName> {
    const { stored, record } = found
    const plan = this.#deps.plans.of(stored.definition)
    const incarnation = incarnationOf(name, found)
    const known = { read, led: this.#deps.led, version: record?.version ?? rowVersion }
    const opened = await openIssuer(this.#deps, plan, incarnation, stored.key, known)
    return { found, plan, incarnation, opened, copies }
  }

  /** Takes more steps than `#createUnused`, for a name that has had a record, or whose counter could not be read. */
  async #create(name: string, kind: Kind, copies: number | undefined): Promise<Opening> {
    const { records } = this.#deps
    let found: ReadGenerator | undefined
    try {
      found = await this.#admit(name, () => records.create(name, parseOptions(optionsAtFirstUse(kind))))
    } catch (error) {
      if (!hasCode(error, 'EXISTS')) throw error
      found = await records.live(name)
    }
    return found && this.#openItself(name, found, copies)
  }

  /**
   * Creates a name without a record whose counter was never used, and reserves its first range meanwhile. Undefined: another
   * process was faster.
   */
  async #createUnused(
    name: string,
    kind: Kind,
    { drops, advances, read, copies, callers }: Unused,
  ): Promise<Opening> {
    checkNewName(name)
    const { stored, value, plan } = this.#firstOf(kind, drops)
    const incarnation = incarnationOf(name, { record: undefined, stored, advances })
    const known = { read, led: this.#deps.led, version: rowVersion }
    const opened = openAtOnce(this.#deps, plan, incarnation, undefined, known)
    let record: StoredRecord | undefined
    try {
      const writing = this.#deps.engine.write(generatorKey(name), value, undefined)
      if (isCounter(kind)) opened?.reservoir?.fill(callers())
      record = await writing
    } finally {
      if (record === undefined) await opened?.issuer.close(altered(name))
    }
    if (record === undefined) return undefined
    const found = { record, stored, advances }
    if (opened === undefined) return this.#openItself(name, found, copies, read)
    const [isItself] = await Promise.all([
      this.#deps.records.isItself(name, found).catch(async (error) => {
        await opened.issuer.close(altered(name))
        throw error
      }),
      opened.reservoir?.idle(),
    ])
    if (!isItself) {
      await opened.issuer.close(altered(name))
      return 'other'
    }
    return { found, plan, incarnation, opened, copies }
  }

  /** The first record of every name that a rule creates with this kind. */
  #firstOf(kind: Kind, drops: number | undefined): FirstRecord {
    const known = this.#first.get(kind)
    if (known !== undefined && known.stored.drops === drops) return known
    const definition = define(parseOptions(optionsAtFirstUse(kind)), this.#deps.timeline.nowUs())
    const stored = { ...firstRecord, definition, ...(drops !== undefined && { drops }) }
    const first = { stored, value: writeStored(stored), plan: this.#deps.plans.of(definition) }
    // Whether a layout has time left depends on the time.
    if (isCounter(kind)) this.#first.set(kind, first)
    return first
  }
}

/** See `NameOpening.open`. */
type Opening = OpenedName | 'other' | undefined

/** What is known of a name without a record. */
type Unused = Pick<StoredGenerator, 'drops'> & {
  readonly advances: number
  readonly read: ReadCounter
  readonly copies: number | undefined
  readonly callers: () => number
}

type FirstRecord = {
  readonly stored: StoredGenerator
  /** Of the record. */
  readonly value: string
  readonly plan: IssuingPlan
}

/** What the first record of every name has that a rule creates. Rules permute no ids. */
const firstRecord: Omit<StoredGenerator, 'definition'> = {
  state: 'live',
  incarnation: 1n,
  counter: undefined,
  floor: 0n,
  key: undefined,
  offsetGiven: false,
}
