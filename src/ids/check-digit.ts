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
  /** The check of the first `count` values. */
  readonly of: (values: Uint8Array, count: number) => number
}

const decimal = '0123456789'
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const ofDigits = { digits: decimal, width: 1, hasLetters: false } as const

const systems = {
  /**
   * ISO/IEC 7812-1, Annex B: doubles every second digit from the right. Catches every wrong digit, and swapped neighbours but
   * 09 and 90. What card numbers use.
   */
  luhn: {
    ...ofDigits,
    of(values, count) {
      let sum = 0
      for (let at = count - 1; at >= 0; at -= 2) {
        const doubled = values[at]! * 2
        sum += doubled > 9 ? doubled - 9 : doubled
        if (at > 0) sum += values[at - 1]!
      }
      return (10 - (sum % 10)) % 10
    },
  },
  /**
   * H. Michael Damm, "Total anti-symmetrische Quasigruppen" (2004): catches every wrong digit and all swapped neighbours.
   * Zeros in front do not change it.
   */
  damm: {
    ...ofDigits,
    of(values, count) {
      let interim = 0
      for (let at = 0; at < count; at++) interim = quasigroup[interim * 10 + values[at]!]!
      return interim
    },
  },
  /** J. Verhoeff, "Error Detecting Decimal Codes" (1969): catches every wrong digit and all swapped neighbours. */
  verhoeff: {
    ...ofDigits,
    of(values, count) {
      let check = 0
      for (let at = count - 1, place = 1; at >= 0; at--, place++)
        check = dihedral(check, permuted[(place % 8) * 10 + values[at]!]!)
      return check < 5 ? (5 - check) % 5 : check
    },
  },
  /** Modulo 10, recursive: of the reference of the Swiss QR-bill (26 digits and this one), and of the ESR before it. */
  mod10r: {
    ...ofDigits,
    of(values, count) {
      let carry = 0
      for (let at = 0; at < count; at++) carry = recursive[(carry + values[at]!) % 10]!
      return (10 - carry) % 10
    },
  },
  /** ISO/IEC 7064 MOD 97-10: of IBANs, and of creditor references by ISO 11649. */
  mod97: {
    digits: decimal,
    width: 2,
    hasLetters: true,
    of(values, count) {
      let rest = 0
      for (let at = 0; at < count; at++) {
        const value = values[at]!
        rest = (rest * (value < 10 ? 10 : 100) + value) % 97
      }
      return 98 - ((rest * 100) % 97)
    },
  },
  /** ISO/IEC 7064 MOD 11-2: of ORCID and ISNI. */
  'mod11-2': { ...ofDigits, digits: `${decimal}X`, of: pure(11) },
  /** ISO/IEC 7064 MOD 37-2: of ISBT 128. */
  'mod37-2': { digits: `${decimal}${letters}*`, width: 1, hasLetters: true, of: pure(37) },
  /** ISO/IEC 7064 MOD 11,10. */
  'mod11-10': { ...ofDigits, of: hybrid(10) },
  /** ISO/IEC 7064 MOD 37,36. */
  'mod37-36': { digits: decimal + letters, width: 1, hasLetters: true, of: hybrid(36) },
} as const satisfies Readonly<Record<string, System>>

/** The names of the systems. */
export type CheckName = keyof typeof systems

/** Every name, in the order of the documentation. */
export const checkNames = Object.freeze(Object.keys(systems)) as readonly CheckName[]

/** Pure systems of radix 2. */
function pure(modulus: number): System['of'] {
  return (values, count) => {
    let check = 0
    for (let at = 0; at < count; at++) check = ((check + values[at]!) * 2) % modulus
    return (modulus + 1 - check) % modulus
  }
}

/** Hybrid systems, modulo `radix` and `radix` + 1. */
function hybrid(radix: number): System['of'] {
  return (values, count) => {
    let product = radix
    for (let at = 0; at < count; at++) {
      const sum = (product + values[at]!) % radix
      product = ((sum === 0 ? radix : sum) * 2) % (radix + 1)
    }
    return (radix + 1 - product) % radix
  }
}

const passedOver = 255
/** The value of each byte, without and with letters. */
const digitValues = valuesOf(decimal)
const letterValues = valuesOf(decimal + letters)

/** Values of covered characters, and the bytes of a text. Filled and read within one call. */
const covered = new Uint8Array(1024)
const utf8 = new TextEncoder()

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
    this.#codes = utf8.encode(this.#alphabet.digits)
    this.#values = system.hasLetters ? letterValues : digitValues
  }

  /** The check digits of a text, and of one that follows it. */
  of(text: string, then = ''): string {
    const bytes = utf8.encode(text + then)
    const check = this.#system.of(covered, this.#cover(bytes, 0, bytes.length, 0))
    return this.width === 1 ? this.#alphabet.digits[check]! : String(check).padStart(2, '0')
  }

  /** Writes at `at` the check digits of `[from, to)` and then `[thenFrom, thenTo)` of ASCII or UTF-8. */
  write(bytes: Uint8Array, at: number, from: number, to: number, thenFrom: number, thenTo: number): void {
    const count = this.#cover(bytes, thenFrom, thenTo, this.#cover(bytes, from, to, 0))
    const check = this.#system.of(covered, count)
    if (this.width === 2) bytes[at] = this.#codes[Math.floor(check / 10)]!
    bytes[at + this.width - 1] = this.#codes[this.width === 1 ? check : check % 10]!
  }

  /** Whether a reader meant these check digits: where only one of them can be meant, look-alikes are read as ids are. */
  isMeant(typed: string, check: string): boolean {
    return typed.length === this.width && this.#alphabet.read(typed) === this.#alphabet.read(check)
  }

  /** Adds the values of `[from, to)` to those that are covered, and returns how many there are. */
  #cover(bytes: Uint8Array, from: number, to: number, count: number): number {
    const values = this.#values
    let many = count
    for (let at = from; at < to; at++) {
      const value = values[bytes[at]!]!
      if (value !== passedOver) covered[many++] = value
    }
    return many
  }
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
