/**
 * How many generators the namespaces allow. A count is read from the engine, and is at most `freshUs` old: creations on
 * this node are added to it at once, those of other nodes are seen by the next count.
 */
import { type Namespace, titleOf } from '../auth/namespace.ts'
import type { Namespaces } from '../auth/namespaces.ts'
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { globMatcher, globMatches, literalPrefix } from '../base/glob.ts'
import { everyPage } from '../engine/pages.ts'
import type { GeneratorRecords } from './generator-records.ts'
import { nameBytesMax } from './stored.ts'

const freshUs = 10_000_000
const pageSize = 1000

type Limited = Namespace & { readonly generators: number }
/** A count stops at the limit: a full namespace costs no more reads than its limit has pages. */
type Count = { readonly match: string; readonly most: number; readonly untilUs: number; found: number }

/** The limits of one catalogue. */
export class GeneratorLimits {
  readonly #namespaces: Namespaces | undefined
  readonly #records: GeneratorRecords
  readonly #clock: Clock
  readonly #counts = new Map<string, Promise<Count>>()

  /** @param namespaces undefined: there are no limits. */
  constructor(namespaces: Namespaces | undefined, records: GeneratorRecords, clock: Clock) {
    this.#namespaces = namespaces
    this.#records = records
    this.#clock = clock
  }

  /** Whether a namespace limits the generators with names such as this. */
  apply(name: string): boolean {
    return this.#limiting(name).length > 0
  }

  /** Creates a generator that does not exist yet. LIMIT, and it is not created, if a namespace has its generators already. */
  async admit<Created>(name: string, create: () => Promise<Created>): Promise<Created> {
    const limiting = this.#limiting(name)
    const counts = await Promise.all(limiting.map((namespace) => this.#counted(namespace)))
    const full = counts.findIndex(({ found, most }) => found >= most)
    if (full >= 0) throw refusal(limiting[full]!)
    for (const count of counts) count.found++
    try {
      return await create()
    } catch (error) {
      for (const count of counts) count.found--
      throw error
    }
  }

  /** A generator was dropped. */
  recount(): void {
    this.#counts.clear()
  }

  #limiting(name: string): Limited[] {
    return (this.#namespaces?.all ?? []).filter(
      (namespace): namespace is Limited =>
        namespace.generators !== undefined && globMatches(namespace.match, name),
    )
  }

  async #counted({ name, match, generators }: Limited): Promise<Count> {
    const known = await this.#counts.get(name)?.catch(() => undefined)
    const isFresh = known !== undefined && this.#clock.monoUs() < known.untilUs
    if (isFresh && known.match === match && known.most === generators) return known
    const counting = this.#count(match, generators)
    this.#counts.set(name, counting)
    return counting
  }

  async #count(match: string, most: number): Promise<Count> {
    const untilUs = this.#clock.monoUs() + freshUs
    const prefix = literalPrefix(match)
    const matches = globMatcher(match)
    const counted = (found: number): Count => ({ match, most, untilUs, found })
    let found = (await this.#isMatch(prefix, match)) ? 1 : 0
    const pages = everyPage<{ name: string }>(pageSize, (last) =>
      this.#records.list(last?.name ?? (prefix === '' ? undefined : prefix), pageSize),
    )
    for await (const page of pages) {
      for (const { name } of page) {
        if (found >= most || !name.startsWith(prefix)) return counted(found)
        if (matches(name)) found++
      }
    }
    return counted(found)
  }

  /** Whether the prefix itself is the name of a generator that matches: a list begins after it. */
  async #isMatch(prefix: string, match: string): Promise<boolean> {
    if (prefix === '' || Buffer.byteLength(prefix) > nameBytesMax || !globMatches(match, prefix)) return false
    return (await this.#records.live(prefix)) !== undefined
  }
}

function refusal(namespace: Limited): FahaoError {
  return new FahaoError(
    'LIMIT',
    `${titleOf(namespace)} has its ${namespace.generators} generators already; drop one first, or have its GENERATORS raised with ID.NAMESPACE SET`,
  )
}
