/**
 * The families that are open in this process, their sections, and their names in memory.
 *
 * Invariants
 *  1. At most one section of a slot issues in this process: the next is opened when the one before has been stopped. Its
 *     release may still be under way then, and the counter decides which comes first.
 *  2. A section is open under a leadership of this node only while that lasts; when it ends, the section has been stopped and
 *     its names are gone from memory before any other code runs.
 *  3. The names in memory are bounded. One that leaves raises the high mark of its section; one that callers wait for stays.
 */
import { assert } from '../../base/assert.ts'
import { FahaoError } from '../../base/errors.ts'
import { slotNotServed } from '../../base/moved.ts'
import type { LeaderTerm } from '../../cluster/events.ts'
import { slotOf } from '../../cluster/slots.ts'
import { larger } from '../../engine/advance-rules.ts'
import type { Section } from '../../issuing/section.ts'
import type { SectionMember } from '../../issuing/section-member.ts'
import type { IssuingMode } from '../catalogue.ts'
import { altered, type GeneratorRecords } from '../generator-records.ts'
import type { IssuingPlan, IssuingPlans } from '../issuing-plans.ts'
import { issuingRight, modeOf, refuseUnlessOwner } from '../issuing-right.ts'
import type { LedGenerators } from '../leadership/led-generators.ts'
import { checkName } from '../name-rules.ts'
import type { NameTable } from '../name-table.ts'
import { OpenGenerator, type OpenGeneratorDeps } from '../open-generator.ts'
import { type OpenedIssuer, standby } from '../open-issuer.ts'
import { incarnationOf, type ReadGenerator } from '../stored-generator.ts'
import type { WaitingCallers } from '../waiting-callers.ts'
import { patternOf } from './family-index.ts'
import { FamilyIssuer } from './family-issuer.ts'
import { type FamilyRecords, sectionCounter } from './family-records.ts'

/** How many names are in memory at most, of all families together, unless a node says otherwise. */
const namesMax = 200_000
/** How many names are looked at when one more comes into memory that is full. */
const looksMax = 8

/** What the families take from the generators in use. */
export type FamiliesInUseDeps = OpenGeneratorDeps & {
  readonly records: GeneratorRecords
  readonly families: FamilyRecords
  readonly plans: IssuingPlans
  readonly led: LedGenerators | undefined
  /** The generators that are open here: families and their names are among them. */
  readonly names: NameTable<OpenGenerator>
  /** They are served in the step in which a name can be found. */
  readonly waiting: Pick<WaitingCallers, 'serve'>
}

/** A section that is open here, and the leadership under which it is. */
type OpenSection = { readonly section: Section; readonly under: OpenedIssuer['under'] }

/** A family that is open here. */
type OpenFamily = {
  readonly pattern: string
  readonly found: ReadGenerator
  readonly plan: IssuingPlan
  readonly mode: IssuingMode
  readonly generator: OpenGenerator
  readonly sections: Map<number, OpenSection>
  readonly opening: Map<number, Promise<OpenSection | undefined>>
  isClosed: boolean
}

/** A name in memory. `member`: undefined unless this node issues for it from memory. */
type OpenName = {
  readonly generator: OpenGenerator
  readonly member: SectionMember | undefined
  readonly family: OpenFamily
}

/** Opens and closes families, sections and names. */
export class FamiliesInUse {
  readonly #deps: FamiliesInUseDeps
  readonly #mayIssueStrict: () => boolean
  readonly #open = new Map<string, OpenFamily>()
  readonly #opening = new Map<string, Promise<OpenFamily | undefined>>()
  readonly #names = new Map<OpenGenerator, OpenName>()
  #hand: Iterator<OpenName> | undefined

  constructor(deps: FamiliesInUseDeps) {
    this.#deps = deps
    this.#mayIssueStrict = issuingRight(deps)
  }

  /**
   * Brings a name into memory, or opens the family itself. Undefined: no family has this name. Rejects with CONFLICT while
   * a family is being created that will have it.
   */
  async open(name: string): Promise<OpenGenerator | undefined> {
    const { families } = this.#deps
    const { index } = families
    const entry = index.claiming(name)
    if (entry === undefined) return undefined
    const pattern = patternOf(entry)
    if (entry.state === 'announced') {
      // It may be active, or gone, by now.
      await index.fresh()
      const next = index.claiming(name)
      if (next?.state === 'announced') throw beingCreated(pattern)
      return this.open(name)
    }
    checkName(name)
    for (;;) {
      const family = await this.#family(pattern)
      if (family === undefined) {
        // A drop has ended between its two writes.
        await families.dropped(pattern)
        return this.open(name)
      }
      const known = this.#deps.names.get(name)
      if (known !== undefined) {
        this.#deps.waiting.serve(known)
        return known
      }
      const opened = await this.#join(family, name)
      if (opened !== undefined) return opened
    }
  }

  /** A name leaves memory, if this generator is in memory under it. */
  forget(generator: OpenGenerator): void {
    const known = this.#names.get(generator)
    if (known !== undefined) this.#leave(known, altered(generator.name))
  }

  /** Closes a family: stops all its sections before it returns. Resolves when they have released what they had left. */
  async close(pattern: string, reason: Error, isCopied = false): Promise<void> {
    const family = this.#open.get(pattern)
    if (family === undefined) return
    this.#open.delete(pattern)
    this.#deps.names.delete(pattern)
    family.isClosed = true
    const closing: Promise<void>[] = []
    for (const { section, under } of family.sections.values()) {
      if (under !== undefined) this.#deps.led!.removeSection(under, section)
      closing.push(isCopied ? section.abandon(reason) : section.close(reason))
    }
    for (const known of this.#names.values()) if (known.family === family) this.#leave(known, reason)
    await Promise.all(closing)
  }

  /** Closes every family. */
  async closeAll(reason?: Error): Promise<void> {
    await Promise.all(
      [...this.#open.keys()].map((pattern) => this.close(pattern, reason ?? altered(pattern))),
    )
  }

  /** Stops every family before it returns, and drops what it holds: a copy of this memory may hold it too. */
  abandonAll(): void {
    for (const pattern of this.#open.keys()) void this.close(pattern, altered(pattern), true)
  }

  /** A record has another version. */
  changed(pattern: string, version: bigint): void {
    const family = this.#open.get(pattern)
    if (family !== undefined && version > family.generator.version) void this.close(pattern, altered(pattern))
  }

  /** Throws where an invariant is broken. For tests. */
  assertInvariants(): void {
    assert(this.#names.size <= this.#namesMax + looksMax, 'the names in memory are bounded')
    for (const family of this.#open.values()) family.generator.assertInvariants()
    for (const { generator, family } of this.#names.values()) {
      assert(!family.isClosed, 'a name is in memory only while its family is open')
      generator.assertInvariants()
    }
  }

  get #namesMax(): number {
    return this.#deps.familyNamesMax ?? namesMax
  }

  async #family(pattern: string): Promise<OpenFamily | undefined> {
    const open = this.#open.get(pattern)
    if (open !== undefined) return open
    let opening = this.#opening.get(pattern)
    if (opening === undefined) {
      opening = this.#openFamily(pattern).finally(() => this.#opening.delete(pattern))
      this.#opening.set(pattern, opening)
    }
    return opening
  }

  async #openFamily(pattern: string): Promise<OpenFamily | undefined> {
    const found = await this.#deps.records.live(pattern)
    if (found === undefined || !found.stored.definition.family) return undefined
    const plan = this.#deps.plans.of(found.stored.definition)
    const mode = await modeOf(this.#deps, 'sequence')
    const sections = new Map<number, OpenSection>()
    const issuer = new FamilyIssuer(pattern, function* () {
      for (const { section } of sections.values()) yield section
    })
    const incarnation = incarnationOf(pattern, found)
    const generator = new OpenGenerator(
      incarnation,
      found.record!.version,
      plan,
      { issuer, mode },
      this.#deps,
    )
    const family = { pattern, found, plan, mode, generator, sections, opening: new Map(), isClosed: false }
    this.#open.set(pattern, family)
    this.#deps.names.set(pattern, generator)
    return family
  }

  /** Undefined: the family was closed, or the right to issue has ended, meanwhile. */
  async #join(family: OpenFamily, name: string): Promise<OpenGenerator | undefined> {
    const { cluster, waitersMax } = this.#deps
    const { plan, mode, found } = family
    const slot = slotOf(name)
    const incarnation = { ...incarnationOf(name, found), counter: sectionCounter(family.pattern, slot) }
    const keep = (opened: OpenedIssuer, member?: SectionMember) => {
      const generator = new OpenGenerator(incarnation, family.generator.version, plan, opened, this.#deps)
      this.#evict()
      this.#names.set(generator, { generator, member, family })
      this.#deps.names.set(name, generator)
      this.#deps.waiting.serve(generator)
      return generator
    }
    if (mode === 'group commit') {
      const floor = await this.#floorOf(family, slot)
      const { bound } = await this.#deps.engine.counter(incarnation.counter)
      if (family.isClosed || this.#deps.names.get(name) !== undefined) return undefined
      return keep({ issuer: plan.issuers.groupCommit({ ...incarnation, floor }, bound), mode })
    }
    const open = family.sections.get(slot) ?? (await this.#section(family, slot))
    if (family.isClosed || this.#deps.names.get(name) !== undefined) return undefined
    if (open === undefined)
      return cluster && cluster.here(slot) === undefined
        ? keep(standby(cluster, name, waitersMax))
        : undefined
    if (family.sections.get(slot) !== open) return undefined
    const member = open.section.join(name)
    return keep({ issuer: member, mode, ...(open.under && { under: open.under }) }, member)
  }

  /** The section of a slot. Undefined: another node leads it, or the right to issue has ended meanwhile. */
  #section(family: OpenFamily, slot: number): Promise<OpenSection | undefined> {
    let opening = family.opening.get(slot)
    if (opening === undefined) {
      opening = this.#openSection(family, slot).finally(() => family.opening.delete(slot))
      family.opening.set(slot, opening)
    }
    return opening
  }

  async #openSection(family: OpenFamily, slot: number): Promise<OpenSection | undefined> {
    const { engine, cluster, copies } = this.#deps
    const { pattern, plan, found, mode } = family
    const term = cluster?.here(slot)
    if (cluster !== undefined && term === undefined) return undefined
    if (mode === 'local') await refuseUnlessOwner(engine, 'sequence', pattern)
    const copiesBefore = copies?.count
    const counter = sectionCounter(pattern, slot)
    const floor = await this.#floorOf(family, slot)
    const { bound, fence } = await engine.counter(counter)
    if (term !== undefined && fence > term.fence && cluster!.held(slot) === term) {
      cluster!.sealedOut(term, fence)
      throw slotNotServed()
    }
    if (family.isClosed || copies?.count !== copiesBefore) return undefined
    const incarnation = {
      ...incarnationOf(pattern, found),
      counter,
      floor,
      ...(term && { fence: term.fence }),
    }
    const section = plan.issuers.section(incarnation, bound)
    if (!this.#mayStillIssue(family, slot, section, term)) return undefined
    const open = { section, under: term }
    family.sections.set(slot, open)
    return open
  }

  async #floorOf({ pattern, found, plan }: OpenFamily, slot: number): Promise<bigint> {
    const { floor } = incarnationOf(pattern, found)
    return larger(floor, await this.#deps.families.floorOfSection(pattern, slot, plan.definition))
  }

  /** False, and the section is stopped, if the right that it was opened under has ended. */
  #mayStillIssue(family: OpenFamily, slot: number, section: Section, term: LeaderTerm | undefined): boolean {
    const { pattern } = family
    if (term !== undefined) {
      const demote = () => this.#ended(family, slot)
      return this.#deps.led!.addSection(slot, term, section, demote)
    }
    if (this.#mayIssueStrict()) return true
    void section.abandon(altered(pattern))
    return false
  }

  /** The section of a slot is about to be stopped: its names leave memory. */
  #ended(family: OpenFamily, slot: number): void {
    const open = family.sections.get(slot)
    family.sections.delete(slot)
    for (const { name } of [...(open?.section.members ?? [])]) {
      const generator = this.#deps.names.get(name)
      if (generator !== undefined) this.forget(generator)
    }
  }

  #leave({ generator }: OpenName, reason: Error): void {
    this.#names.delete(generator)
    this.#deps.names.delete(generator.name)
    void generator.close(reason)
  }

  /** Makes room for one more name. Names that have issued since the last look stay for another round. */
  #evict(): void {
    for (let looks = 0; this.#names.size >= this.#namesMax && looks < looksMax; looks++) {
      this.#hand ??= this.#names.values()
      const { value, done } = this.#hand.next()
      if (done) this.#hand = undefined
      else if (!isBusy(value, looks === looksMax - 1)) this.#leave(value, altered(value.generator.name))
    }
  }
}

/** `onlyWaiting`: whether only callers that wait keep it in memory. */
function isBusy({ generator, member }: OpenName, onlyWaiting: boolean): boolean {
  if (member === undefined) return generator.stats().waiting > 0
  const isUsed = member.seen !== member.next
  member.seen = member.next
  return (isUsed && !onlyWaiting) || member.waiting > 0
}

function beingCreated(pattern: string): FahaoError {
  return new FahaoError(
    'CONFLICT',
    `family '${pattern}' is being created; retry in a moment, and if it stays so, create it again or drop it`,
  )
}
