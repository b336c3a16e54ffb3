/** The order of names: by the bytes of their UTF-8. */

/** Compares the UTF-8 bytes of two strings: negative if `a` sorts before `b`, 0 if they are equal, positive otherwise. */
export function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const difference = rank(a.charCodeAt(index)) - rank(b.charCodeAt(index))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** UTF-8 sorts by code point. A surrogate encodes a code point from 2^16 on, so it sorts after every other UTF-16 unit. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x1_0000 : unit
}
