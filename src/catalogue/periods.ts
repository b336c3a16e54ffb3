/** The options of generators whose numbers begin again in each period. */
import { FahaoError } from '../base/errors.ts'
import { numberDigits } from '../ids/format.ts'
import { labelDigits, type PeriodDefinition, periodsOf } from '../ids/period.ts'
import type { GeneratorOptions } from './generator-options.ts'

export { type PeriodDefinition, periodsOf } from '../ids/period.ts'

/** The options of periods. None of them can change within an incarnation: each is part of what an id means. */
export const periodOptions = ['period', 'zone', 'yearStart', 'width', 'keep'] as const

/** JavaScript’s numbers represent all ids of 15 digits exactly. */
const exactDigits = 15

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
  const formatDigits = format === undefined || format === '{id}' ? undefined : numberDigits(format, zone)
  const width = options.width ?? formatDigits ?? exactDigits - labelDigits[period]
  const year = period === 'year' ? { yearStart: yearStart ?? '01-01' } : {}
  const part = { period, zone, ...year, width, keep }
  periodsOf(part)
  if (start >= 10n ** BigInt(width))
    throw refused(`start ${start} is no number of ${width} digits; give a larger width, or another start`)
  refuseOthers(options, maxOf(part))
  return part
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
