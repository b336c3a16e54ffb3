/** Check digits: one more digit that detects typing errors. */

/** The published check digits. */
export type CheckName = 'luhn' | 'damm'

/** Given digits, the digit to append. Characters other than 0–9 are passed over. */
export const checkDigits: Readonly<Record<CheckName, (text: string) => number>> = Object.freeze({
  luhn: (text) => ofText('luhn', text),
  damm: (text) => ofText('damm', text),
})

function ofText(name: CheckName, text: string): number {
  const bytes = utf8.encode(text)
  return checkOfBytes(name, bytes, 0, bytes.length)
}

/** As `checkDigits` for the text in `[start, end)` of ASCII or UTF-8, in which no part of another character is a digit. */
export function checkOfBytes(name: CheckName, bytes: Uint8Array, start: number, end: number): number {
  return name === 'luhn' ? luhnOf(bytes, start, end) : dammOf(bytes, start, end)
}

/**
 * ISO/IEC 7812-1, Annex B: doubles every second digit from the right. Catches every wrong digit, and swapped
 * neighbours but 09 and 90. What card numbers use.
 */
function luhnOf(codes: Uint8Array, start: number, end: number): number {
  let sum = 0
  let doubles = true
  for (let at = end - 1; at >= start; at--) {
    const digit = codes[at]! - zero
    if (digit < 0 || digit > 9) continue
    const weighed = doubles ? digit * 2 : digit
    sum += weighed > 9 ? weighed - 9 : weighed
    doubles = !doubles
  }
  return (10 - (sum % 10)) % 10
}

/**
 * H. Michael Damm, "Total anti-symmetrische Quasigruppen" (2004): catches every wrong digit and all swapped
 * neighbours. Zeros in front do not change it.
 */
function dammOf(codes: Uint8Array, start: number, end: number): number {
  let interim = 0
  for (let at = start; at < end; at++) {
    const digit = codes[at]! - zero
    if (digit >= 0 && digit <= 9) interim = quasigroup[interim * 10 + digit]!
  }
  return interim
}

const zero = 48
const utf8 = new TextEncoder()

const quasigroup = Uint8Array.from(
  [
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
  ].join(''),
  Number,
)
