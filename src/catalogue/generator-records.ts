/**
 * The records of generators, and the only place that changes them.
 *
 * Invariants
 *  1. A record is changed by conditional writes only.
 *  2. Every change of a fixed option, every drop and every creation after a drop raises the incarnation, and the floor of
 *     the new incarnation lies above every id of the old one.
 *  3. A change of a fixed option goes through the state `altering`; no caller sees a record in this state.
 */
import { everyName, isBefore, type NameRange } from '../auth/name-ranges.ts'
import { advising } from '../base/advice.ts'
import { compareBytes } from '../base/byte-order.ts'
import { FahaoError } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import { larger } from '../engine/advance-rules.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'
import { SharedLookUps } from '../engine/look-ups.ts'
import { isStrict } from '../issuing/issuer.ts'
import type { ListedGenerator, ListPart, PartOfList } from './catalogue.ts'
import { type Definition, define, differences, fixedOptions, isCounter } from './definition.ts'
import { refuseNewFormat } from './definition-formats.ts'
import type { RecordDeps } from './deps.ts'
import type { FamilyRecords } from './families/family-records.ts'
import { type FloorMove, refuseFloor, refuseJump } from './floor.ts'
import type { ForeignRows } from './foreign-rows.ts'
import type { GeneratorInput, GeneratorOptions } from './generator-options.ts'
import {
  beginChange,
  completeChange,
  floorAfter,
  floorAfterChange,
  keptCounter,
  leastAfterChange,
  refuseUnchanged,
  waitForOtherNodes,
  waitForWatches,
} from './incarnation-change.ts'
import { checkName, checkNewName, looksAlike, nameBytesMax } from './name-rules.ts'
import {
  contended,
  familyStays,
  inFamily,
  isOffsetGiven,
  nextFloor,
  redefine,
  refuseDifferent,
  refuseOtherDomain,
  rowHasNoIncarnations,
} from './redefinition.ts'
import { seal } from './seal.ts'
import { refuseOtherTemplate } from './series.ts'
import {
  counterAfter,
  counterOf,
  definitionOf,
  firstOf,
  firstStored,
  generatorKey,
  generatorPrefix,
  holdsGenerator,
  newKey,
  type ReadGenerator,
  readKnown,
  type StoredGenerator,
  writeStored,
} from './stored-generator.ts'

const changeTries = 20

/** Reads and changes generators. */
export class GeneratorRecords {
  readonly #deps: RecordDeps
  readonly #engine: Engine
  readonly #timeline: Timeline
  readonly #rows: ForeignRows | undefined
  readonly #families: FamilyRecords
  readonly #lookUps: SharedLookUps

  constructor(deps: RecordDeps, families: FamilyRecords) {
    const { engine, timeline } = deps
    this.#deps = deps
    this.#families = families
    this.#engine = engine
    this.#lookUps = new SharedLookUps(engine)
    this.#timeline = timeline
    this.#rows = deps.rows
  }

  /** The live generator of this name, if there is one: its record, or else its row in another system's table. */
  async live(name: string): Promise<ReadGenerator | undefined> {
    const found = await this.look(name)
    return typeof found === 'object' ? found : undefined
  }

  /** As `live`; if there is none: whether the name was dropped, or has no record. */
  async look(name: string): Promise<ReadGenerator | 'dropped' | 'unused'> {
    const found = await this.#read(name)
    if (found?.stored.state === 'live') return found
    const row = this.#rows && (await this.#readRow(name))
    return row ?? (found === undefined ? 'unused' : 'dropped')
  }

  /** Creates it. EXISTS if there is one that differs in a given option, unless `onlyNew`; one that agrees is returned. */
  async create(
    name: string,
    options: GeneratorOptions,
    onlyNew = false,
  ): Promise<ReadGenerator & { readonly isNew: boolean }> {
    const key = generatorKey(name)
    for (let tries = 0; tries < changeTries; tries++) {
      const { advances } = this.#engine
      if (!options.family && this.#families.has(name)) throw inFamily(name)
      checkName(name)
      const first = this.#firstOf(name, options)
      const lookUp = { key, first: first && { value: writeStored(first) } }
      const { isNew, record: found, counter } = await this.#lookUps.ask(lookUp)
      if (isNew) {
        if (!(await this.isItself(name, { record: found, stored: first! }))) continue
        return { record: found, stored: first!, advances, isNew }
      }
      const before = found && (await this.#found(name, found, advances))
      if (before?.stored.state === 'live') {
        if (onlyNew) return { ...before, isNew: false }
        const wanted = define(options, this.#timeline.nowUs())
        refuseDifferent(name, options, wanted, before.stored.definition)
        if (wanted.family && !(await this.isItself(name, before))) continue
        return { ...before, isNew: false }
      }
      refuseNewFormat(options)
      const row = await this.#readRow(name)
      if (row === undefined) checkNewName(name)
      if (options.family) this.#families.check(name)
      const given = row && isCounter(options.kind) ? { ...row.stored.definition, ...options } : options
      const definition = define(given, this.#timeline.nowUs())
      refuseOtherTemplate(name, definition)
      this.#rows?.check(name, definition, row?.stored)
      if (row !== undefined && differences(definition, row.stored.definition).length === 0)
        return { ...row, isNew: false }
      // A store may have lost the record and kept the counter, which has the newest incarnation. A row has none.
      const newest = before?.stored ?? (row === undefined ? keptCounter(counter, definition) : undefined)
      const incarnation = (newest?.incarnation ?? 0n) + 1n
      const { drops } = this.#families
      const least = definition.family
        ? await this.#families.announce(name, definition)
        : await this.#families.floorOver(name, definition)
      const kept = before === undefined ? 0n : await this.#floorAfterDrop(name, before.stored, definition)
      const stored: StoredGenerator = {
        state: 'live',
        incarnation,
        // A row is its own counter.
        counter:
          before === undefined || row !== undefined
            ? undefined
            : counterAfter(name, before.stored, definition, incarnation),
        // A block of ids with a gene could begin below a bound that is all that is left of the record.
        floor: larger(larger(kept, least), before === undefined && definition.gene ? counter.bound : 0n),
        definition,
        key: newKey(definition),
        offsetGiven: options.offset !== undefined,
        loweredFrom: before?.stored.loweredFrom,
        ...(drops !== undefined && { drops }),
      }
      const record = await this.#engine.write(key, writeStored(stored), before?.record?.version)
      if (record === undefined || !(await this.isItself(name, { record, stored }))) continue
      // A row has no seal: other nodes issue by it until they receive the change.
      if (row !== undefined) await waitForOtherNodes(this.#deps, row.stored.definition, definition)
      return { record, stored, advances, isNew: true }
    }
    throw contended(name)
  }

  /**
   * Changes options. `move.floor`: a new incarnation, if the change begins one, starts at or above it. NOGENERATOR if there
   * is none, ERR if the options contradict each other. Resolves also to whether it began one.
   */
  async alter(
    name: string,
    changes: Partial<GeneratorInput>,
    move: FloorMove = {},
  ): Promise<ReadGenerator & { readonly isNext: boolean }> {
    if (changes.start !== undefined)
      throw new FahaoError(
        'ERR',
        `start matters only when a generator is created; use FLOOR to move '${name}' forward`,
      )
    const begun = await this.#change(name, (before) => this.#altered(name, before, changes, move))
    if (begun.stored.state !== 'altering') {
      // Until then sections of other nodes issue below the floor.
      if (begun.stored.definition.family && move.floor !== undefined) await waitForWatches(this.#deps)
      return { ...begun, isNext: false }
    }
    const after = await this.#complete(name, begun)
    if (after?.stored.state !== 'live') throw noGenerator(name, this.#deps.rows)
    refuseUnchanged(name, begun.stored, after.stored)
    return { ...after, isNext: true }
  }

  /**
   * Whether ids may be issued by a live generator, because its name belongs to no family and its floor respects every family
   * that was dropped. If not, it is dropped too.
   */
  async isItself(
    name: string,
    { record, stored }: Pick<ReadGenerator, 'record' | 'stored'>,
  ): Promise<boolean> {
    if (await this.#families.permit(name, stored)) return true
    const tombstone = writeStored({ ...stored, state: 'dropped', incarnation: stored.incarnation + 1n })
    if (record !== undefined) await this.#engine.write(generatorKey(name), tombstone, record.version)
    return false
  }

  /** Leaves a tombstone. NOGENERATOR if there is none, ERR if it is a row of another system's table. */
  async drop(name: string): Promise<void> {
    // What a creation of the family, or a drop, has left that ended in between.
    if (name.endsWith('*') && (await this.live(name)) === undefined) await this.#families.dropped(name)
    const { stored } = await this.#change(name, (before, { record }) => {
      if (record === undefined)
        throw new FahaoError(
          'ERR',
          `generator '${name}' is a row of ${this.#rows!.table}; remove the row there, and it is gone here within seconds`,
        )
      return Promise.resolve({ ...before, state: 'dropped', incarnation: before.incarnation + 1n })
    })
    if (stored.definition.family) await this.#families.dropped(name)
    else await seal(this.#engine, name, stored)
  }

  /** Raises the bound of a counter. See `seal` and `refuseJump`. */
  async raise(name: string, stored: StoredGenerator, floor: bigint, force: boolean): Promise<void> {
    if (!force) {
      const { bound } = await this.#engine.counter(counterOf(name, stored))
      const first = firstOf(stored.floor, stored.definition)
      refuseJump(name, (bound > first ? bound : first) - 1n, floor - 1n, stored.definition.max!)
    }
    await seal(this.#engine, name, stored, floor)
  }

  /** See `Catalogue.page`. A later part of rows of another system's table reads the table as the part before saw it. */
  async page({ ranges = everyName, after, looks, wanted = () => true }: PartOfList): Promise<ListPart> {
    const found: ListedGenerator[] = []
    let left = looks
    for (const [index, range] of ranges.entries()) {
      if (after !== undefined && isBefore(range, after)) continue
      const from = index > 0 ? (after ?? '') : after
      const { live, count, last } = await this.#part(range, from, Math.max(1, left), wanted)
      found.push(...live)
      left -= count
      if (last !== undefined && left <= 0) return { found, next: last }
    }
    return { found, next: undefined }
  }

  /** Looks at up to `size` names of a range, recorded or rows. `last`: the last of these names; the range may have more. */
  async #part(
    { prefix, isExact }: NameRange,
    after: string | undefined,
    size: number,
    wanted: (name: string) => boolean,
  ): Promise<{ live: ListedGenerator[]; count: number; last: string | undefined }> {
    if (Buffer.byteLength(prefix) > nameBytesMax) return { live: [], count: 0, last: undefined }
    const limit = isExact ? 1 : size
    const page = { limit, ...(after !== undefined && { after: generatorKey(after) }) }
    const [records, rows] = await Promise.all([
      this.#engine.list(generatorKey(prefix), page),
      this.#rows?.list(prefix, after, limit) ?? [],
    ])
    // A record replaces the row of its name, unless it was dropped.
    const byName = new Map<string, { definition: Definition | undefined } | StoredRecord>()
    for (const row of rows) byName.set(row.name, row)
    for (const record of records) {
      const name = record.key.slice(generatorPrefix.length)
      if (!byName.has(name) || holdsGenerator(record)) byName.set(name, record)
    }
    const names = [...byName.keys()].sort(compareBytes).slice(0, limit)
    const live: ListedGenerator[] = []
    for (const name of names) {
      if ((isExact && name !== prefix) || !wanted(name)) continue
      const definition = definitionOf(byName.get(name)!)
      if (definition !== undefined) live.push({ name, definition })
    }
    const last = isExact ? prefix : names.at(-1)
    return { live, count: Math.max(1, names.length), last: names.length < limit ? undefined : last }
  }

  async #read(name: string): Promise<ReadGenerator | undefined> {
    checkName(name)
    const { advances } = this.#engine
    const record = await this.#engine.read(generatorKey(name))
    return record && this.#found(name, record, advances)
  }

  async #found(name: string, record: StoredRecord, advances: number): Promise<ReadGenerator | undefined> {
    const found = { record, stored: readKnown(name, record), advances }
    return found.stored.state === 'altering' ? this.#complete(name, found) : found
  }

  /** What is stored for a name that was never used. Undefined: its creation takes more steps, or is refused. */
  #firstOf(name: string, options: GeneratorOptions): StoredGenerator | undefined {
    const isWritten = options.format !== undefined || options.template !== undefined
    if (isWritten || this.#rows !== undefined || options.family) return undefined
    if (this.#families.concern(name) || looksAlike(name)) return undefined
    const definition = define(options, this.#timeline.nowUs())
    return firstStored(definition, options.offset !== undefined, this.#families.drops)
  }

  async #readRow(name: string): Promise<ReadGenerator | undefined> {
    const { advances } = this.#engine
    const stored = await this.#rows?.read(name)
    return stored && { record: undefined, stored, advances }
  }

  async #complete(name: string, begun: ReadGenerator): Promise<ReadGenerator | undefined> {
    const after = await completeChange(this.#deps, name, begun)
    return after ?? this.#read(name)
  }

  /** Changes a live record, and tries again while other writes come first. */
  async #change(
    name: string,
    change: (before: StoredGenerator, found: ReadGenerator) => Promise<StoredGenerator>,
  ): Promise<ReadGenerator> {
    for (let tries = 0; tries < changeTries; tries++) {
      const before = await this.live(name)
      if (before === undefined) throw noGenerator(name, this.#deps.rows)
      const stored = await change(before.stored, before)
      const value = writeStored(stored)
      if (value === before.record?.value) return before
      const over = before.record === undefined ? await this.#read(name) : before
      if (over !== before && over?.stored.state === 'live') continue
      const record = await this.#engine.write(generatorKey(name), value, over?.record?.version)
      if (record !== undefined) return { record, stored, advances: before.advances }
    }
    throw contended(name)
  }

  async #altered(
    name: string,
    before: StoredGenerator,
    changes: Partial<GeneratorInput>,
    { floor, force = false, now = false }: FloorMove,
  ): Promise<StoredGenerator> {
    const row = await this.#readRow(name)
    const definition = redefine(before, changes, this.#timeline.nowUs())
    refuseOtherTemplate(name, definition)
    if (changes.format !== undefined && changes.format !== before.definition.format)
      refuseNewFormat(definition)
    const offsetGiven = isOffsetGiven(before, changes, definition)
    if (row !== undefined) this.#rows!.check(name, definition, row.stored)
    if (definition.family !== before.definition.family) throw familyStays(name)
    const isSame = fixedOptions.every((option) => definition[option] === before.definition[option])
    if (isSame) refuseOtherDomain(name, before.definition, definition)
    if (definition.family && floor !== undefined) {
      refuseFloor(name, { definition }, floor)
      if (!force) refuseJump(name, firstOf(before.floor, definition) - 1n, floor - 1n, definition.max!)
      return { ...before, definition, offsetGiven, ...nextFloor(before, floor) }
    }
    // A strict generator has one issuer, which moves at once.
    const startsAnew = now && floor !== undefined && !isStrict(definition.kind)
    const { key = newKey(definition) } = before
    if (isSame && !startsAnew) return { ...before, definition, offsetGiven, key }
    if (floor !== undefined) refuseFloor(name, { definition }, floor)
    if (startsAnew && row !== undefined) throw rowHasNoIncarnations(name, this.#rows!.table)
    const nowUs = this.#timeline.nowUs()
    const change = { next: definition, nextOffsetGiven: offsetGiven, nextFloor: floor }
    const begun = beginChange(before, change, nowUs)
    // Rejects early what is impossible. The floor is computed again when the old incarnation has ended.
    const least = await leastAfterChange(this.#engine, name, begun, nowUs)
    floorAfterChange(name, begun, least)
    if (floor !== undefined && !force)
      refuseJump(name, firstOf(least, definition) - 1n, floor - 1n, definition.max!)
    return begun
  }

  /** Seals first: the process that dropped it may have crashed before its seal, and later reserves could pass the floor. */
  async #floorAfterDrop(name: string, dropped: StoredGenerator, next: Definition): Promise<bigint> {
    await seal(this.#engine, name, dropped)
    await waitForOtherNodes(this.#deps, dropped.definition, next)
    return floorAfter(this.#engine, name, dropped, next, this.#timeline.nowUs())
  }
}

/** The error for a name without a generator, which says how to create one. */
export function noGenerator(name: string, rows?: Pick<ForeignRows, 'table'>): FahaoError {
  return advising('NOGENERATOR', (say) => {
    const create = say({ operation: 'id.create', name, options: { kind: 'sequence' } })
    const row = `insert a row for it into ${rows?.table}, where ids are counted, as before`
    return `no generator '${name}'; ${rows === undefined ? `create it with: ${create}` : row}`
  })
}

/** The error for calls on a generator that another object has replaced. */
export function altered(name: string): FahaoError {
  return new FahaoError('STALE', `generator '${name}' has just been altered; retry`)
}

/** The error for calls while the node stops. */
export function stopping(): FahaoError {
  return new FahaoError('SHUTDOWN', 'this node is stopping; retry on another, or here in a moment')
}
