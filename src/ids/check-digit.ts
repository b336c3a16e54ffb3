/**
 * Check digits: one or two more digits that detect typing errors. Behind the id one covers all that stands before it; in front
 * of the id, all that stands behind it and then what stands before it, as ISO 11649 has it. Systems of digits pass over all but
 * 0–9; those of letters take letters without case, as 10 to 35.
 */
import { Alphabet } from './alphabet.ts'

/** What one system computes. */
type System = {
  /** The check digits in the order of their values. */
  readonly digits: string
  readonly width: 1 | 2
  /** Whether letters are covered. */
  readonly hasLetters: boolean
  /** The state before the first value. */
  readonly start: number
  /** The state after the values `[from, to)` of `count` in all. */
  readonly fold: (state: number, values: Uint8Array, from: number, to: number, count: number) => number
  /** The check of the state after the last value. */
  readonly end: (state: number) => number
}

const decimal = '0123456789'
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const ofDigits = { digits: decimal, width: 1, hasLetters: false, start: 0 } as const

const systems = {
  /**
   * ISO/IEC 7812-1, Annex B: doubles every second digit from the right. Catches every wrong digit, and swapped neighbours but
   * 09 and 90. What card numbers use.
   */
  luhn: {
    ...ofDigits,
    fold(state, values, from, to, count) {
      let sum = state
      for (let at = from; at < to; at++) {
        const value = values[at]!
        if ((count - at) % 2 === 0) sum += value
        else sum += value < 5 ? value * 2 : value * 2 - 9
      }
      return sum
    },
    end: (sum) => (10 - (sum % 10)) % 10,
  },
  /**
   * H. Michael Damm, "Total anti-symmetrische Quasigruppen" (2004): catches every wrong digit and all swapped neighbours.
   * Zeros in front do not change it.
   */
  damm: {
    ...ofDigits,
    fold(state, values, from, to) {
      let interim = state
      for (let at = from; at < to; at++) interim = quasigroup[interim * 10 + values[at]!]!
      return interim
    },
    end: (interim) => interim,
  },
  /** J. Verhoeff, "Error Detecting Decimal Codes" (1969): catches every wrong digit and all swapped neighbours. */
  verhoeff: {
    ...ofDigits,
    fold(state, values, from, to, count) {
      let product = state
      for (let at = from; at < to; at++)
        product = dihedral(permuted[((count - at) % 8) * 10 + values[at]!]!, product)
      return product
    },
    end: (product) => (product < 5 ? (5 - product) % 5 : product),
  },
  /** Modulo 10, recursive: of the reference of the Swiss QR-bill (26 digits and this one), and of the ESR before it. */
  mod10r: {
    ...ofDigits,
    fold(state, values, from, to) {
      let carry = state
      for (let at = from; at < to; at++) carry = recursive[(carry + values[at]!) % 10]!
      return carry
    },
    end: (carry) => (10 - carry) % 10,
  },
  /** ISO/IEC 7064 MOD 97-10: of IBANs, and of creditor references by ISO 11649. */
  mod97: {
    digits: decimal,
    width: 2,
    hasLetters: true,
    start: 0,
    fold(state, values, from, to) {
      let rest = state
      for (let at = from; at < to; at++) {
        const value = values[at]!
        rest = (rest * (value < 10 ? 10 : 100) + value) % 97
      }
      return rest
    },
    end: (rest) => 98 - ((rest * 100) % 97),
  },
  /** ISO/IEC 7064 MOD 11-2: of ORCID and ISNI. */
  'mod11-2': { ...ofDigits, digits: `${decimal}X`, ...pure(11) },
  /** ISO/IEC 7064 MOD 37-2: of ISBT 128. */
  'mod37-2': { digits: `${decimal}${letters}*`, width: 1, hasLetters: true, ...pure(37) },
  /** ISO/IEC 7064 MOD 11,10. */
  'mod11-10': { ...ofDigits, ...hybrid(10) },
  /** ISO/IEC 7064 MOD 37,36. */
  'mod37-36': { digits: decimal + letters, width: 1, hasLetters: true, ...hybrid(36) },
} as const satisfies Readonly<Record<string, System>>

/** The names of the systems. */
export type CheckName = keyof typeof systems

/** Every name, in the order of the documentation. */
export const checkNames = Object.freeze(Object.keys(systems)) as readonly CheckName[]

/** Pure systems of radix 2. */
function pure(modulus: number): Pick<System, 'start' | 'fold' | 'end'> {
  return {
    start: 0,
    fold(state, values, from, to) {
      let check = state
      for (let at = from; at < to; at++) check = ((check + values[at]!) * 2) % modulus
      return check
    },
    end: (check) => (modulus + 1 - check) % modulus,
  }
}

/** Hybrid systems, modulo `radix` and `radix` + 1. */
function hybrid(radix: number): Pick<System, 'start' | 'fold' | 'end'> {
  return {
    start: radix,
    fold(state, values, from, to) {
      let product = state
      for (let at = from; at < to; at++) {
        const sum = (product + values[at]!) % radix
        product = ((sum === 0 ? radix : sum) * 2) % (radix + 1)
      }
      return product
    },
    end: (product) => (radix + 1 - product) % radix,
  }
}

const passedOver = 255
/** The value of each byte, without and with letters. */
const digitValues = valuesOf(decimal)
const letterValues = valuesOf(decimal + letters)

/** The values of covered characters, and where each stands in the text. Filled and read within one call. */
const covered = new Uint8Array(2048)
const places = new Uint16Array(2048)

/** The check digits of one system, in one case of letters. */
export class CheckDigits {
  readonly name: CheckName
  readonly width: 1 | 2
  /** Whether letters are covered as well. */
  readonly hasLetters: boolean
  readonly #system: System
  readonly #alphabet: Alphabet
  readonly #codes: Uint8Array
  readonly #values: Uint8Array

  constructor(name: CheckName, { isSmall }: { readonly isSmall: boolean }) {
    const system = systems[name]
    this.name = name
    this.width = system.width
    this.hasLetters = system.hasLetters
    this.#system = system
    this.#alphabet = new Alphabet(name, isSmall ? system.digits.toLowerCase() : system.digits)
    this.#codes = new TextEncoder().encode(this.#alphabet.digits)
    this.#values = system.hasLetters ? letterValues : digitValues
  }

  /** What check digits are written with. */
  get digits(): string {
    return this.#alphabet.digits
  }

  /** The check digits of a text, and of one that follows it. */
  of(text: string, then = ''): string {
    const { start, fold, end } = this.#system
    const whole = text + then
    let count = 0
    for (let at = 0; at < whole.length; at++) {
      const value = this.#values[whole.charCodeAt(at)] ?? passedOver
      if (value !== passedOver) covered[count++] = value
    }
    const check = end(fold(start, covered, 0, count, count))
    return this.width === 1 ? this.#alphabet.digits[check]! : String(check).padStart(2, '0')
  }

  /**
   * Writes the check digits of texts of `size` bytes each, of which the first starts at `from` and the last ends at `end`. They
   * stand `at` bytes behind the start, and cover `[0, at)`, or, `first`, `[at + width, length)` and then `[0, at)`. The texts
   * are alike in what is covered before `changing`.
   */
  write(
    bytes: Uint8Array,
    from: number,
    end: number,
    size: number,
    { at, first, length, changing }: CheckedTexts,
  ): void {
    const { start, fold, end: checkOf } = this.#system
    const behind = first ? this.#cover(bytes, from, at + this.width, length, 0) : 0
    const count = this.#cover(bytes, from, 0, at, behind)
    let alike = 0
    while (alike < count && places[alike] !== changing) alike++
    const state = fold(start, covered, 0, alike, count)
    const codes = this.#codes
    for (let text = from; text < end; text += size) {
      for (let place = alike; place < count; place++)
        covered[place] = this.#values[bytes[text + places[place]!]!]!
      const check = checkOf(fold(state, covered, alike, count, count))
      if (this.width === 2) bytes[text + at] = codes[Math.floor(check / 10)]!
      bytes[text + at + this.width - 1] = codes[this.width === 1 ? check : check % 10]!
    }
  }

  /** Whether a reader meant these check digits: where only one of them can be meant, look-alikes are read as ids are. */
  isMeant(typed: string, check: string): boolean {
    return typed.length === this.width && this.#alphabet.read(typed) === this.#alphabet.read(check)
  }

  /** Adds the values of `[from, to)` of the text at `start` to the `count` that are covered, and returns how many there are. */
  #cover(bytes: Uint8Array, start: number, from: number, to: number, count: number): number {
    let many = count
    for (let at = from; at < to; at++) {
      const value = this.#values[bytes[start + at]!]!
      if (value === passedOver) continue
      covered[many] = value
      places[many++] = at
    }
    return many
  }
}

/** Where the check digits of texts of one form stand, and what they cover. */
export type CheckedTexts = {
  readonly at: number
  readonly first: boolean
  readonly length: number
  readonly changing: number
}

/** Of a byte that is no digit or letter: `passedOver`. */
function valuesOf(digits: string): Uint8Array {
  const values = new Uint8Array(256).fill(passedOver)
  for (const [value, digit] of [...digits].entries())
    for (const each of [digit, digit.toLowerCase()]) values[each.charCodeAt(0)] = value
  return values
}

const recursive = [0, 9, 4, 6, 8, 2, 7, 1, 3, 5]

/** A product of the dihedral group of ten elements. */
function dihedral(a: number, b: number): number {
  if (a < 5) return b < 5 ? (a + b) % 5 : 5 + ((a + b) % 5)
  return b < 5 ? 5 + ((a - b) % 5) : (a - b + 5) % 5
}

const permuted = table(
  '0123456789',
  '1576283094',
  '5803796142',
  '8916043527',
  '9453126870',
  '4286573901',
  '2793806415',
  '7046913258',
)

const quasigroup = table(
  '0317598642',
  '7092154863',
  '4206871359',
  '1750983426',
  '6123045978',
  '3674209581',
  '5869720134',
  '8945362017',
  '9438617205',
  '2581436790',
)

function table(...rows: readonly string[]): Uint8Array {
  return Uint8Array.from(rows.join(''), Number)
}
