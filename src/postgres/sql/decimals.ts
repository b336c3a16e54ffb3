/** Arithmetic of numeric: exact decimals as text, of at most `digitsMax` digits. Division is not here. */
import { SqlError } from './sql-error.ts'

/** More take too long to compute with. */
const digitsMax = 1000
/** The decimals of a power. */
const powerScale = 16

type Decimal = { readonly unscaled: bigint; readonly scale: number }

const form = /^\s*([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?\s*$/

/** The canonical text of a decimal, or undefined if `text` is none. */
export function canonicalDecimal(text: string): string | undefined {
  if (text.length > digitsMax) return undefined
  const read = form.exec(text)
  return read && (read[2] || read[3]) ? textOf(parse(text)) : undefined
}

/** Negative, 0 or positive. */
export function compareDecimals(left: string, right: string): number {
  const [a, b] = aligned(left, right)
  return a < b ? -1 : a > b ? 1 : 0
}

/** The result of `operator`, one of + - * %; `right` is not 0 for %. */
export function calculate(operator: string, left: string, right: string): string {
  if (operator === '*') {
    const [a, b] = [parse(left), parse(right)]
    return textOf({ unscaled: a.unscaled * b.unscaled, scale: a.scale + b.scale })
  }
  const [a, b, scale] = aligned(left, right)
  return textOf({ unscaled: operator === '+' ? a + b : operator === '-' ? a - b : a % b, scale })
}

/** The nearest integer; halves go away from 0. */
export function roundDecimal(text: string): bigint {
  const { unscaled, scale } = parse(text)
  const unit = 10n ** BigInt(scale)
  const half = unscaled < 0n ? -unit : unit
  return (unscaled * 2n + half) / (unit * 2n)
}

/**
 * A power with a whole exponent, with the 16 decimals that PostgreSQL shows. Throws 0A000 for other exponents, and where it
 * would have to round.
 */
export function raiseDecimal(base: string, exponent: string): string {
  const { unscaled, scale } = parse(base)
  const times = /^\d{1,4}(?:\.0*)?$/.test(exponent) ? Number(exponent) : Number.NaN
  if (!(scale * times <= powerScale))
    throw new SqlError(
      '0A000',
      'power() of numeric takes whole exponents, for results of at most 16 decimals',
    )
  if (String(unscaled).length * times > digitsMax)
    throw new SqlError('22003', 'value overflows numeric format')
  const power = textOf({ unscaled: unscaled ** BigInt(times), scale: scale * times })
  return calculate('+', power, `0.${'0'.repeat(powerScale)}`)
}

function parse(text: string): Decimal {
  const [, sign, whole = '', fraction = '', exponent = '0'] = form.exec(text) ?? []
  const digits = BigInt(`${whole}${fraction}` || '0')
  const scale = fraction.length - Number(exponent)
  const unscaled = sign === '-' ? -digits : digits
  return scale >= 0 ? { unscaled, scale } : { unscaled: unscaled * 10n ** BigInt(-scale), scale: 0 }
}

function aligned(left: string, right: string): [bigint, bigint, number] {
  const [a, b] = [parse(left), parse(right)]
  const scale = Math.max(a.scale, b.scale)
  return [a.unscaled * 10n ** BigInt(scale - a.scale), b.unscaled * 10n ** BigInt(scale - b.scale), scale]
}

function textOf({ unscaled, scale }: Decimal): string {
  const sign = unscaled < 0n ? '-' : ''
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0')
  if (digits.length > digitsMax) throw new SqlError('22003', 'value overflows numeric format')
  return scale === 0 ? `${sign}${digits}` : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}
