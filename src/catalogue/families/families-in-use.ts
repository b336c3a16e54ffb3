/**
 * The families that are open in this process, and their sections.
 *
 * Invariants
 *  1. At most one section of a slot issues in this process: the next is opened when the one before has been stopped. Its
 *     release may still be under way then, and the counter decides which comes first.
 *  2. A section is open under a right of this node, whose gate it has. When that ends, nothing is issued for its names any more,
 *     and each name enters its next section when it is asked for.
 *  3. A name that enters memory does so in the step in which it is asked for, if its section is open: nothing is awaited, and
 *     the engine is asked nothing.
 */
import { FahaoError } from '../../base/errors.ts'
import { slotNotServed } from '../../base/moved.ts'
import { slotOf } from '../../cluster/slots.ts'
import { larger } from '../../engine/advance-rules.ts'
import { nextTurn } from '../../engine/next-turn.ts'
import { Limiter } from '../../issuing/engine-permits.ts'
import type { GroupCommit } from '../../issuing/group-commit.ts'
import type { Incarnation } from '../../issuing/incarnation.ts'
import type { IssuingGates } from '../../issuing/issuing-gates.ts'
import type { Section } from '../../issuing/section.ts'
import { SectionMember } from '../../issuing/section-member.ts'
import type { IssuingMode } from '../catalogue.ts'
import type { EndedGenerators } from '../ended-figures.ts'
import { altered, type GeneratorRecords } from '../generator-records.ts'
import type { IssuingPlan, IssuingPlans } from '../issuing-plans.ts'
import { issuingRight, modeOf, refuseUnlessOwner } from '../issuing-right.ts'
import type { LedGenerators } from '../leadership/led-generators.ts'
import { checkName } from '../name-rules.ts'
import type { NameTable } from '../name-table.ts'
import { OpenGenerator, type OpenGeneratorDeps } from '../open-generator.ts'
import { type OpenedIssuer, openInTurn, standby } from '../open-issuer.ts'
import { incarnationOf, type ReadGenerator } from '../stored-generator.ts'
import type { WaitingCallers } from '../waiting-callers.ts'
import { patternOf } from './family-index.ts'
import { FamilyIssuer } from './family-issuer.ts'
import { FamilyNames, type OpenSection } from './family-names.ts'
import { type FamilyRecords, sectionCounter } from './family-records.ts'

/** Names that can be seen to be names at once. */
const plainName = /^[!-~]{1,256}$/
/** A counter that was not read. */
const unread = { bound: 0n, fence: 0n }
/** How many sections are opened at once. */
const openingsMax = 1024

/** What the families take from the generators in use. */
export type FamiliesInUseDeps = OpenGeneratorDeps & {
  readonly records: GeneratorRecords
  readonly families: FamilyRecords
  readonly plans: IssuingPlans
  readonly gates: IssuingGates
  readonly led: LedGenerators | undefined
  /** Has the figures of families that were closed. */
  readonly ended: EndedGenerators
  /** The generators that are open here: families and their names are among them. */
  readonly names: NameTable<OpenGenerator>
  /** They are served in the step in which a name can be found. */
  readonly waiting: Pick<WaitingCallers, 'serve'>
}

/** A family that is open here. */
type OpenFamily = {
  readonly pattern: string
  readonly found: ReadGenerator
  readonly plan: IssuingPlan
  readonly mode: IssuingMode
  readonly generator: OpenGenerator
  readonly issuer: FamilyIssuer
  /** By slot. */
  readonly sections: Map<number, OpenSection>
  readonly batches: Map<number, GroupCommit>
  readonly standbys: Map<number, OpenedIssuer>
  readonly opening: Map<number, Promise<void>>
  isClosed: boolean
}

/** Opens and closes families and sections. */
export class FamiliesInUse {
  readonly #deps: FamiliesInUseDeps
  readonly #mayIssueStrict: () => boolean
  readonly #names: FamilyNames
  /** By prefix. */
  readonly #open = new Map<string, OpenFamily>()
  readonly #opening = new Map<string, Promise<void>>()
  readonly #openings = new Limiter(openingsMax)
  /** Sections that have been replaced after the end of their gate, and are closed when that is told. */
  readonly #replaced: OpenSection[] = []
  #closingEnded: Promise<void> | undefined

  constructor(deps: FamiliesInUseDeps) {
    this.#deps = deps
    this.#mayIssueStrict = issuingRight(deps)
    this.#names = new FamilyNames(deps.names, deps.runs, deps.clock, deps.familyNamesMax)
  }

  /** Whether a family, announced or active, has this name, or is of this name. */
  has(name: string): boolean {
    return this.#deps.families.has(name)
  }

  /**
   * Brings a name into memory in this step. Returns its entry; 0: no family has the name, its section is not open here, or the name
   * needs a closer look than one of plain characters.
   */
  enter(name: string): number {
    const family = this.#familyOf(name)
    const open = family?.sections.get(slotOf(name))
    return open !== undefined && open.section.over === undefined ? this.#names.enter(open, name) : 0
  }

  /** As `enter`, and returns what issues for the name here, also where nothing is kept in memory of it. */
  opened(name: string): OpenGenerator | undefined {
    const family = this.#familyOf(name)
    return family && this.#enter(family, name)
  }

  /**
   * Brings a name into memory, or opens the family itself, and serves the callers that wait for it. Undefined: no family has this
   * name. Rejects with CONFLICT while a family is being created that will have it.
   */
  async open(name: string): Promise<OpenGenerator | undefined> {
    checkName(name)
    const { index } = this.#deps.families
    for (;;) {
      const entry = index.claiming(name)
      if (entry === undefined) return undefined
      if (entry.state === 'announced') {
        // It may be active, or gone, by now.
        await index.fresh()
        if (index.claiming(name)?.state === 'announced') throw beingCreated(patternOf(entry))
        continue
      }
      const family = this.#open.get(entry.prefix)
      if (family === undefined) {
        await this.#openFamily(entry.prefix)
        continue
      }
      const opened = this.#find(name) ?? this.#enter(family, name)
      if (opened === undefined) {
        await this.#openSlot(family, slotOf(name))
        continue
      }
      this.#deps.waiting.serve(opened)
      return opened
    }
  }

  /** A name leaves memory, if this generator stands for it. */
  forget(generator: OpenGenerator): void {
    this.#names.forget(generator)
  }

  /** Closes a family: stops all its sections before it returns. Resolves when they have released what they had left. */
  async close(pattern: string, reason: Error): Promise<void> {
    const family = this.#open.get(pattern.slice(0, -1))
    if (family?.pattern === pattern) await this.#close([family], () => reason)
  }

  /** Closes every family. Resolves to the sections for whose releases there was no time. */
  closeAll(reason?: Error): Promise<Section[]> {
    return this.#close([...this.#open.values()], ({ pattern }) => reason ?? altered(pattern))
  }

  /** Closes the sections whose gates have ended, those of all gates that end together by one walk over the names in memory. */
  closeEnded(): Promise<void> {
    this.#closingEnded ??= nextTurn().then(() => {
      this.#closingEnded = undefined
      const ended = this.#replaced.splice(0)
      for (const { sections } of this.#open.values())
        for (const [slot, open] of sections) {
          if (open.gate.ended === undefined) continue
          sections.delete(slot)
          ended.push(open)
        }
      return this.#names.close(ended).then(() => {})
    })
    return this.#closingEnded
  }

  /** A record has another version. */
  changed(pattern: string, version: bigint): void {
    const family = this.#open.get(pattern.slice(0, -1))
    if (family?.pattern === pattern && version > family.generator.version)
      void this.close(pattern, altered(pattern))
  }

  /** Throws where an invariant is broken. For tests. */
  assertInvariants(): void {
    this.#names.assertInvariants()
    for (const { batches } of this.#open.values())
      for (const batch of batches.values()) batch.assertInvariants()
  }

  async #close(families: readonly OpenFamily[], reason: (family: OpenFamily) => Error): Promise<Section[]> {
    const closing: Promise<unknown>[] = []
    const sections: OpenSection[] = []
    for (const family of families) {
      this.#open.delete(family.pattern.slice(0, -1))
      this.#deps.names.delete(family.pattern)
      family.isClosed = true
      sections.push(...family.sections.values())
      for (const batch of family.batches.values()) closing.push(batch.close(reason(family)))
    }
    // All in one walk over the names in memory; families that are closed together have one reason.
    const late = sections.length === 0 ? [] : this.#names.close(sections, reason(families[0]!))
    closing.push(
      ...families.map(({ generator }) => this.#deps.ended.add(generator, async () => void (await late))),
    )
    await Promise.all(closing)
    return late
  }

  /** The family of a plain name, if it is open here. */
  #familyOf(name: string): OpenFamily | undefined {
    if (this.#open.size === 0 || !plainName.test(name)) return undefined
    const entry = this.#deps.families.index.claiming(name)
    const family = entry?.state === 'active' ? this.#open.get(entry.prefix) : undefined
    return name === family?.pattern ? undefined : family
  }

  /** The generator of a name in memory. */
  #find(name: string): OpenGenerator | undefined {
    const known = this.#deps.names.get(name)
    if (known?.isOver !== true) return known
    this.#names.forget(known)
    return undefined
  }

  /** A family that cannot be opened, because a drop has ended between its two writes, is noted as dropped. */
  #openFamily(prefix: string): Promise<void> {
    let opening = this.#opening.get(prefix)
    if (opening === undefined) {
      opening = this.#readFamily(patternOf({ prefix })).finally(() => this.#opening.delete(prefix))
      this.#opening.set(prefix, opening)
    }
    return opening
  }

  async #readFamily(pattern: string): Promise<void> {
    const found = await this.#deps.records.live(pattern)
    if (found === undefined || !found.stored.definition.family) {
      await this.#deps.families.dropped(pattern)
      return
    }
    const plan = this.#deps.plans.of(found.stored.definition)
    const mode = await modeOf(this.#deps, 'sequence')
    const sections = new Map<number, OpenSection>()
    const batches = new Map<number, GroupCommit>()
    const issuer = new FamilyIssuer(pattern, this.#deps.clock, () => this.#names.count())
    const { record } = found
    const opened = { issuer, mode }
    const generator = new OpenGenerator(
      incarnationOf(pattern, found),
      record!.version,
      plan,
      opened,
      this.#deps,
    )
    const maps = { sections, batches, standbys: new Map(), opening: new Map() }
    this.#open.set(pattern.slice(0, -1), {
      pattern,
      found,
      plan,
      mode,
      generator,
      issuer,
      ...maps,
      isClosed: false,
    })
    this.#deps.names.set(pattern, generator)
  }

  #enter(family: OpenFamily, name: string): OpenGenerator | undefined {
    if (name === family.pattern) return family.generator
    const slot = slotOf(name)
    const { batches, sections, standbys, mode } = family
    const batch = batches.get(slot)
    if (batch !== undefined) return this.#stand(family, name, { issuer: batch.issuerOf(name), mode })
    const open = sections.get(slot)
    if (open?.section.over === undefined) {
      if (open !== undefined) return this.#deps.names.at(this.#names.enter(open, name))
    } else {
      sections.delete(slot)
      this.#replaced.push(open)
    }
    const { cluster, waitersMax } = this.#deps
    if (cluster === undefined || cluster.here(slot) !== undefined) return undefined
    const issuer = standbys.get(slot) ?? standby(cluster, name, waitersMax)
    standbys.set(slot, issuer)
    return this.#stand(family, name, issuer)
  }

  #stand(family: OpenFamily, name: string, opened: OpenedIssuer): OpenGenerator {
    const incarnation = this.#incarnation(family, name, slotOf(name))
    return new OpenGenerator(incarnation, family.generator.version, family.plan, opened, this.#deps)
  }

  #incarnation({ pattern, found }: OpenFamily, name: string, slot: number): Incarnation {
    return { ...incarnationOf(name, found), counter: sectionCounter(pattern, slot) }
  }

  /** Opens what issues for the names of a slot, unless the right to issue, or the family, has ended meanwhile. */
  #openSlot(family: OpenFamily, slot: number): Promise<void> {
    let opening = family.opening.get(slot)
    if (opening === undefined) {
      const open = () => this.#openInTurn(family, slot)
      opening = openInTurn(this.#openings, this.#deps.clock, open).finally(() => family.opening.delete(slot))
      family.opening.set(slot, opening)
    }
    return opening
  }

  async #openInTurn(family: OpenFamily, slot: number): Promise<void> {
    const { engine, cluster, copies, gates, led, families } = this.#deps
    const { pattern, plan, mode, found } = family
    const term = cluster?.here(slot)
    // Before anything is asked: the gate of a right that ends meanwhile has ended then.
    const gate = term === undefined ? gates.of('sequence') : led!.gateOf(slot, term)
    if (gate === undefined || (cluster !== undefined && term === undefined)) return nextTurn()
    if (gate.ended !== undefined) throw gate.ended
    if (mode === 'local') await refuseUnlessOwner(engine, 'sequence', pattern)
    const copiesBefore = copies?.count
    const own = this.#incarnation(family, pattern, slot)
    const [dropped, { bound, fence }] = await Promise.all([
      families.floorOfSection(pattern, slot, plan.definition),
      // Where one process owns the store there is no fence, and the first reserve begins above the bound.
      mode === 'local' ? unread : engine.counter(own.counter),
    ])
    if (term !== undefined && fence > term.fence && cluster!.held(slot) === term) {
      cluster!.sealedOut(term, fence)
      throw slotNotServed()
    }
    if (family.isClosed || copies?.count !== copiesBefore) return
    const incarnation = { ...own, floor: larger(own.floor, dropped), ...(term && { fence: term.fence }) }
    if (mode === 'group commit') {
      const batch = plan.issuers.groupCommit(incarnation, bound)
      family.batches.set(slot, batch)
      family.issuer.add(batch)
      return
    }
    if (gate.ended !== undefined || (term === undefined && !this.#mayIssueStrict())) return
    const number = this.#names.newNumber()
    const { rows } = this.#names
    const section = plan.issuers.section(incarnation, bound, { rows, number, gate })
    const open: OpenSection = {
      section,
      number,
      gate,
      issuer: family.issuer,
      hasFormat: found.stored.definition.format !== undefined,
      generatorOf: (name, row) => {
        const issuer = new SectionMember(name, row, section, rows)
        const opened = term === undefined ? { issuer, mode } : { issuer, mode, under: term }
        return new OpenGenerator({ ...own, name }, family.generator.version, plan, opened, this.#deps)
      },
    }
    this.#names.add(open)
    family.sections.set(slot, open)
    family.standbys.delete(slot)
    cluster?.check()
  }
}

function beingCreated(pattern: string): FahaoError {
  return new FahaoError(
    'CONFLICT',
    `family '${pattern}' is being created; retry in a moment, and if it stays so, create it again or drop it`,
  )
}
