/**
 * What the records of families and of generators demand of each other: where a family begins above generators that were
 * dropped, a generator above families that were dropped, and which name belongs to which.
 *
 * Invariants
 *  1. When a family becomes active, no generator has one of its names; a record that is written later is never used.
 *     The search comes after the announcement, and after the time in which every node receives that.
 *  2. A family begins above every id of a generator whose name it takes over, and a generator above every id that its name
 *     had in a family. The counter of what was dropped is sealed before it is read.
 */
import { FahaoError } from '../../base/errors.ts'
import { slotOf } from '../../cluster/slots.ts'
import { larger } from '../../engine/advance-rules.ts'
import { nextTurn } from '../../engine/next-turn.ts'
import { max53 } from '../../ids/limits.ts'
import type { Definition } from '../definition.ts'
import type { RecordDeps } from '../deps.ts'
import { floorAfter, waitForWatches } from '../incarnation-change.ts'
import { checkName } from '../name-rules.ts'
import { seal } from '../seal.ts'
import { generatorKey, generatorPrefix, readStored, type StoredGenerator } from '../stored-generator.ts'
import { type FamilyEntry, type FamilyIndex, patternOf } from './family-index.ts'

/** Counters of sections: `families/SLOT/NAME`. */
export const sectionPrefix = 'families/'
/** How many records are looked at together. */
const pageSize = 256

/** The counter of one section of a family. */
export function sectionCounter(pattern: string, slot: number): string {
  return `${sectionPrefix}${slot}/${pattern}`
}

/** Keeps families and generators apart. */
export class FamilyRecords {
  readonly index: FamilyIndex
  readonly #deps: RecordDeps

  constructor(deps: RecordDeps, index: FamilyIndex) {
    this.#deps = deps
    this.index = index
  }

  /** Rejects unless a family of this name can be created. */
  check(pattern: string): void {
    checkName(pattern)
    if (this.#deps.rows !== undefined)
      throw new FahaoError(
        'ERR',
        `the store has rows of ${this.#deps.rows.table}, and no families beside them`,
      )
    if (/^[^*?[\]\\]*\*$/.test(pattern)) return
    throw new FahaoError(
      'ERR',
      `'${pattern}' cannot be a family: its name is what all its names begin with, and a * at the end`,
    )
  }

  /** Announces a family, and returns the least value that it may begin with. EXISTS if a generator has one of its names. */
  async announce(pattern: string, definition: Definition): Promise<bigint> {
    const prefix = prefixOf(pattern)
    // Before the announcement, which keeps such generators from being opened.
    await this.#refuseLive(prefix)
    await this.index.announce(prefix)
    await waitForWatches(this.#deps)
    try {
      return await this.#floorAbove(prefix, definition)
    } catch (error) {
      await this.index.withdraw(prefix)
      throw error
    }
  }

  /** The record of the family is live: its names are in use from now on. False if the announcement was taken back. */
  activate(pattern: string): Promise<boolean> {
    return this.index.activate(prefixOf(pattern))
  }

  /** The record of the family is gone, or was never written: notes so. */
  async dropped(pattern: string): Promise<void> {
    const prefix = prefixOf(pattern)
    await this.index.withdraw(prefix)
    await this.index.drop(prefix)
  }

  /** The least value that a generator of this name may begin with, above families that had the name. */
  async floorOver(name: string, next: Definition): Promise<bigint> {
    return this.#above(this.index.droppedOver(name), slotOf(name), next)
  }

  /** The least value that a section may begin with, above other families that had names of it. */
  async floorOfSection(pattern: string, slot: number, next: Definition): Promise<bigint> {
    return this.#above(this.index.droppedBeside(prefixOf(pattern)), slot, next)
  }

  /** Whether a family, announced or active, has this name as far as this node knows. */
  has(name: string): boolean {
    return this.index.claiming(name) !== undefined
  }

  /** Whether this name belongs to a family, or belonged to one that was dropped, as far as this node knows. */
  concern(name: string): boolean {
    return this.has(name) || this.index.droppedOver(name).length > 0
  }

  /**
   * Whether ids may be issued by a generator that was read or written before this call. Not if its name belongs to a family,
   * or if its floor does not respect one that was dropped; a family itself has to be announced or active.
   */
  async permit(name: string, stored: StoredGenerator): Promise<boolean> {
    if (stored.definition.family) return this.activate(name)
    await this.index.fresh()
    return this.permits(name, stored)
  }

  /** As `permit`, by an index that was fresh after the generator was read or written. False of a family. */
  permits(name: string, { definition, drops = 0 }: StoredGenerator): boolean {
    if (definition.family || this.has(name)) return false
    return this.index.droppedOver(name).every(({ drop }) => drop! <= drops)
  }

  /** The `drops` of a generator whose floor respects every drop that is known. Undefined: there was none. */
  get drops(): number | undefined {
    return this.index.drops || undefined
  }

  async #above(dropped: readonly FamilyEntry[], slot: number, next: Definition): Promise<bigint> {
    const { engine, timeline } = this.#deps
    let floor = 0n
    for (const entry of dropped) {
      const pattern = patternOf(entry)
      const record = await engine.read(generatorKey(pattern))
      if (record === undefined) continue
      const old = { ...readStored(record), counter: sectionCounter(pattern, slot) }
      await seal(engine, pattern, old)
      floor = larger(floor, await floorAfter(engine, pattern, old, next, timeline.nowUs()))
    }
    return floor
  }

  async #refuseLive(prefix: string): Promise<void> {
    for await (const { name, stored } of this.#namedBelow(prefix))
      if (stored.state !== 'dropped' && !stored.definition.family) throw taken(prefix, name)
  }

  async #floorAbove(prefix: string, definition: Definition): Promise<bigint> {
    const { engine, timeline } = this.#deps
    let floor = 0n
    let batch: Promise<bigint>[] = []
    for await (const { name, stored } of this.#namedBelow(prefix)) {
      if (stored.definition.family || name === `${prefix}*`) continue
      if (stored.state !== 'dropped') throw taken(prefix, name)
      const above = async () => {
        await seal(engine, name, stored)
        return floorAfter(engine, name, stored, definition, timeline.nowUs())
      }
      batch.push(above())
      if (batch.length < pageSize) continue
      for (const each of await Promise.all(batch)) floor = larger(floor, each)
      batch = []
      await nextTurn()
    }
    for (const each of await Promise.all(batch)) floor = larger(floor, each)
    if (floor > max53)
      throw new FahaoError('ERR', `names of '${prefix}*' have had ids past 2^53−1; use another one`)
    return floor
  }

  async *#namedBelow(prefix: string): AsyncGenerator<{ name: string; stored: StoredGenerator }> {
    for (let after: string | undefined; ; ) {
      const page = { limit: pageSize, ...(after !== undefined && { after }) }
      const records = await this.#deps.engine.list(generatorKey(prefix), page)
      for (const record of records)
        yield { name: record.key.slice(generatorPrefix.length), stored: readStored(record) }
      if (records.length < pageSize) return
      after = records.at(-1)!.key
    }
  }
}

function prefixOf(pattern: string): string {
  return pattern.slice(0, -1)
}

function taken(prefix: string, name: string): FahaoError {
  return new FahaoError(
    'EXISTS',
    `generator '${name}' has a name of family '${prefix}*'; drop such generators first, and the family continues above their ids`,
  )
}
