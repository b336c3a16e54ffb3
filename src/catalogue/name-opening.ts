/**
 * What happens when a name is asked for that is not open: it is looked up, created by a rule if it is new, and its issuer is
 * opened. All names that are asked for together share one look-up in the engine (`NameStore.lookUp`), which also writes the record
 * of a new name and reserves its first range, and then one read that shows that no family has come to have any of them.
 *
 * Invariants
 *  1. Nothing is issued by a record that was not read, or whose write was not acknowledged.
 *  2. An issuer that begins with a range has the gate and the leadership under which that range was reserved. It is made only if
 *     no copy of this memory was noticed since then, and found only if the store was not advanced either.
 *  3. What a look-up has reserved and no issuer begins with is a gap.
 *
 * A name that cannot be opened so is opened alone, in more steps: one with a row in another system's table, of a family or of a
 * family that was dropped, with a tombstone or an alteration under way, whose creation a limit applies to, or whose counter was
 * used although it has no record, because the store has lost that.
 *
 * With group commit nothing is reserved beside a record: a request takes ids of a reserve that was sent after it.
 */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { LeaderTerm } from '../cluster/events.ts'
import { slotOf } from '../cluster/slots.ts'
import type { First, LookedUp, LookUp } from '../engine/engine.ts'
import type { Incarnation } from '../issuing/incarnation.ts'
import { define, isCounter } from './definition.ts'
import type { CatalogueDeps } from './deps.ts'
import type { FamilyRecords } from './families/family-records.ts'
import type { GeneratorLimits } from './generator-limits.ts'
import { type GeneratorInput, parseOptions } from './generator-options.ts'
import type { GeneratorRecords } from './generator-records.ts'
import type { IssuingPlan, IssuingPlans } from './issuing-plans.ts'
import type { LedGenerators } from './leadership/led-generators.ts'
import { looksAlike } from './name-rules.ts'

import {
  type OpenedIssuer,
  openAtOnce,
  openBegun,
  openIssuer,
  type RightToBegin,
  rightToBegin,
} from './open-issuer.ts'
import { CreationRules } from './series.ts'
import {
  firstOf,
  firstStored,
  generatorKey,
  incarnationOf,
  type ReadGenerator,
  readKnown,
  rowVersion,
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

/**
 * What became of a name that was opened together with others. Undefined: there is no generator, and no rule creates one. `alone`:
 * nothing was opened, and it has to be opened alone.
 */
export type Opening = OpenedName | undefined | 'alone' | Error

/** Opens the names of one catalogue. */
export class NameOpening {
  readonly #deps: NameOpeningDeps
  readonly #rules: CreationRules
  /** Of the rules whose first records are alike at any time, by their options. */
  readonly #firsts = new Map<GeneratorInput, FirstRecord>()

  constructor(deps: NameOpeningDeps) {
    this.#deps = deps
    this.#rules = new CreationRules(deps.autoCreate)
  }

  /** Whether a name can be opened together with others, as far as is known without asking. */
  mayJoin(name: string): boolean {
    const { rows, families, limits } = this.#deps
    return rows === undefined && !families.has(name) && !limits.apply(name)
  }

  /**
   * Looks names up that clients ask for, creates those that a rule creates, and opens them. Where opening takes more than the
   * look-up, the outcome is a promise, which does not reject.
   * @param callers how many wait for ids of a name.
   */
  async openTogether(
    names: readonly string[],
    callers: (name: string) => number,
  ): Promise<readonly (Opening | Promise<Opening>)[]> {
    const { engine, copies: detector, families } = this.#deps
    const asked: Asked = { advances: engine.advances, copies: detector?.count, firsts: new Map() }
    const cold = names.map((name) => this.#ask(name, callers(name), asked))
    let found: readonly (LookedUp | FahaoError)[]
    try {
      found = await engine.lookUp(cold)
      if (found.some((each) => 'record' in each && each.record !== undefined)) await families.index.fresh()
    } catch (error) {
      // This process may have lost the store: opened alone, each name finds out what follows from that.
      return names.map(() => (hasCode(error, 'STALE') ? 'alone' : asError(error)))
    }
    // An issuer that is made now could release what a copy of this memory issues.
    if (detector?.count !== asked.copies) return names.map(() => 'alone')
    return cold.map((each, at) => {
      try {
        return this.#opened(each, found[at]!, asked)
      } catch (error) {
        return asError(error)
      }
    })
  }

  /**
   * Looks one name up and opens it. Undefined: there is no generator, and no rule creates one. `other`: a family has come to have
   * the name, or one was dropped; look it up again.
   * @param mayCreate whether a client asks for it, so that rules may create it.
   */
  async open(name: string, mayCreate: boolean): Promise<OpenedName | 'other' | undefined> {
    const { records, families } = this.#deps
    const copies = this.#deps.copies?.count
    const looked = await records.look(name)
    if (typeof looked === 'object') return this.#openItself(name, looked, copies)
    if (families.has(name)) return 'other'
    const options = mayCreate ? this.#rules.optionsFor(name) : undefined
    return options && this.#create(name, options, copies)
  }

  #ask(name: string, callers: number, { firsts }: Asked): ColdName {
    const key = generatorKey(name)
    const term = this.#deps.cluster?.here(slotOf(name))
    const options = this.#rules.optionsFor(name)
    const isCreated = options !== undefined
    // Its creation may take more steps, or be refused.
    const isPlain = isCreated && !this.#deps.families.concern(name) && !looksAlike(name)
    const record = isPlain ? this.#firstOf(options) : undefined
    if (record === undefined) return { key, name, term, isCreated }
    const right = rightToBegin(this.#deps, record.plan, name)
    const fence = right?.term?.fence
    const alike = `${record.value} ${right && callers} ${fence}`
    let first = firsts.get(alike)
    if (first === undefined) {
      const { incarnation } = record.stored
      const writer = { incarnation, floor: record.floor, ...(fence && { fence }) }
      const reserve = right && record.plan.issuers.firstReserve(callers, writer)
      first = { value: record.value, reserve }
      firsts.set(alike, first)
    }
    return { key, name, term, isCreated, first, record, right }
  }

  #opened(
    cold: ColdName,
    outcome: LookedUp | FahaoError,
    { advances, copies }: Asked,
  ): Opening | Promise<Opening> {
    if (outcome instanceof FahaoError) return outcome
    const { record, counter, isNew, reservation } = outcome
    const { name, key, term, right } = cold
    if (record === undefined) return cold.isCreated ? 'alone' : undefined
    const stored = isNew ? cold.record!.stored : readKnown(name, record)
    if (stored.state !== 'live' || !this.#deps.families.permits(name, stored)) return 'alone'
    const found = { record, stored, advances }
    const plan = isNew ? cold.record!.plan : this.#deps.plans.of(stored.definition)
    const incarnation = incarnationOf(name, found)
    const openedBy = (opened: OpenedIssuer) => ({ found, plan, incarnation, opened, copies })
    if (reservation !== undefined) return openedBy(openBegun(plan, incarnation, right!, reservation))
    const known = { read: { name: key, term, counter }, led: this.#deps.led, version: record.version }
    const atOnce = openAtOnce(this.#deps, plan, incarnation, stored.key, known)
    return atOnce
      ? openedBy(atOnce)
      : openIssuer(this.#deps, plan, incarnation, stored.key, known).then(openedBy, asError)
  }

  /** Opens a generator that was just read or written, unless it must not issue because of a family. */
  async #openItself(
    name: string,
    found: ReadGenerator,
    copies: number | undefined,
  ): Promise<OpenedName | 'other'> {
    if (!(await this.#deps.records.isItself(name, found))) return 'other'
    const { stored, record } = found
    const plan = this.#deps.plans.of(stored.definition)
    const incarnation = incarnationOf(name, found)
    const known = { led: this.#deps.led, version: record?.version ?? rowVersion }
    const opened = await openIssuer(this.#deps, plan, incarnation, stored.key, known)
    return { found, plan, incarnation, opened, copies }
  }

  async #create(
    name: string,
    options: GeneratorInput,
    copies: number | undefined,
  ): Promise<OpenedName | 'other' | undefined> {
    const { records, limits } = this.#deps
    const create = () => records.create(name, parseOptions(options))
    let found: ReadGenerator | undefined
    try {
      found = await (limits.apply(name) ? limits.admit(name, create) : create())
    } catch (error) {
      if (!hasCode(error, 'EXISTS')) throw error
      // Another process has just created it, with another definition, which counts.
      found = await records.live(name)
    }
    return found && this.#openItself(name, found, copies)
  }

  /** The first record of every name that a rule creates with these options. Undefined: none can be created now, or each has its own. */
  #firstOf(options: GeneratorInput): FirstRecord | undefined {
    try {
      const first = this.#newFirstOf(options)
      return first.stored.key === undefined ? first : undefined
    } catch {
      // Its creation tells why.
      return undefined
    }
  }

  #newFirstOf(options: GeneratorInput): FirstRecord {
    const known = this.#firsts.get(options)
    const { drops } = this.#deps.families
    if (known !== undefined && known.stored.drops === drops) return known
    const definition = define(parseOptions(options), this.#deps.timeline.nowUs())
    const stored = firstStored(definition, options.offset !== undefined, drops)
    const plan = this.#deps.plans.of(definition)
    const first = { stored, value: writeStored(stored), plan, floor: firstOf(stored.floor, definition) }
    // Whether a layout has time left depends on the time.
    if (isCounter(options.kind)) this.#firsts.set(options, first)
    return first
  }
}

/** What was known when a group of names was asked for, and what its new names get, by what differs in that. */
type Asked = {
  readonly advances: number
  readonly copies: number | undefined
  readonly firsts: Map<string, First>
}

/** One name of a group. */
type ColdName = LookUp & {
  readonly name: string
  /** The leadership of this node for it. */
  readonly term: LeaderTerm | undefined
  /** Whether a rule creates it. */
  readonly isCreated: boolean
  /** With `first`: the record that it writes, and the right under which it reserves. */
  readonly record?: FirstRecord
  readonly right?: RightToBegin | undefined
}

type FirstRecord = {
  readonly stored: StoredGenerator
  /** Of the record. */
  readonly value: string
  readonly plan: IssuingPlan
  /** The least value that it may issue. */
  readonly floor: bigint
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
