/**
 * The families of an installation: one record that every creation of a generator respects, so that no name is ever both a
 * generator of its own and one of a family.
 *
 * A family is announced, then active, then dropped. A creation of a generator writes its record first and reads the families
 * afterwards; a creation of a family announces it first and looks for generators afterwards. Whichever comes later sees the
 * other one.
 *
 * Invariants
 *  1. The prefixes of families that are announced or active do not overlap: none begins as another one.
 *  2. A family that was dropped stays in the record, with the number of its drop. A generator below its prefix notes the
 *     number of the newest drop that its floor respects (`StoredGenerator.drops`).
 *  3. What is in memory is a state that the record had. `fresh` brings in the one that it has at the call, or a later one.
 */
import { FahaoError } from '../../base/errors.ts'
import type { Engine, StoredRecord, Watch } from '../../engine/engine.ts'

/** A family in the record. */
export type FamilyEntry = {
  /** What its names begin with. */
  readonly prefix: string
  readonly state: 'announced' | 'active' | 'dropped'
  /** Of a dropped one: the number of its drop, from 1. */
  readonly drop?: number
}

type Families = { readonly drops: number; readonly families: readonly FamilyEntry[] }

/** The key of the record. */
export const familiesKey = 'families'

const changeTries = 20
const noFamilies: Families = Object.freeze({ drops: 0, families: [] })

/** The name of a family, under which its options are stored. */
export function patternOf({ prefix }: Pick<FamilyEntry, 'prefix'>): string {
  return `${prefix}*`
}

/** The families as this node knows them. */
export class FamilyIndex {
  readonly #engine: Engine
  #families = noFamilies
  #version = -1n
  /** Those that are announced or active, by prefix, and the lengths of these prefixes. */
  #claiming = new Map<string, FamilyEntry>()
  #lengths: readonly number[] = []
  #reading: Promise<void> | undefined
  #watch: Watch | undefined

  private constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Reads the record, and watches it from then on. Rejects with UNAVAILABLE. */
  static async open(engine: Engine): Promise<FamilyIndex> {
    const index = new FamilyIndex(engine)
    index.#watch = await engine.watch(familiesKey, ({ key, record }) => {
      if (key === familiesKey && record !== undefined) index.#learn(record)
    })
    try {
      await index.fresh()
      return index
    } catch (error) {
      index.close()
      throw error
    }
  }

  /** How many families have been dropped. */
  get drops(): number {
    return this.#families.drops
  }

  /** The announced or active family that this name, or the family itself, belongs to. */
  claiming(name: string): FamilyEntry | undefined {
    for (const length of this.#lengths) {
      const entry = name.length > length ? this.#claiming.get(name.slice(0, length)) : undefined
      if (entry !== undefined) return entry
    }
    return undefined
  }

  /** The dropped families that this name belonged to. */
  droppedOver(name: string): FamilyEntry[] {
    return this.#families.families.filter(
      ({ state, prefix }) => state === 'dropped' && name.startsWith(prefix),
    )
  }

  /** The dropped families that have names in common with this prefix, without the one of the same prefix. */
  droppedBeside(own: string): FamilyEntry[] {
    return this.#families.families.filter(
      ({ state, prefix }) => state === 'dropped' && prefix !== own && overlap(prefix, own),
    )
  }

  /**
   * Reads the record. Callers of one moment share the read, which begins after each of their calls. Rejects with UNAVAILABLE.
   */
  fresh(): Promise<void> {
    this.#reading ??= Promise.resolve().then(async () => {
      this.#reading = undefined
      const record = await this.#engine.read(familiesKey)
      if (record !== undefined) this.#learn(record)
    })
    return this.#reading
  }

  /** After an advance, when the store may have an earlier state of the record. Rejects with UNAVAILABLE. */
  async reload(): Promise<void> {
    this.#version = -1n
    await this.fresh()
  }

  /** Announces a family, unless it is announced or active. ERR if its names overlap with those of another family. */
  announce(prefix: string): Promise<void> {
    return this.#change(({ drops, families }) => {
      const own = families.find((each) => each.prefix === prefix)
      if (own !== undefined && own.state !== 'dropped') return undefined
      const other = families.find((each) => each.state !== 'dropped' && overlap(each.prefix, prefix))
      if (other !== undefined) throw overlapping(prefix, other)
      const others = families.filter((each) => each !== own)
      // A dropped one stays known as such: another family may lie beside it, and generators below it.
      const announced: FamilyEntry = { ...own, prefix, state: 'announced' }
      return { drops, families: [...others, announced] }
    })
  }

  /** Takes an announcement back. */
  withdraw(prefix: string): Promise<void> {
    return this.#change(({ drops, families }) => {
      const own = families.find((each) => each.prefix === prefix && each.state === 'announced')
      if (own === undefined) return undefined
      const others = families.filter((each) => each !== own)
      return { drops, families: own.drop === undefined ? others : [...others, { ...own, state: 'dropped' }] }
    })
  }

  /** Makes an announced family active. False if it is not announced any more. */
  async activate(prefix: string): Promise<boolean> {
    let isActive = false
    await this.#change(({ drops, families }) => {
      const own = families.find((each) => each.prefix === prefix)
      isActive = own !== undefined && own.state !== 'dropped'
      if (own?.state !== 'announced') return undefined
      const active: FamilyEntry = { prefix, state: 'active' }
      return { drops, families: families.map((each) => (each === own ? active : each)) }
    })
    return isActive
  }

  /** Notes that a family was dropped. */
  drop(prefix: string): Promise<void> {
    return this.#change(({ drops, families }) => {
      const own = families.find((each) => each.prefix === prefix)
      if (own?.state !== 'active') return undefined
      const dropped: FamilyEntry = { prefix, state: 'dropped', drop: drops + 1 }
      return { drops: drops + 1, families: families.map((each) => (each === own ? dropped : each)) }
    })
  }

  /** Ends the watch. */
  close(): void {
    this.#watch?.close()
  }

  async #change(change: (before: Families) => Families | undefined): Promise<void> {
    for (let tries = 0; tries < changeTries; tries++) {
      const record = await this.#engine.read(familiesKey)
      const after = change(record === undefined ? noFamilies : readFamilies(record))
      if (record !== undefined) this.#learn(record)
      if (after === undefined) return
      const written = await this.#engine.write(familiesKey, JSON.stringify(after), record?.version)
      if (written === undefined) continue
      this.#learn(written)
      return
    }
    throw new FahaoError(
      'CONFLICT',
      'families are being changed by other clients; look at them again and retry',
    )
  }

  #learn(record: StoredRecord): void {
    if (record.version <= this.#version) return
    this.#version = record.version
    this.#families = readFamilies(record)
    const claiming = this.#families.families.filter(({ state }) => state !== 'dropped')
    this.#claiming = new Map(claiming.map((entry) => [entry.prefix, entry]))
    this.#lengths = [...new Set(claiming.map(({ prefix }) => prefix.length))]
  }
}

/**
 * The value of the record when families with these prefixes have live records, as a repair finds them: the write that made
 * one active may be among the lost ones. `value`: the present one. Undefined: it needs no change.
 */
export function repairedFamilies(value: string | undefined, live: readonly string[]): string | undefined {
  const { drops, families } = value === undefined ? noFamilies : (JSON.parse(value) as Families)
  const lost = live.filter((prefix) => families.find((each) => each.prefix === prefix)?.state !== 'active')
  if (lost.length === 0) return undefined
  const kept = families.filter(({ prefix }) => !lost.includes(prefix))
  const active = lost.map((prefix): FamilyEntry => ({ prefix, state: 'active' }))
  return JSON.stringify({ drops, families: [...kept, ...active] } satisfies Families)
}

function readFamilies(record: StoredRecord): Families {
  try {
    return JSON.parse(record.value) as Families
  } catch (cause) {
    throw new FahaoError('ENGINE', `the record ${record.key} cannot be read; restore it from a backup`, {
      cause,
    })
  }
}

function overlap(one: string, other: string): boolean {
  return one.startsWith(other) || other.startsWith(one)
}

function overlapping(prefix: string, other: FamilyEntry): FahaoError {
  return new FahaoError(
    'EXISTS',
    `family '${patternOf(other)}' has names in common with '${prefix}*'; use that one, or drop it first`,
  )
}
