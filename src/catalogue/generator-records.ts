/**
 * The records of generators, and the only place that changes them.
 *
 * Invariants
 *  1. A record is changed by conditional writes only.
 *  2. Every change of what is fixed, every drop and every creation after a drop raises the incarnation, and
 *     the floor of the new incarnation lies above every id of the old one.
 */
import { FahaoError } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import { boundMax, type Engine, type StoredRecord } from '../engine/engine.ts'
import { type Definition, define, differences, fixedOptions } from './definition.ts'
import { floorAfter } from './incarnation.ts'
import { checkName } from './names.ts'
import { type GeneratorInput, type GeneratorOptions, optionText, parseOptions } from './options.ts'
import { generatorKey, generatorPrefix, readStored, type StoredGenerator, writeStored } from './stored.ts'

const changeTries = 20

/** A generator's record, read. */
export type ReadGenerator = { readonly record: StoredRecord; readonly stored: StoredGenerator }

/** See the invariants at the top of the file. */
export class GeneratorRecords {
  readonly #engine: Engine
  readonly #timeline: Timeline

  constructor(engine: Engine, timeline: Timeline) {
    this.#engine = engine
    this.#timeline = timeline
  }

  /** The live generator of this name, if there is one. */
  async live(name: string): Promise<ReadGenerator | undefined> {
    const found = await this.#read(name)
    return found?.stored.state === 'live' ? found : undefined
  }

  /** Creates it. EXISTS when one differs in what `options` ask for; one that agrees is returned. */
  async create(name: string, options: GeneratorOptions): Promise<ReadGenerator> {
    const definition = define(options, this.#timeline.nowUs())
    for (let tries = 0; tries < changeTries; tries++) {
      const before = await this.#read(name)
      if (before?.stored.state === 'live') {
        refuseDifferent(name, options, definition, before.stored.definition)
        return before
      }
      const stored: StoredGenerator = {
        state: 'live',
        incarnation: (before?.stored.incarnation ?? 0n) + 1n,
        floor: before === undefined ? 0n : await this.#floorAfterDrop(name, before.stored, definition),
        definition,
        key: newKey(definition),
      }
      const record = await this.#engine.write(generatorKey(name), writeStored(stored), before?.record.version)
      if (record !== undefined) return { record, stored }
    }
    throw contended(name)
  }

  /** Changes options. NOGENERATOR when there is none, ERR when they do not go together. */
  async alter(name: string, changes: Partial<GeneratorInput>): Promise<ReadGenerator> {
    if (changes.start !== undefined) {
      throw new FahaoError(
        'ERR',
        `start matters only when a generator is created; use FLOOR to move '${name}' forward`,
      )
    }
    let before: StoredGenerator | undefined
    const after = await this.#change(name, (found) => {
      before = found
      return this.#altered(name, found, changes)
    })
    if (after.stored.incarnation !== before?.incarnation) await this.seal(name, after.stored)
    return after
  }

  /** Leaves a tombstone. NOGENERATOR when there is none. */
  async drop(name: string): Promise<void> {
    const { stored } = await this.#change(name, (before) =>
      Promise.resolve({ ...before, state: 'dropped', incarnation: before.incarnation + 1n }),
    )
    await this.seal(name, stored)
  }

  /**
   * Makes the counter refuse earlier incarnations at once, rather than at the next reserve, and raises its
   * bound to `floor`.
   */
  async seal(name: string, stored: StoredGenerator, floor = 0n): Promise<void> {
    if (stored.definition.kind === 'snowflake') return
    await this.#engine.reserve(generatorKey(name), {
      size: 0n,
      floor,
      max: boundMax,
      incarnation: stored.incarnation,
    })
  }

  /** Live generators in byte order of their names, after `after`, at most `limit`. */
  async list(after: string | undefined, limit: number): Promise<{ name: string; definition: Definition }[]> {
    const found: { name: string; definition: Definition }[] = []
    let afterKey = after === undefined ? undefined : generatorKey(after)
    while (found.length < limit) {
      const wanted = limit - found.length
      const page = { limit: wanted, ...(afterKey === undefined ? {} : { after: afterKey }) }
      const records = await this.#engine.list(generatorPrefix, page)
      for (const record of records) {
        const { state, definition } = readStored(record)
        if (state === 'live') found.push({ name: record.key.slice(generatorPrefix.length), definition })
      }
      if (records.length < wanted) break
      afterKey = records.at(-1)!.key
    }
    return found
  }

  async #read(name: string): Promise<ReadGenerator | undefined> {
    checkName(name)
    const record = await this.#engine.read(generatorKey(name))
    return record && { record, stored: readStored(record) }
  }

  /** Changes a live record, again and again as long as others are faster. */
  async #change(
    name: string,
    change: (before: StoredGenerator) => Promise<StoredGenerator>,
  ): Promise<ReadGenerator> {
    for (let tries = 0; tries < changeTries; tries++) {
      const before = await this.live(name)
      if (before === undefined) throw noGenerator(name)
      const stored = await change(before.stored)
      const value = writeStored(stored)
      if (value === before.record.value) return before
      const record = await this.#engine.write(before.record.key, value, before.record.version)
      if (record !== undefined) return { record, stored }
    }
    throw contended(name)
  }

  async #altered(
    name: string,
    before: StoredGenerator,
    changes: Partial<GeneratorInput>,
  ): Promise<StoredGenerator> {
    const definition = redefine(before.definition, changes, this.#timeline.nowUs())
    const rescrambled = definition.scramble || before.definition.scramble
    if (fixedOptions.every((option) => definition[option] === before.definition[option])) {
      if (!rescrambled || definition.max === before.definition.max) return { ...before, definition }
      throw new FahaoError(
        'ERR',
        `max is the domain that '${name}' scrambles; another would repeat ids: use another name`,
      )
    }
    const floor = await this.#floorAfter(name, before, definition)
    return { ...before, definition, incarnation: before.incarnation + 1n, floor, key: newKey(definition) }
  }

  /** Seals first: who dropped it may have died before, and its reserves could pass the floor. */
  async #floorAfterDrop(name: string, dropped: StoredGenerator, next: Definition): Promise<bigint> {
    await this.seal(name, dropped)
    return this.#floorAfter(name, dropped, next)
  }

  #floorAfter(name: string, old: StoredGenerator, next: Definition): Promise<bigint> {
    return floorAfter(this.#engine, name, old, next, this.#timeline.nowUs())
  }
}

/** The answer to a name that nobody has created, with the way to do it. */
export function noGenerator(name: string): FahaoError {
  return new FahaoError(
    'NOGENERATOR',
    `no generator '${name}'; create it with: ID.CREATE ${name} KIND sequence (or fahao create ${name} --kind sequence)`,
  )
}

function contended(name: string): FahaoError {
  return new FahaoError(
    'CONFLICT',
    `generator '${name}' is being changed by others; look at it again and retry`,
  )
}

/** A definition with changes laid over it; another kind starts from that kind's defaults. */
function redefine(before: Definition, changes: Partial<GeneratorInput>, nowUs: number): Definition {
  const kept = changes.kind === undefined || changes.kind === before.kind ? before : { kind: before.kind }
  return define(parseOptions({ ...kept, ...changes }), nowUs)
}

function newKey(definition: Definition): string | undefined {
  if (!definition.scramble && definition.within !== 'shuffled') return undefined
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}

/** What was asked for must be what is there; what was not asked for may be anything. */
function refuseDifferent(
  name: string,
  options: GeneratorOptions,
  wanted: Definition,
  stored: Definition,
): void {
  const asked = new Set<string>(
    Object.keys(options).map((option) => (option === 'epoch' ? 'layout' : option)),
  )
  const different = differences(wanted, stored).filter((option) => asked.has(option))
  if (different.length === 0) return
  const list = different.map(
    (option) => `${option} is ${textOf(stored, option)}, not ${textOf(wanted, option)}`,
  )
  throw new FahaoError(
    'EXISTS',
    `generator '${name}' exists and differs: ${list.join('; ')}; alter it, or use another name`,
  )
}

function textOf(definition: Definition, option: keyof Definition): string {
  const value = definition[option]
  return value === undefined ? 'not set' : optionText(option, value)
}
