/**
 * The sequences that a run may see, as far as they have been asked for.
 *
 * Invariants
 *  1. What is here was true for the session's user when it was loaded, and does not change during a run.
 *  2. A run that asks for what is not here ends with `Missing`; it has no effect, so it starts again once that is loaded.
 */
import { SqlError } from '../sql-error.ts'
import type { Value } from './values.ts'

/** A sequence as system catalogs show it. */
export type SequenceFacts = {
  readonly name: string
  readonly oid: number
  readonly dataType: 'smallint' | 'integer' | 'bigint'
  readonly start: bigint
  readonly increment: bigint
  readonly min: bigint
  readonly max: bigint
  readonly cache: bigint
}

/** What a run asks for. */
export type Wanted = {
  readonly names?: readonly string[]
  readonly oids?: readonly number[]
  /** Every sequence. */
  readonly isAll?: boolean
  /** Names of sequences whose last values are wanted. */
  readonly valuesOf?: readonly string[]
}

/** What is loaded: of each name and oid that was asked for what there is, or that there is none. */
export type Loaded = {
  readonly found: readonly SequenceFacts[]
  readonly missingNames?: readonly string[]
  readonly missingOids?: readonly number[]
  readonly isAll?: boolean
  /** The last values; null: none yet, or the user may not read it. The next one if there is none yet. */
  readonly values?: readonly (readonly [name: string, value: bigint | null, next?: bigint])[]
}

/** Thrown when a run needs what is not loaded. */
export class Missing extends Error {
  readonly wanted: Wanted

  constructor(wanted: Wanted) {
    super('sequences are not loaded')
    this.wanted = wanted
  }
}

/** The oids of sequences begin here: below are PostgreSQL's own objects. */
export const sequenceOidMin = 1 << 20

/** The sequences of one run. */
export class Snapshot {
  readonly #byName = new Map<string, SequenceFacts | null>()
  readonly #byOid = new Map<number, SequenceFacts | null>()
  readonly #values = new Map<string, bigint | null>()
  readonly #firsts = new Map<string, bigint>()
  #isAll = false

  /** Adds what was wanted. */
  add({ found, missingNames = [], missingOids = [], isAll = false, values = [] }: Loaded): void {
    for (const facts of found) {
      this.#byName.set(facts.name, facts)
      this.#byOid.set(facts.oid, facts)
    }
    for (const name of missingNames) this.#byName.set(name, null)
    for (const oid of missingOids) this.#byOid.set(oid, null)
    for (const [name, value, next] of values) {
      this.#values.set(name, value)
      if (next !== undefined) this.#firsts.set(name, next)
    }
    this.#isAll ||= isAll
  }

  /** The sequences of these names. */
  named(names: readonly string[]): SequenceFacts[] {
    return this.#lookUp(names, this.#byName, (wanted) => ({ names: wanted }))
  }

  /** The sequences with these oids. */
  withOids(all: readonly number[]): SequenceFacts[] {
    const own = all.filter((oid) => oid >= sequenceOidMin)
    return this.#lookUp(own, this.#byOid, (wanted) => ({ oids: wanted }))
  }

  #lookUp<Key>(
    keys: readonly Key[],
    known: ReadonlyMap<Key, SequenceFacts | null>,
    want: (keys: Key[]) => Wanted,
  ): SequenceFacts[] {
    const unique = [...new Set(keys)]
    const missing = this.#isAll ? [] : unique.filter((key) => known.get(key) === undefined)
    if (missing.length > 0) throw new Missing(want(missing))
    return unique.flatMap((key) => known.get(key) ?? [])
  }

  /** Every sequence. */
  all(): SequenceFacts[] {
    if (!this.#isAll) throw new Missing({ isAll: true })
    return [...this.#byName.values()].filter((facts) => facts !== null)
  }

  /** The last values of sequences. */
  lastValues(names: readonly string[]): readonly Value[] {
    const missing = names.filter((name) => !this.#values.has(name))
    if (missing.length > 0) throw new Missing({ valuesOf: missing })
    return names.map((name) => this.#values.get(name) ?? null)
  }

  /** The value that a sequence without a last value begins with. Throws 42501 if the user may not read it. */
  firstValue(name: string): bigint {
    const first = this.#firsts.get(name)
    if (first === undefined) throw new SqlError('42501', `permission denied for sequence ${name}`)
    return first
  }
}
