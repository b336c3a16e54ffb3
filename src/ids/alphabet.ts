/**
 * Alphabets: the digits that ids are written with, and what a reader may take for one of them. A character that is no digit
 * is read as the only digit that it can be taken for; where there are two, it is refused.
 */

/** Characters that people take for one another, in either case. */
const lookAlikes = ['0O', '1IL', '2Z', '5S', '8B', 'UV']
const most = BigInt(Number.MAX_SAFE_INTEGER)

/** The digits of ids. */
export class Alphabet {
  /** As it is named in a template; an own alphabet has its digits for a name. */
  readonly name: string
  /** In the order of their values. */
  readonly digits: string
  /** How many they are. */
  readonly radix: number
  /** Whether texts can differ in the case of letters alone. */
  readonly mixesCases: boolean
  /** Whether texts of one width, compared by bytes, sort like their numbers. */
  readonly isSorted: boolean
  /** Whether all letters are small ones, and there are some. */
  readonly isSmall: boolean
  /** The value of each ASCII character that can be read, or −1. */
  readonly #values = new Int8Array(128).fill(-1)
  /** The most digits that a number is sure to hold. */
  readonly #pieceDigits: number
  readonly #piece: bigint
  readonly #isNative: boolean

  /** @param digits 2 to 62 letters and digits, `-` and `_`, each once. */
  constructor(name: string, digits: string) {
    this.name = name
    this.digits = digits
    this.radix = digits.length
    const capitals = new Set(digits.toUpperCase())
    this.mixesCases = capitals.size < digits.length
    this.isSorted = [...digits].every((digit, at) => at === 0 || digit > digits[at - 1]!)
    this.isSmall = /[a-z]/.test(digits) && !/[A-Z]/.test(digits)
    this.#pieceDigits = Math.floor(53 / Math.log2(this.radix))
    this.#piece = BigInt(this.radix) ** BigInt(this.#pieceDigits)
    this.#isNative = base36Digits.startsWith(digits)
    for (let code = 0; code < 128; code++)
      this.#values[code] = digits.indexOf(this.#meant(String.fromCharCode(code)))
  }

  /** The digits of a number from 0 to 2^63 − 1, without zeros in front. */
  write(id: bigint): string {
    if (this.#isNative) return id <= most ? Number(id).toString(this.radix) : id.toString(this.radix)
    if (id <= most) return this.#ofNumber(Number(id))
    const upper = this.write(id / this.#piece)
    return upper + this.#ofNumber(Number(id % this.#piece)).padStart(this.#pieceDigits, this.digits[0])
  }

  /** The number that a reader meant, or undefined where a character can be no digit, or two. */
  read(text: string): bigint | undefined {
    const radix = BigInt(this.radix)
    let value = 0n
    for (let at = 0; at < text.length; at++) {
      const digit = this.#values[text.charCodeAt(at)] ?? -1
      if (digit < 0) return undefined
      value = value * radix + BigInt(digit)
    }
    return value
  }

  #ofNumber(value: number): string {
    const { radix, digits } = this
    let text = digits[value % radix]!
    for (let rest = Math.floor(value / radix); rest > 0; rest = Math.floor(rest / radix))
      text = digits[rest % radix]! + text
    return text
  }

  /** The digit that a character is or can be taken for; otherwise a text that is no digit. */
  #meant(char: string): string {
    if (this.digits.includes(char)) return char
    const cases = char.toUpperCase() + char.toLowerCase()
    const inOtherCase = this.#among(cases)
    if (inOtherCase.length === 1 && !this.mixesCases) return inOtherCase[0]!
    const alike = lookAlikes.find((each) => each.includes(char.toUpperCase()))
    const digits = this.#among(alike === undefined ? cases : alike + alike.toLowerCase())
    return digits.length === 1 ? digits[0]! : '\0'
  }

  #among(chars: string): string[] {
    return [...new Set(chars)].filter((each) => this.digits.includes(each))
  }
}

const base36Digits = '0123456789abcdefghijklmnopqrstuvwxyz'

/** The digits 0 to 9. */
export const base10 = new Alphabet('base10', '0123456789')
/** Crockford's: without I, L, O and U. https://www.crockford.com/base32.html */
export const crockford = new Alphabet('crockford', '0123456789ABCDEFGHJKMNPQRSTVWXYZ')

/** The alphabets that have names. */
export const alphabets: ReadonlyMap<string, Alphabet> = new Map(
  [
    base10,
    new Alphabet('base16', '0123456789abcdef'),
    new Alphabet('base36', base36Digits),
    new Alphabet('base62', '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'),
    crockford,
  ].map((each) => [each.name, each]),
)
