/** Ids as digits. Digits stand in ASCII order, so that texts of one width sort like their numbers. */

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const lowerDigits = '0123456789abcdefghijklmnopqrstuvwxyz'
const pieceDigits = 8
const piece = 62n ** BigInt(pieceDigits)

/** 10, 16 and 36 with lower-case letters; 62 is 0–9, A–Z, a–z. */
export type Radix = 10 | 16 | 36 | 62

/** The digits of a number from 0 to 2^63 − 1, without zeros in front. */
export function toDigits(id: bigint, radix: Radix): string {
  if (radix === 62) return toBase62(id)
  return id <= Number.MAX_SAFE_INTEGER ? Number(id).toString(radix) : id.toString(radix)
}

/** The digits of a radix, in the order of their values. */
export function digitsOf(radix: Radix): string {
  return radix === 62 ? digits : lowerDigits.slice(0, radix)
}

/** The number that the digits mean, or undefined where a character is no digit of this radix. */
export function fromDigits(text: string, radix: Radix): bigint | undefined {
  const known = digitsOf(radix)
  let value = 0n
  for (const char of text) {
    const digit = known.indexOf(char)
    if (digit < 0) return undefined
    value = value * BigInt(radix) + BigInt(digit)
  }
  return value
}

function toBase62(id: bigint): string {
  if (id <= Number.MAX_SAFE_INTEGER) return base62(Number(id))
  const upper = base62(Number(id / piece))
  return upper + base62(Number(id % piece)).padStart(pieceDigits, '0')
}

function base62(value: number): string {
  let text = digits[value % 62]!
  for (let rest = Math.floor(value / 62); rest > 0; rest = Math.floor(rest / 62)) {
    text = digits[rest % 62]! + text
  }
  return text
}
