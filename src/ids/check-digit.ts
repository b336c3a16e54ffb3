/** Check digits: one more digit that detects typing errors. */

/** The published check digits. */
export type CheckName = 'luhn' | 'damm'

/** Given digits, the digit to append. Characters other than 0–9 are passed over. */
export const checkDigits: Readonly<Record<CheckName, (text: string) => number>> = Object.freeze({
  luhn,
  damm,
})

/**
 * ISO/IEC 7812-1, Annex B: doubles every second digit from the right. Catches every wrong digit, and swapped
 * neighbours but 09 and 90. What card numbers use.
 */
function luhn(text: string): number {
  let sum = 0
  let doubles = true
  for (let at = text.length - 1; at >= 0; at--) {
    const digit = text.charCodeAt(at) - zero
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
function damm(text: string): number {
  let interim = 0
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - zero
    if (digit >= 0 && digit <= 9) interim = quasigroup.charCodeAt(interim * 10 + digit) - zero
  }
  return interim
}

const zero = 48

const quasigroup = [
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
].join('')
