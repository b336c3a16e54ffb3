/** The order of names everywhere: that of the bytes of their UTF-8. */

/** Negative, 0 or positive as `a` stands before `b`, is the same, or stands after it, by the bytes of their UTF-8. */
export function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const difference = rank(a.charCodeAt(index)) - rank(b.charCodeAt(index))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** UTF-8 orders by code point: a surrogate, which stands for one past 2^16, comes after all other units of UTF-16. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x1_0000 : unit
}
