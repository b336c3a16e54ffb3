/** What an issuer is told beside the definition of its generator: the incarnation that it issues for. */

/** One incarnation of a generator, and, in a cluster, one leadership of it. One object for all that issue for it. */
export type Incarnation = {
  /** The generator's name. */
  readonly name: string
  /** Its counter in the engine. */
  readonly counter: string
  readonly incarnation: bigint
  /** Raw values, or units of time, below this are not issued: they belong to earlier incarnations. */
  readonly floor: bigint
  /** The fence of its reserves in a cluster; undefined: none. */
  readonly fence?: bigint | undefined
  /** `Engine.advances` from before its record was read. */
  readonly advances: number
}
