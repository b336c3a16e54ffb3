/** Numbers, durations and moments as people read them. */
import { t } from './texts.ts'

/** 1234567 as 1,234,567. */
export function grouped(value: number | string | bigint): string {
  const text = String(value)
  return /^-?\d+$/.test(text) ? BigInt(text).toLocaleString('en') : Number(value).toLocaleString('en')
}

/** A rate: short, with three digits at most behind which nothing matters. */
export function rateText(perSecond: number | undefined | null): string {
  if (perSecond === undefined || perSecond === null) return '–'
  if (perSecond < 0.005) return '0'
  if (perSecond < 10) return perSecond.toFixed(perSecond < 1 ? 2 : 1)
  return short(perSecond)
}

/** 1,234,567 as 1.23 M. */
export function short(value: number): string {
  if (value < 10_000) return grouped(Math.round(value))
  const [unit, size] =
    value < 1e6 ? ['k', 1e3] : value < 1e9 ? ['M', 1e6] : value < 1e12 ? ['G', 1e9] : ['T', 1e12]
  return `${Number((value / (size as number)).toPrecision(3))} ${unit}`
}

const secondsMax = 1000 * 31_557_600

/** A duration in its one or two largest units. */
export function durationText(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–'
  if (seconds < 0.001) return `0 ${t.units.s}`
  // Longer than any answer matters, and of a rate that is next to nothing.
  if (seconds > secondsMax) return `> ${durationText(secondsMax)}`
  if (seconds < 1) return `${Math.round(seconds * 1000)} ${t.units.ms}`
  const units: readonly (readonly [string, number])[] = [
    [t.units.y, 31_557_600],
    [t.units.d, 86_400],
    [t.units.h, 3600],
    [t.units.min, 60],
    [t.units.s, 1],
  ]
  const at = Math.min(
    units.findIndex(([, size]) => seconds >= size),
    units.length - 1,
  )
  const [unit, size] = units[at]!
  const whole = Math.floor(seconds / size)
  const next = units[at + 1]
  if (next === undefined) return `${Number(seconds.toFixed(seconds < 10 ? 1 : 0))} ${unit}`
  const rest = Math.floor((seconds - whole * size) / next[1])
  return rest === 0 || whole >= 100
    ? `${grouped(whole)} ${unit}`
    : `${grouped(whole)} ${unit} ${rest} ${next[0]}`
}

/** A moment in the time of the browser, as 2026-11-28 12:03:00 in every language. */
export function momentText(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  const date = new Date(value)
  if (Number.isNaN(date.getTime())) return String(value)
  return date.toLocaleString('sv-SE')
}

/** The time of day in the time of the browser. */
export function clockText(ms: number): string {
  return new Date(ms).toLocaleTimeString('en-GB')
}

/** A word of a shell, quoted where it must be. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
