/** Rounds: every contender once per round, one after another, so that a disturbance affects all alike. */

/** The extent of a run. */
export type Effort = {
  /** Rounds of which the median counts. */
  readonly rounds: number
  /** How long one measurement lasts, in seconds. */
  readonly seconds: number
  /** The short mode: fewer and shorter rounds, smaller data. Its figures are a first look. */
  readonly quick: boolean
  /** Folder of another built checkout, an earlier one, for the sections that compare with it. */
  readonly before?: string
  /** Parts of the sections `keys` and `legacy`, with commas: `20000@128,get:1000@16,new`. Default: all. */
  readonly only?: string
  /** How many names `keys` has in use, and nothing else of it; how many `families` touches, and `legacy` imports from a Redis. */
  readonly names?: number
}

/** Measures each contender `rounds` times, interleaved; each round starts with another one. */
export async function interleaved<Contender, Measured>(
  contenders: readonly Contender[],
  rounds: number,
  measure: (contender: Contender) => Promise<Measured>,
): Promise<Map<Contender, Measured[]>> {
  const measured = new Map<Contender, Measured[]>(contenders.map((contender) => [contender, []]))
  for (let round = 0; round < rounds; round++) {
    for (let place = 0; place < contenders.length; place++) {
      const contender = contenders[(round + place) % contenders.length]!
      measured.get(contender)!.push(await measure(contender))
    }
  }
  return measured
}

/** Median, least and greatest of several rounds. */
export type Spread = { readonly value: number; readonly low: number; readonly high: number }

/** Summarizes rounds. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const value = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
  return { value, low: sorted[0]!, high: sorted.at(-1)! }
}

/** The ratio of two contenders, round by round: a slowdown of a whole round cancels out. */
export function ratioOf(ours: readonly number[], theirs: readonly number[]): Spread {
  return spreadOf(ours.map((value, round) => value / theirs[round]!))
}
