/**
 * Callers that take each value of a counter for a block of as many ids as its increment was then: `pooled` of Hibernate takes V
 * for the last id of its block, `pooled-lo` for the first. No two blocks of one reading have an id in common, whatever the
 * increment was before and becomes.
 */

/** A value, and the increment of the incarnation that has issued it. */
type Taken = { readonly value: bigint; readonly increment: bigint }

export class Blocks {
  /** By generator, in ascending order of values. */
  readonly #taken = new Map<string, Taken[]>()

  /** Takes the block of a value. Returns what is wrong. */
  take(generator: string, value: bigint, increment: number): string | undefined {
    const taken = this.#of(generator)
    const own = { value, increment: BigInt(increment) }
    const at = placeOf(taken, value)
    taken.splice(at, 0, own)
    return overlap(taken[at - 1], own) ?? overlap(own, taken[at + 1])
  }

  /** Another generator gets the name: what was taken under it says nothing. */
  forget(generator: string): void {
    this.#taken.delete(generator)
  }

  #of(generator: string): Taken[] {
    const known = this.#taken.get(generator)
    if (known !== undefined) return known
    const fresh: Taken[] = []
    this.#taken.set(generator, fresh)
    return fresh
  }
}

function placeOf(taken: readonly Taken[], value: bigint): number {
  let from = 0
  let to = taken.length
  while (from < to) {
    const middle = (from + to) >> 1
    if (taken[middle]!.value < value) from = middle + 1
    else to = middle
  }
  return from
}

function overlap(below: Taken | undefined, above: Taken | undefined): string | undefined {
  if (below === undefined || above === undefined) return undefined
  const apart = above.value - below.value
  const blocks = `${below.value} (increment ${below.increment}) and ${above.value} (increment ${above.increment})`
  if (apart < above.increment) return `the blocks that end with ${blocks} overlap`
  return apart < below.increment ? `the blocks that begin with ${blocks} overlap` : undefined
}
