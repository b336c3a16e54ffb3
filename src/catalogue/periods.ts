/** Generators whose numbers begin again in each period: their options, and the periods of a definition. */
import { FahaoError } from '../base/errors.ts'
import { compileFormat } from '../ids/format.ts'
import { max63 } from '../ids/limits.ts'
import { labelDigits, Periods, type PeriodUnit } from '../ids/period.ts'
import type { GeneratorOptions } from './generator-options.ts'

/** What is in the definition of a generator with periods. */
export type PeriodDefinition = {
  readonly period?: PeriodUnit
  readonly zone?: string
  /** `MM-DD`; of years alone. */
  readonly yearStart?: string
  /** How many digits the number in a period has. */
  readonly width?: number
  /** How many periods before the current one can still be numbered. */
  readonly keep?: number
}

/** The options of periods. None of them can change within an incarnation: each is part of what an id means. */
export const periodOptions = ['period', 'zone', 'yearStart', 'width', 'keep'] as const

/** Ids of so many digits are exact in JavaScript. */
const exactDigits = 15
const known = new Map<string, Periods>()
const knownMax = 1000

/** The periods of a definition; undefined: it has none. Equal ones are one object. */
export function periodsOf({ period, zone, yearStart, width }: PeriodDefinition): Periods | undefined {
  if (period === undefined) return undefined
  const key = `${period} ${zone} ${yearStart} ${width}`
  const found = known.get(key)
  if (found !== undefined) return found
  const periods = new Periods({
    unit: period,
    zone: zone ?? 'UTC',
    yearStart: yearStart ?? '01-01',
    width: width!,
  })
  if (known.size >= knownMax) known.clear()
  known.set(key, periods)
  return periods
}

/** The periods of options, complete; undefined: they have none. Throws ERR for options that contradict periods. */
export function periodPart(options: GeneratorOptions): PeriodDefinition | undefined {
  const { period, zone = 'UTC', yearStart, keep = 0, start = 1n, format } = options
  if (period === undefined) {
    const given = periodOptions.find((name) => options[name] !== undefined)
    if (given === undefined) return undefined
    throw refused(`option '${given}' belongs to a period; give one, such as period day`)
  }
  if (yearStart !== undefined && period !== 'year')
    throw refused(`yearStart belongs to period year; leave it out of period ${period}`)
  const width = options.width ?? widthIn(format) ?? exactDigits - labelDigits[period]
  const year = period === 'year' ? { yearStart: yearStart ?? '01-01' } : {}
  const part = { period, zone, ...year, width, keep }
  periodsOf(part)
  if (start >= 10n ** BigInt(width))
    throw refused(`start ${start} is no number of ${width} digits; give a larger width, or another start`)
  refuseOthers(options, maxOf(part))
  return part
}

/** How many decimal digits a format has room for; undefined: for as many as a number has. */
function widthIn(format: string | undefined): number | undefined {
  const maxId = format === undefined ? max63 : compileFormat(format, { nodeWidth: 1, anyZone: true }).maxId
  return maxId === max63 ? undefined : String(maxId + 1n).length - 1
}

/** The options that stay where the length of periods, or their width, changes: the largest id follows from these. */
export function withoutPeriod<Options extends PeriodDefinition & { readonly max?: bigint }>(
  { max: _, period, width: __, zone, yearStart, keep, ...others }: Options,
  { period: next }: { readonly period?: unknown },
): Omit<Options, 'max' | 'width'> {
  return (next === undefined ? { period, zone, yearStart, keep, ...others } : others) as Omit<
    Options,
    'max' | 'width'
  >
}

/** The largest id of a period. */
export function maxOf({ period, width }: PeriodDefinition): bigint {
  return 10n ** BigInt(labelDigits[period!] + width!) - 1n
}

function refuseOthers(options: GeneratorOptions, most: bigint): void {
  const { increment = 1, offset = 0n, gene = 0, within, scramble, family, avoid, max = most } = options
  const other = [
    increment !== 1 && 'increment',
    offset !== 0n && 'offset',
    gene !== 0 && 'gene',
    within === 'shuffled' && 'within: shuffled',
    scramble && 'scramble',
    family && 'family',
  ].find((name) => name !== false && name !== undefined)
  if (other !== undefined) throw refused(`numbers of a period count by one; leave ${other} out`)
  if (avoid) throw refused('texts with a period have no words; leave avoid out')
  if (max !== most) throw refused('the width says how far the numbers of a period go; leave max out')
}

function refused(why: string): FahaoError {
  return new FahaoError('ERR', why)
}
