/** Durations and sizes as people write them: `250ms`, `3s`, `10m`; `64KiB`. */
import { FahaoError } from './errors.ts'

const durationUnits: readonly (readonly [suffix: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
]
const sizeUnits: readonly (readonly [suffix: string, bytes: number])[] = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
  ['B', 1],
]

/** `10m` → 600000. A number alone is milliseconds. Throws ERR for negative values and unknown units. */
export function parseDurationMs(text: string): number {
  return parseMeasure(text, durationUnits, 'ms', 'a duration such as 250ms, 3s, 10m, 1h or 1d')
}

/** 600000 → `10m`: the largest unit without a fraction. */
export function formatDuration(ms: number): string {
  return formatMeasure(ms, durationUnits)
}

/** `64KiB` → 65536. A number alone is bytes. Throws ERR for negative values and unknown units. */
export function parseSizeBytes(text: string): number {
  return parseMeasure(text, sizeUnits, 'B', 'a size such as 512B, 64KiB or 1MiB')
}

/** 65536 → `64KiB`: the largest unit without a fraction. */
export function formatSize(bytes: number): string {
  return formatMeasure(bytes, sizeUnits)
}

function parseMeasure(
  text: string,
  units: readonly (readonly [string, number])[],
  bare: string,
  wanted: string,
): number {
  const match = /^(\d{1,15}(?:\.\d{1,6})?)\s*([A-Za-z]*)$/.exec(text.trim())
  const suffix = match?.[2] || bare
  const unit = units.find(([name]) => name === suffix)
  if (!match || !unit) throw new FahaoError('ERR', `'${text.slice(0, 40)}' is not ${wanted}`)
  return Math.round(Number(match[1]) * unit[1])
}

function formatMeasure(value: number, units: readonly (readonly [string, number])[]): string {
  const [suffix, size] = units.find(([, size]) => value >= size && value % size === 0) ?? units.at(-1)!
  return `${value / size}${suffix}`
}
