/**
 * Until when callers may issue ids that this node leased them of earlier incarnations: an alteration or a floor reaches the
 * holder of a range at its deadline.
 *
 * Invariants
 *  1. Of each name it has the newest incarnation that was leased here, and the latest deadline of that and of those before.
 *  2. At most `namesMax` names are remembered; of more, the one that was noted first is forgotten.
 */

const namesMax = 10_000

type Noted = {
  readonly incarnation: bigint
  /** Unix µs. */
  readonly untilUs: number
  /** The latest deadline of the incarnations before; 0: none was leased. */
  readonly beforeUs: number
}

/** The deadlines of leased ranges by incarnation. */
export class EarlierRanges {
  readonly #noted = new Map<string, Noted>()

  /** A range of this incarnation was leased until then, in Unix µs. */
  note(name: string, incarnation: bigint, untilUs: number): void {
    const known = this.#noted.get(name) ?? { incarnation, untilUs: 0, beforeUs: 0 }
    const beforeUs = this.#beforeUs(known, incarnation)
    const next =
      incarnation < known.incarnation
        ? { ...known, beforeUs: Math.max(known.beforeUs, untilUs) }
        : {
            incarnation,
            untilUs: incarnation > known.incarnation ? untilUs : Math.max(known.untilUs, untilUs),
            beforeUs,
          }
    this.#noted.set(name, next)
    if (this.#noted.size <= namesMax) return
    const [first] = this.#noted.keys()
    this.#noted.delete(first!)
  }

  /** The latest deadline of ranges of incarnations before this one, in Unix µs; undefined if all have passed. */
  untilUs(name: string, incarnation: bigint, nowUs: number): number | undefined {
    const known = this.#noted.get(name)
    const untilUs = known === undefined ? 0 : this.#beforeUs(known, incarnation)
    return untilUs > nowUs ? untilUs : undefined
  }

  #beforeUs(known: Noted, incarnation: bigint): number {
    return incarnation > known.incarnation ? Math.max(known.untilUs, known.beforeUs) : known.beforeUs
  }
}
