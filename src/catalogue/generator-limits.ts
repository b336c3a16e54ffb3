/**
 * How many generators the namespaces allow. A count is read from the engine, and is at most `freshUs` old: creations on
 * this node are added to it at once, those of other nodes are seen by the next count.
 */
import { Access } from '../auth/access.ts'
import type { Clock } from '../base/clock.ts'
import type { FahaoError } from '../base/errors.ts'
import type { Turns } from '../base/turns.ts'
import { includes, type Namespace, namespaceError } from '../quotas/namespace.ts'
import type { Namespaces } from '../quotas/namespaces.ts'
import { listedParts } from './generator-lists.ts'
import type { GeneratorRecords } from './generator-records.ts'

const freshUs = 10_000_000
const withoutOthers: Turns = { take: async () => {} }

type Limited = Namespace & { readonly generators: number }
/** A count stops at the limit: a full namespace costs no more reads than its limit has pages. */
type Count = { readonly match: string; readonly most: number; readonly untilUs: number; found: number }

/** The limits of one catalogue. */
export class GeneratorLimits {
  readonly #namespaces: Pick<Namespaces, 'all'>
  readonly #records: GeneratorRecords
  readonly #clock: Clock
  readonly #turns: Turns
  readonly #counts = new Map<string, Promise<Count>>()

  constructor(
    namespaces: Pick<Namespaces, 'all'>,
    records: GeneratorRecords,
    { clock, turns = withoutOthers }: { readonly clock: Clock; readonly turns?: Turns | undefined },
  ) {
    this.#namespaces = namespaces
    this.#records = records
    this.#clock = clock
    this.#turns = turns
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
    return this.#namespaces.all.filter(
      (namespace): namespace is Limited => namespace.generators !== undefined && includes(namespace, name),
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
    const access = new Access('', new Set(), [match])
    let found = 0
    for await (const part of listedParts(this.#records, this.#turns, { access })) {
      found += part.length
      if (found >= most) break
    }
    return { match, most, untilUs, found: Math.min(found, most) }
  }
}

function refusal(namespace: Limited): FahaoError {
  const what = `has its ${namespace.generators} generators already; drop one first, or have its GENERATORS raised with ID.NAMESPACE SET`
  return namespaceError('LIMIT', namespace, what)
}
