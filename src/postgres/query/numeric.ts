/** Values of numeric: their texts, of digits and perhaps a fraction, as PostgreSQL writes them. */
import { refused } from './tree.ts'

/** Reads a numeric. Throws 0A000 for one of another form, and for a long one. */
export function numericOf(text: string): string {
  const [, sign = '', digits] =
    /^[ \t\n\v\f\r]*([+-]?)(\d{1,100}(?:\.\d{1,100})?)[ \t\n\v\f\r]*$/.exec(text) ?? []
  if (digits === undefined) throw refused(`The numeric "${text.slice(0, 60)}"`)
  const plain = digits.replace(/^0+(?=\d)/, '')
  return sign === '-' && /[1-9]/.test(plain) ? `-${plain}` : plain
}

function scaleOf(numeric: string): number {
  const point = numeric.indexOf('.')
  return point < 0 ? 0 : numeric.length - point - 1
}

/** Both numbers as whole numbers of the same decimal unit. */
function aligned(a: string, b: string): [a: bigint, b: bigint, scale: number] {
  const scale = Math.max(scaleOf(a), scaleOf(b))
  const units = (each: string) => BigInt(each.replace('.', '') + '0'.repeat(scale - scaleOf(each)))
  return [units(a), units(b), scale]
}

/** Compares: negative, 0 or positive. */
export function compareNumerics(left: string, right: string): number {
  const [a, b] = aligned(left, right)
  return Number(a > b) - Number(a < b)
}

/** The difference, with as many digits of a fraction as the operand that has more. */
export function difference(left: string, right: string): string {
  const [a, b, scale] = aligned(left, right)
  const digits = String(a < b ? b - a : a - b).padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  return `${a < b ? '-' : ''}${whole}${scale === 0 ? '' : `.${digits.slice(-scale)}`}`
}

/** 2 to the power of a whole number up to 64, with the 16 digits of a fraction that PostgreSQL gives. Throws 0A000 for others. */
export function power(base: string, exponent: string): string {
  if (base !== '2' || !/^\d{1,2}$/.test(exponent) || Number(exponent) > 64)
    throw refused(`A power other than that of 2 to a number from 0 to 64`)
  return `${2n ** BigInt(exponent)}.${'0'.repeat(16)}`
}
