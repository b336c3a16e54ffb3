/** The ids of a counter: every raw value that is ≡ offset (mod increment). */

/** The first id at or above `value`. */
export function firstFrom(value: bigint, increment: number, offset: bigint): bigint {
  const stride = BigInt(increment)
  return value + ((((offset - value) % stride) + stride) % stride)
}

/** How many ids from the id `next` on are below `end`. */
export function countBelow(next: bigint, end: bigint, increment: number): number {
  const stride = BigInt(increment)
  return end <= next ? 0 : Number((end - next + stride - 1n) / stride)
}
