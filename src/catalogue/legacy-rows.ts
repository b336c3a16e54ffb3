/**
 * Rows of another system's table as generators: what the engine shows under `legacyPrefix`, read, and what may be
 * laid over it by a record of one's own. The old nodes go on issuing by the row, so nothing that decides which
 * ids are the row's can be another here.
 */
import { describe, FahaoError } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import { type Engine, legacyPrefix, type StoredRecord } from '../engine/engine.ts'
import { type Definition, define } from './definition.ts'
import { type GeneratorInput, type GeneratorOptions, optionText, parseOptions } from './options.ts'
import { newKey } from './permutation-key.ts'
import type { ReadGenerator, StoredGenerator } from './stored.ts'

/**
 * The largest refill on a row, unless the row's step is larger: Leaf's own limit. Ids of such tables are often short, and
 * old nodes count on by the same row.
 */
const stepMaxOfRows = 1_000_000

/** See the top of the file. */
export class LegacyRows {
  readonly #engine: Engine
  readonly #timeline: Timeline

  constructor(engine: Engine, timeline: Timeline) {
    this.#engine = engine
    this.#timeline = timeline
  }

  /** The generator that a row of this name stands for, if there is one. ENGINE when the row cannot be used. */
  async live(name: string): Promise<ReadGenerator | undefined> {
    if (this.#engine.legacyTable === undefined) return undefined
    const { advances } = this.#engine
    const record = await this.#engine.read(legacyPrefix + name)
    if (record === undefined) return undefined
    return { record, stored: this.#storedOf(record), advances }
  }

  /** Rows in byte order of their names, after `after`, at most `limit`; those that cannot be used are undefined. */
  async list(
    after: string | undefined,
    limit: number,
  ): Promise<{ name: string; definition: Definition | undefined }[]> {
    if (this.#engine.legacyTable === undefined) return []
    const page = { limit, ...(after === undefined ? {} : { after: legacyPrefix + after }) }
    const records = await this.#engine.list(legacyPrefix, page)
    // Most rows of a table say the same.
    const known = new Map<string, Definition | undefined>()
    for (const record of records)
      if (!known.has(record.value)) known.set(record.value, this.definitionIfAny(record))
    return records.map(({ key, value }) => ({
      name: key.slice(legacyPrefix.length),
      definition: known.get(value),
    }))
  }

  /**
   * The definition that is asked for under a name, completed by its row. ERR when there must be a row and is
   * none, or when it says otherwise.
   */
  define(name: string, asked: GeneratorOptions, row: ReadGenerator | undefined): Definition {
    const nowUs = this.#timeline.nowUs()
    const table = this.#engine.legacyTable
    if (row !== undefined) {
      const counts = asked.kind === 'segment' || asked.kind === 'sequence'
      const wanted = define(counts ? { ...row.stored.definition, ...asked } : asked, nowUs)
      this.check(name, wanted, row)
      return wanted
    }
    if (table === undefined || asked.kind === 'snowflake' || asked.kind === 'timestamp')
      return define(asked, nowUs)
    throw new FahaoError(
      'ERR',
      `'${name}' has no row in ${table}, where ids are counted; insert one as before, or move to Fahao's own tables with fahao import`,
    )
  }

  /** Throws ERR where a definition would issue ids that are not the row's to issue. */
  check(name: string, wanted: Definition, row: ReadGenerator): void {
    const table = this.#engine.legacyTable!
    const { definition } = row.stored
    if (wanted.kind !== 'segment' && wanted.kind !== 'sequence')
      throw refused(name, table, `kind ${wanted.kind} does not count by it; use segment or sequence`)
    if (wanted.scramble) throw refused(name, table, 'scrambled ids would meet those of the old nodes')
    for (const option of ['increment', 'offset'] as const) {
      const given = definition[option]!
      if (wanted[option] !== given)
        throw refused(name, table, `${option} is ${optionText(option, given)} there; others are not its ids`)
    }
  }

  /** What a row says; undefined when it cannot be used. */
  definitionIfAny(record: StoredRecord): Definition | undefined {
    try {
      return this.#storedOf(record).definition
    } catch {
      // Whoever asks for it by name is told what is wrong.
      return undefined
    }
  }

  #storedOf(record: StoredRecord): StoredGenerator {
    try {
      const row: GeneratorInput = JSON.parse(record.value)
      const options = parseOptions(row)
      const { step, stepMax = Math.max(stepMaxOfRows, Number(step ?? 0)) } = options
      const definition = define({ ...options, stepMax }, this.#timeline.nowUs())
      // A key decides only in which order this process issues the ranges that it alone has.
      return { state: 'live', incarnation: 1n, floor: 0n, definition, key: newKey(definition) }
    } catch (cause) {
      const name = record.key.slice(legacyPrefix.length)
      throw new FahaoError(
        'ENGINE',
        `the row '${name}' of ${this.#engine.legacyTable} cannot be used: ${reasonOf(cause)}; correct the row`,
        { cause },
      )
    }
  }
}

/** Whether a record is a row, and nothing that Fahao wrote. */
export function isRow({ key }: StoredRecord): boolean {
  return key.startsWith(legacyPrefix)
}

/** What stands in the way of dropping a row. */
export function rowStays(name: string, table: string | undefined): FahaoError {
  return new FahaoError(
    'ERR',
    `generator '${name}' is a row of ${table}; remove the row there, and it is gone here within seconds`,
  )
}

function refused(name: string, table: string, why: string): FahaoError {
  return new FahaoError('ERR', `generator '${name}' is a row of ${table}, and ${why}`)
}

function reasonOf(cause: unknown): string {
  return cause instanceof FahaoError ? cause.message : describe(cause)
}
