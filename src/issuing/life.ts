/** Who issues: what tells one generator from another that is defined alike. */

/** One incarnation of a generator; one object, shared by all that issue for it. */
export type Life = {
  /** The generator's name. */
  readonly name: string
  readonly incarnation: bigint
  /** Raw values, or units of time, below this are not issued: they belong to earlier incarnations. */
  readonly floor: bigint
}
