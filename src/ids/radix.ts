/** Ids as digits. Digits stand in ASCII order, so that texts of one width sort like their numbers. */

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const lowerDigits = '0123456789abcdefghijklmnopqrstuvwxyz'
/** Crockford's: without I, L, O and U, which are taken for 1, 1, 0 and V. https://www.crockford.com/base32.html */
const crockfordDigits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const pieceDigits = 8
const piece = 62n ** BigInt(pieceDigits)

/** 10, 16 and 36 with lower-case letters; 32 is Crockford's; 62 is 0–9, A–Z, a–z. */
export type Radix = 10 | 16 | 32 | 36 | 62

/** Whether two ids of this radix can differ in the case of letters alone. */
export function mixesCases(radix: Radix): boolean {
  return radix > 36
}

/** The digits of a number from 0 to 2^63 − 1, without zeros in front. */
export function toDigits(id: bigint, radix: Radix): string {
  if (radix === 62) return toBase62(id)
  if (radix === 32) return id.toString(32).replace(/./g, (digit) => crockfordDigits[parseInt(digit, 32)]!)
  return id <= Number.MAX_SAFE_INTEGER ? Number(id).toString(radix) : id.toString(radix)
}

/** The digits of a radix, in the order of their values. */
export function digitsOf(radix: Radix): string {
  if (radix === 62) return digits
  return radix === 32 ? crockfordDigits : lowerDigits.slice(0, radix)
}

/**
 * The digits that a reader meant. In Crockford's base 32 small letters are capital ones, I and L are 1, O is 0, and hyphens
 * between digits help the eye.
 */
export function plainDigits(text: string, radix: Radix): string {
  if (radix !== 32) return text
  const capital = text.replace(/(?<=[^-])-(?=[^-])/g, '').toUpperCase()
  return capital.replace(/[IL]/g, '1').replace(/O/g, '0')
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
