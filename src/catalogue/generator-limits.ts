/**
 * How many generators clients may create: all of them, by `generators-max`, and of each namespace with GENERATORS.
 *
 * Invariants
 *  1. A count is read from the engine. Creations and drops on this node change it at once; those of other nodes are seen by the
 *     next count.
 *  2. A count is kept for 10 s, and for `keptTimes` as long as it took to read: counting ten million names costs a node a
 *     small part of its time, however often clients create and drop.
 */
import { Access } from '../auth/access.ts'
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Turns } from '../base/turns.ts'
import { includes, namespaceError } from '../quotas/namespace.ts'
import type { Namespaces } from '../quotas/namespaces.ts'
import { listedParts } from './generator-lists.ts'
import type { GeneratorRecords } from './generator-records.ts'

const freshUs = 10_000_000
const keptTimes = 20
const withoutOthers: Turns = { take: async () => {} }

/** What limits some names: `most` generators that match. */
type Limit = {
  readonly key: string
  readonly match: string
  readonly most: number
  readonly refusal: () => FahaoError
}
/** A count stops at the limit: a full namespace costs no more reads than its limit has pages. */
type Count = Pick<Limit, 'match' | 'most'> & {
  readonly untilUs: number
  /** Whether there may be more than were counted. */
  readonly isPartial: boolean
  found: number
}

/** The limits of one catalogue. */
export class GeneratorLimits {
  readonly #namespaces: Pick<Namespaces, 'all'>
  readonly #records: GeneratorRecords
  readonly #clock: Clock
  readonly #turns: Turns
  readonly #ofAll: readonly Limit[]
  readonly #counts = new Map<string, Count>()
  /** Counts that are being read: all creations meanwhile wait for the same. */
  readonly #counting = new Map<string, Promise<Count>>()

  constructor(
    namespaces: Pick<Namespaces, 'all'>,
    records: GeneratorRecords,
    {
      clock,
      turns = withoutOthers,
      generatorsMax,
    }: {
      readonly clock: Clock
      readonly turns?: Turns | undefined
      readonly generatorsMax?: number | undefined
    },
  ) {
    this.#namespaces = namespaces
    this.#records = records
    this.#clock = clock
    this.#turns = turns
    this.#ofAll = generatorsMax === undefined ? [] : [limitOfAll(generatorsMax)]
  }

  /** Whether anything limits the generators with names such as this. */
  apply(name: string): boolean {
    return this.#limiting(name).length > 0
  }

  /** Creates a generator that does not exist yet. LIMIT, and it is not created, if there are as many already as one limit allows. */
  async admit<Created>(name: string, create: () => Promise<Created>): Promise<Created> {
    const limiting = this.#limiting(name)
    const counts = await Promise.all(limiting.map((limit) => this.#counted(limit)))
    const full = counts.findIndex(({ found, most }) => found >= most)
    if (full >= 0) throw limiting[full]!.refusal()
    for (const count of counts) count.found++
    try {
      return await create()
    } catch (error) {
      for (const count of counts) count.found--
      throw error
    }
  }

  /** A generator of this name was dropped here. */
  dropped(name: string): void {
    for (const { key } of this.#limiting(name)) {
      const count = this.#counts.get(key)
      if (count?.isPartial) this.#counts.delete(key)
      else if (count !== undefined) count.found--
    }
  }

  #limiting(name: string): Limit[] {
    const limits = [...this.#ofAll]
    for (const namespace of this.#namespaces.all) {
      const { match, generators } = namespace
      if (generators === undefined || !includes(namespace, name)) continue
      const what = `has its ${generators} generators already; drop one first, or have its GENERATORS raised with ID.NAMESPACE SET`
      const refusal = () => namespaceError('LIMIT', namespace, what)
      limits.push({ key: `namespace ${namespace.name}`, match, most: generators, refusal })
    }
    return limits
  }

  #counted({ key, match, most }: Limit): Count | Promise<Count> {
    const known = this.#counts.get(key)
    const isFresh = known !== undefined && this.#clock.monoUs() < known.untilUs
    if (isFresh && known.match === match && known.most === most) return known
    const id = `${key} ${match} ${most}`
    const counting = this.#counting.get(id) ?? this.#count(match, most)
    if (!this.#counting.has(id)) {
      this.#counting.set(id, counting)
      const settled = (count?: Count) => {
        this.#counting.delete(id)
        if (count !== undefined) this.#counts.set(key, count)
      }
      counting.then(settled, () => settled())
    }
    return counting
  }

  async #count(match: string, most: number): Promise<Count> {
    const fromUs = this.#clock.monoUs()
    const access = new Access('', new Set(), [match])
    let found = 0
    for await (const part of listedParts(this.#records, this.#turns, { access })) {
      found += part.length
      if (found >= most) break
    }
    const tookUs = this.#clock.monoUs() - fromUs
    const untilUs = fromUs + Math.max(freshUs, tookUs * keptTimes)
    return { match, most, untilUs, isPartial: found >= most, found: Math.min(found, most) }
  }
}

function limitOfAll(most: number): Limit {
  const refusal = () =>
    new FahaoError(
      'LIMIT',
      `there are ${most} generators already, which generators-max allows clients to create; drop one first, or raise it`,
    )
  return { key: 'all', match: '*', most, refusal }
}
