/**
 * Finds the generator of a name in the engine, creates it if a rule matches, and caches for a moment that there is none,
 * so that repeated requests for an absent name do not each read the engine.
 */
import type { Clock } from '../base/clock.ts'
import { hasCode } from '../base/errors.ts'
import { globMatches } from '../base/glob.ts'
import type { Kind } from '../issuing/issuer.ts'
import { type GeneratorRecords, noGenerator } from './generator-records.ts'
import { parseOptions } from './options.ts'
import type { ReadGenerator } from './stored.ts'

/** A name of this pattern becomes a generator of this kind when it is first asked for. */
export type AutoCreate = { readonly pattern: string; readonly kind: Kind }

/** For how long a name counts as absent, in ms; and where many processes may create it. */
const absentMs = 1000
const absentSharedMs = 10
const absentMax = 10_000

/** Looks names up in an engine's records. */
export class GeneratorLookup {
  readonly #records: GeneratorRecords
  readonly #rules: readonly AutoCreate[]
  readonly #clock: Clock
  readonly #absentMs: number
  /** Until when names count as absent, on the monotonic clock in µs. */
  readonly #absentUntilUs = new Map<string, number>()

  /** @param isShared whether other processes may create generators as well. */
  constructor(records: GeneratorRecords, rules: readonly AutoCreate[], clock: Clock, isShared: boolean) {
    this.#records = records
    this.#rules = rules
    this.#clock = clock
    this.#absentMs = isShared ? absentSharedMs : absentMs
  }

  /** Throws NOGENERATOR if the name was absent a moment ago. */
  refuseAbsent(name: string): void {
    if ((this.#absentUntilUs.get(name) ?? 0) > this.#clock.monoUs()) throw noGenerator(name)
  }

  /** The generator. Rejects with NOGENERATOR. `mayCreate`: whether a client asks for it, so that rules apply. */
  async find(name: string, mayCreate: boolean): Promise<ReadGenerator> {
    const found = (await this.#records.live(name)) ?? (mayCreate ? await this.#create(name) : undefined)
    if (found !== undefined) return found
    // The time counts from the answer: callers that waited for it must not look the name up again one by one.
    if (mayCreate) this.#remember(name)
    throw noGenerator(name)
  }

  /** The name may exist now. */
  forgetAbsence(name: string): void {
    this.#absentUntilUs.delete(name)
  }

  /** Creates the generator by the first rule for its name; undefined: there is no rule. */
  async #create(name: string): Promise<ReadGenerator | undefined> {
    const kind = this.#rules.find(({ pattern }) => globMatches(pattern, name))?.kind
    if (kind === undefined) return undefined
    try {
      return await this.#records.create(name, parseOptions({ kind }))
    } catch (error) {
      // Another request has just created it with another definition, which counts.
      if (hasCode(error, 'EXISTS')) return this.#records.live(name)
      throw error
    }
  }

  #remember(name: string): void {
    if (this.#absentUntilUs.size >= absentMax) this.#absentUntilUs.clear()
    this.#absentUntilUs.set(name, this.#clock.monoUs() + this.#absentMs * 1000)
  }
}
