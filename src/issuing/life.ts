/** Who issues: what tells one generator from another that is defined alike. */

/** One incarnation of a generator, and, in a cluster, one leadership of it; one object, shared by all that issue for it. */
export type Life = {
  /** The generator's name. */
  readonly name: string
  /** Its counter in the engine. */
  readonly counter: string
  readonly incarnation: bigint
  /** Raw values, or units of time, below this are not issued: they belong to earlier incarnations. */
  readonly floor: bigint
  /** What its reserves carry where nodes lead in turn; undefined: nothing. */
  readonly fence?: bigint | undefined
}

/** In whose name a counter is reserved and released. */
export type Holder = { readonly incarnation: bigint; readonly fence?: bigint }

/** The part of a life that counters look at. */
export function holderOf({ incarnation, fence }: Life): Holder {
  return fence === undefined ? { incarnation } : { incarnation, fence }
}
