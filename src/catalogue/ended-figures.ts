/**
 * The counts of generators that this node has closed: with those of the open ones they never fall, although generators leave
 * memory, and begin at 0 when they are opened again.
 */
import { type IssuerStats, idleStats } from '../issuing/issuer.ts'

/** The figures that are counts since the generator was opened. */
const counts = [
  'issued',
  'leased',
  'drawn',
  'returned',
  'gap',
  'reserved',
  'released',
  'dropped',
  'lost',
  'refills',
  'refillFailures',
  'refillSeconds',
  'waits',
  'drySeconds',
] as const satisfies (keyof IssuerStats)[]

type Sums = Record<(typeof counts)[number], number>

/** The sums of the counts of some generators. */
export type EndedFigures = Readonly<Sums>

/** Adds up what was counted. */
export class EndedGenerators {
  readonly #sums = Object.fromEntries(counts.map((each) => [each, 0])) as Sums

  /** What was counted of all generators that have ended. */
  get figures(): EndedFigures {
    return this.#sums
  }

  /** A generator ends now, by `end`: what is counted until it has ended is added, from the start of `end` on. */
  async add(generator: { stats(): IssuerStats }, end: () => Promise<void>): Promise<void> {
    const before = generator.stats()
    this.#add(before, idleStats)
    try {
      await end()
    } finally {
      this.#add(generator.stats(), before)
    }
  }

  /** Another one takes the place of a generator whose right has ended. */
  replaced(generator: { stats(): IssuerStats }): void {
    this.#add(generator.stats(), idleStats)
  }

  #add(now: IssuerStats, before: IssuerStats): void {
    for (const each of counts) this.#sums[each] += now[each] - before[each]
  }
}
