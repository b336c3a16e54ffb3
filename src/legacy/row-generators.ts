/** Rows of an old service's table as generators, read from the records under which the engine shows them. */
import { FahaoError } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import { type Definition, define, isCounter } from '../catalogue/definition.ts'
import type { ForeignRows, RowChange } from '../catalogue/foreign-rows.ts'
import { type GeneratorInput, optionText, parseOptions } from '../catalogue/generator-options.ts'
import { newKey, type StoredGenerator } from '../catalogue/stored-generator.ts'
import type { Engine, StoredRecord, Watch } from '../engine/engine.ts'

/**
 * The prefix of the records under which the engine shows rows: `legacy/NAME`. The value is JSON, the options of the row's
 * generator; its counter is `generators/NAME`. Such records change only with the table: a write of one rejects with ERR.
 */
export const legacyPrefix = 'legacy/'

/**
 * The largest refill on a row, unless the row's step is larger: Leaf's own limit. Ids of such tables are often short, and
 * old nodes use the same space of ids.
 */
const stepMaxOfRows = 1_000_000

/** The rows of one table. */
export class LegacyRows implements ForeignRows {
  readonly table: string
  readonly #engine: Engine
  readonly #timeline: Timeline

  /** @param engine one that shows the rows of `table`. */
  constructor(engine: Engine, timeline: Timeline, table: string) {
    this.#engine = engine
    this.#timeline = timeline
    this.table = table
  }

  async read(name: string): Promise<StoredGenerator | undefined> {
    const record = await this.#engine.read(legacyPrefix + name)
    return record && this.#storedOf(record)
  }

  async list(
    prefix: string,
    after: string | undefined,
    limit: number,
  ): Promise<{ name: string; definition: Definition | undefined }[]> {
    const page = { limit, ...(after === undefined ? {} : { after: legacyPrefix + after }) }
    const records = await this.#engine.list(legacyPrefix + prefix, page)
    // Most rows of a table have equal options.
    const definitions = new Map<string, Definition | undefined>()
    for (const record of records)
      if (!definitions.has(record.value)) definitions.set(record.value, this.#definitionIfAny(record))
    return records.map(({ key, value }) => ({ name: nameOf(key), definition: definitions.get(value) }))
  }

  watch(listener: (change: RowChange) => void): Promise<Watch> {
    return this.#engine.watch(legacyPrefix, ({ key, record }) =>
      listener({
        name: nameOf(key),
        exists: record !== undefined,
        definition: () => record && this.#definitionIfAny(record),
      }),
    )
  }

  check(name: string, wanted: Definition, row: StoredGenerator | undefined): void {
    if (row === undefined) {
      if (!isCounter(wanted.kind)) return
      throw new FahaoError(
        'ERR',
        `'${name}' has no row in ${this.table}, where ids are counted; insert one as before, or move to Fahao's own tables with fahao import`,
      )
    }
    const refused = (why: string) =>
      new FahaoError('ERR', `generator '${name}' is a row of ${this.table}, and ${why}`)
    if (!isCounter(wanted.kind))
      throw refused(`kind ${wanted.kind} does not count by it; use segment or sequence`)
    if (wanted.incrementRange !== undefined)
      throw refused(`its old nodes count by ${row.definition.increment}; leave increment out`)
    if (wanted.period !== undefined)
      throw refused('its old nodes count on where a period begins again; leave period out')
    if (wanted.gaps === 'none')
      throw refused('numbers that are dropped cannot go back there; leave gaps and ledger out')
    if (wanted.scramble) throw refused('scrambled ids would meet those of the old nodes')
    for (const option of ['increment', 'offset'] as const) {
      const given = row.definition[option]!
      if (wanted[option] !== given)
        throw refused(`${option} is ${optionText(option, given)} there; others are not its ids`)
    }
  }

  #definitionIfAny(record: StoredRecord): Definition | undefined {
    try {
      return this.#storedOf(record).definition
    } catch {
      // A read by name reports what is wrong.
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
      return {
        state: 'live',
        incarnation: 1n,
        floor: 0n,
        definition,
        key: newKey(definition),
        offsetGiven: false,
      }
    } catch (cause) {
      throw new FahaoError(
        'ENGINE',
        `the row '${nameOf(record.key)}' of ${this.table} cannot be used: ${(cause as Error).message}; correct the row`,
        { cause },
      )
    }
  }
}

function nameOf(key: string): string {
  return key.slice(legacyPrefix.length)
}
