/**
 * The format of a generator's record, one per name. A drop leaves the record as a tombstone, so that the incarnation
 * number continues and a name that is created again starts above all ids that it ever issued.
 */
import { FahaoError } from '../base/errors.ts'
import type { Engine, RecordChange, StoredRecord, Watch } from '../engine/engine.ts'
import { firstBlock } from '../ids/gene.ts'
import { formKeyOf } from '../ids/permutation.ts'
import { firstFrom } from '../ids/run.ts'
import { isWide } from '../ids/wide-format.ts'
import type { Incarnation } from '../issuing/incarnation.ts'
import { kinds } from '../issuing/issuer.ts'
import type { Definition } from './definition.ts'
import { optionNames } from './generator-options.ts'

/** The version of a generator that is a row: below the version of every record that may replace it. */
export const rowVersion = 0n

/** What is stored for a name that was never used. `drops`: see `StoredGenerator`. */
export function firstStored(
  definition: Definition,
  offsetGiven: boolean,
  drops: number | undefined,
): StoredGenerator {
  const first = { state: 'live', incarnation: 1n, counter: undefined, floor: 0n, definition } as const
  return { ...first, key: newKey(definition), offsetGiven, ...(drops !== undefined && { drops }) }
}

/** The prefix of the records of generators, and of their counters. */
export const generatorPrefix = 'generators/'

/** A generator as stored. */
export type StoredGenerator = {
  /** `altering`: about to become `next`; see incarnation-change.ts. */
  readonly state: 'live' | 'altering' | 'dropped'
  readonly incarnation: bigint
  /** The counter that holds its bound; undefined: the counter with the record's name. Read it with `counterOf`. */
  readonly counter?: string | undefined
  /** Raw values, or units of time, below this belong to earlier incarnations. */
  readonly floor: bigint
  readonly definition: Definition
  /** The secret key of a permutation and of a wide format, 32 hexadecimal digits; undefined if it has neither. */
  readonly key: string | undefined
  /**
   * Whether a user has given `offset`, as for one of several sites: an alteration keeps it. Otherwise it follows from the
   * first id, and from the last one when the increment changes.
   */
  readonly offsetGiven: boolean
  /** The newest drop of a family that its floor respects; see families/family-index.ts. Undefined: none. */
  readonly drops?: number | undefined
  /** Where its bound stood before it was lowered, the highest if it was more than once: ids below may have been issued. */
  readonly loweredFrom?: bigint | undefined
  /** While altering: the next definition. */
  readonly next?: Definition
  /** While altering: `offsetGiven` of the next definition. */
  readonly nextOffsetGiven?: boolean
  /** While altering: the least value that the next incarnation may issue, if the change names one. */
  readonly nextFloor?: bigint
  /** While altering: when the change began, in Unix µs by the clock of the node that began it. */
  readonly begunUs?: number
}

/** A generator as it was read or written. */
export type ReadGenerator = {
  /** Undefined: the generator is a row of another system's table, and has no record. */
  readonly record: StoredRecord | undefined
  readonly stored: StoredGenerator
  /** `Engine.advances` from before the read or the write. */
  readonly advances: number
}

const knownOptions: ReadonlySet<string> = new Set([...optionNames, 'incrementRange'])

/** Integers that JSON would round. */
const bigOptions: ReadonlySet<string> = new Set(['start', 'offset', 'max', 'jump'])

/** The record's key, and the name of the first incarnation's counter. */
export function generatorKey(name: string): string {
  return generatorPrefix + name
}

/** Watches the records of generators, which are never removed. */
export function watchGenerators(engine: Engine, onChange: (change: RecordChange) => void): Promise<Watch> {
  return engine.watch(generatorPrefix, onChange, { neverRemoved: true })
}

/** The name of an incarnation's counter; a snowflake leaves it as it is. */
export function counterOf(name: string, { counter }: Pick<StoredGenerator, 'counter'>): string {
  return counter ?? generatorKey(name)
}

/**
 * The counter of an incarnation with `next` that follows `old`: the same where both count alike, else one of its own.
 * A bound never falls, so one counter cannot hold an id now and a count of time later.
 */
export function counterAfter(
  name: string,
  old: Pick<StoredGenerator, 'counter' | 'definition'>,
  next: Definition,
  incarnation: bigint,
): string | undefined {
  if (next.kind === 'snowflake' || scaleOf(old.definition) === scaleOf(next)) return old.counter
  return newCounter(name, incarnation)
}

/** A counter that no incarnation before had. */
export function newCounter(name: string, incarnation: bigint): string {
  return `counters/${incarnation}/${name}`
}

/**
 * The unit of a definition's counter, and which others it has; unknown for a snowflake, whose counter may be of an earlier
 * incarnation.
 */
function scaleOf({ kind, layout, period, keep }: Definition): string {
  if (period !== undefined) return `${period} ${keep}`
  return kind === 'timestamp' ? layout! : kind === 'snowflake' ? 'none' : 'ids'
}

/** The value of a record. */
export function writeStored(stored: StoredGenerator): string {
  return JSON.stringify(stored, bigAsText)
}

/** The text of a definition in the value of a record. */
export function writeDefinition(definition: Definition): string {
  return JSON.stringify(definition, bigAsText)
}

/** The least value, or the first unit of time, that an incarnation with this floor may issue: with a gene, of a whole block. */
export function firstOf(floor: bigint, { start, gene }: Definition): bigint {
  const first = start === undefined || floor > start ? floor : start
  return gene === undefined ? first : firstBlock(first, gene)
}

/** The largest raw value below `bound` that this incarnation of a counter can have issued; undefined if none. */
export function lastBelow(
  bound: bigint,
  { definition, floor }: Pick<StoredGenerator, 'definition' | 'floor'>,
): bigint | undefined {
  const first = firstOf(floor, definition)
  if (bound <= first) return undefined
  const increment = definition.increment!
  const last = firstFrom(bound, increment, definition.offset!) - BigInt(increment)
  return last < first ? undefined : last
}

/** The incarnation that issues under this record. */
export function incarnationOf(name: string, { stored, advances }: ReadGenerator): Incarnation {
  const { incarnation, floor, definition } = stored
  return { name, counter: counterOf(name, stored), incarnation, floor: firstOf(floor, definition), advances }
}

function bigAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

/** Reads a record's generator. Throws ENGINE if it cannot. */
export function readStored(record: StoredRecord): StoredGenerator {
  try {
    const { state, incarnation, counter, floor, key, drops, begunUs, nextFloor, loweredFrom, ...read } =
      JSON.parse(record.value)
    const definition = readDefinition(read.definition)
    const offsetGiven: boolean = read.offsetGiven ?? seemsGiven(definition)
    return {
      state,
      incarnation: BigInt(incarnation),
      counter,
      floor: BigInt(floor),
      definition,
      key,
      offsetGiven,
      ...(drops !== undefined && { drops }),
      ...(read.next !== undefined && readNext(read, definition, offsetGiven)),
      ...(loweredFrom !== undefined && { loweredFrom: BigInt(loweredFrom) }),
      ...(nextFloor !== undefined && { nextFloor: BigInt(nextFloor) }),
      ...(begunUs !== undefined && { begunUs }),
    }
  } catch (cause) {
    throw new FahaoError('ENGINE', `the record ${record.key} cannot be read; restore it from a backup`, {
      cause,
    })
  }
}

function readNext(
  { next, nextOffsetGiven }: Record<string, unknown>,
  before: Definition,
  offsetGiven: boolean,
): Pick<StoredGenerator, 'next' | 'nextOffsetGiven'> {
  const definition = readDefinition(next as Record<string, unknown>)
  const seems = definition.offset !== undefined && (offsetGiven || definition.offset !== before.offset)
  return { next: definition, nextOffsetGiven: (nextOffsetGiven as boolean | undefined) ?? seems }
}

/** Whether the offset was given, for a record that does not say so: an offset that does not follow from `start` must have been. */
function seemsGiven({ start, increment, offset }: Definition): boolean {
  return offset !== undefined && offset !== (start ?? 1n) % BigInt(increment ?? 1)
}

/** A definition as `writeDefinition` has written it, read as JSON. */
export function readDefinition(stored: Record<string, unknown>): Definition {
  const entries = Object.entries(stored).map(([name, value]) => [
    name,
    bigOptions.has(name) ? BigInt(value as string) : value,
  ])
  return Object.fromEntries(entries)
}

/**
 * A record's generator, to issue from it or to change it. ENGINE where a newer version has given it what this one does not
 * know: without it ids could be issued that the generator does not permit. Repairs and lists read such a record too.
 */
export function readKnown(name: string, record: StoredRecord): StoredGenerator {
  const stored = readStored(record)
  for (const definition of [stored.definition, ...(stored.next === undefined ? [] : [stored.next])]) {
    const option = Object.keys(definition).find((each) => !knownOptions.has(each))
    const unknown = option ?? (kinds.includes(definition.kind) ? undefined : `kind ${definition.kind}`)
    if (unknown === undefined) continue
    const why = `generator '${name}' was defined by a newer Fahao, and this one does not know its ${unknown}`
    throw new FahaoError('ENGINE', `${why}; upgrade this node, or ask one that is`)
  }
  return stored
}

/** The definition that a list shows; undefined: the generator was dropped. */
function listedDefinition(record: StoredRecord): Definition | undefined {
  const { state, definition, next } = readStored(record)
  return state === 'dropped' ? undefined : (next ?? definition)
}

/** The definition that a list shows of a row of another system's table, or of a record. */
export function definitionOf(
  found: { readonly definition: Definition | undefined } | StoredRecord,
): Definition | undefined {
  return 'key' in found ? listedDefinition(found) : found.definition
}

/** Whether a record holds a generator that was not dropped; true if it cannot be read. */
export function holdsGenerator(record: StoredRecord | undefined): boolean {
  if (record === undefined) return false
  try {
    return readStored(record).state !== 'dropped'
  } catch {
    // Opening it reports the reason.
    return true
  }
}

/** The key of its wide format; undefined: it has none. */
export function formKey({
  key,
  definition,
}: Pick<StoredGenerator, 'key' | 'definition'>): string | undefined {
  return isWide(definition.format) && key !== undefined ? formKeyOf(key) : undefined
}

/** A new secret key, 32 hexadecimal digits, if a definition permutes its ids or makes wide texts of them; undefined otherwise. */
export function newKey(definition: Definition): string | undefined {
  const isKeyed = definition.scramble || definition.within === 'shuffled' || isWide(definition.format)
  if (!isKeyed) return undefined
  return Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('hex')
}
