/** The parts of an id, for people: `ID.DECODE`, `GET /v1/decode`, `fahao decode`. */
import { FahaoError } from '../base/errors.ts'
import { decode } from './id-parts.ts'
import type { Layout } from './layout.ts'
import { formatLayout } from './layout-text.ts'
import { momentText } from './moment.ts'
import type { Periods, PeriodUnit } from './period.ts'
import { wideMomentMs } from './wide-format.ts'

/** An id taken apart, all in text and in the order in which to show it. */
export type IdDescription = {
  readonly id: string
  /** The layout's name where it has one, else its canonical text. */
  readonly layout: string
  /** When its unit of time began, ISO in UTC. */
  readonly date: string
  /** The same in whole Unix milliseconds. */
  readonly unixMs: string
  /** Units of the layout since its epoch. */
  readonly time: string
  readonly node: string
  readonly sequence: string
  /** Where the layout has a gene. */
  readonly gene?: string
  /** The fixed fields that have a name, where there are any. */
  readonly fields?: Readonly<Record<string, string>>
}

/** Takes an id apart. Throws ERR where the layout cannot have made it. */
export function describeId(layout: Layout, id: bigint): IdDescription {
  const { time, unixUs, date, node, sequence, gene, fields } = decode(layout, id)
  const named = Object.entries(fields).map(([name, value]) => [name, String(value)])
  return {
    id: String(id),
    layout: layout.name ?? formatLayout(layout),
    date,
    unixMs: String(unixUs / 1000n),
    time: String(time),
    node: String(node),
    sequence: String(sequence),
    ...(layout.geneBits > 0 && { gene: String(gene) }),
    ...(named.length > 0 && { fields: Object.fromEntries(named) }),
  }
}

/** An id of a generator with periods taken apart, in the order in which to show it. */
export type PeriodIdDescription = {
  readonly id: string
  readonly period: PeriodUnit
  /** What people call its period: 20261126. */
  readonly label: string
  /** When the period begins and ends, ISO in UTC. */
  readonly starts: string
  readonly ends: string
  readonly number: string
}

/** Takes an id of a period apart; undefined: it is of none, as one from before there were periods. */
export function describePeriodId(periods: Periods, id: bigint): PeriodIdDescription | undefined {
  const found = periods.split(id)
  if (found === undefined) return undefined
  const { ordinal, label, number } = found
  const [starts, ends] = [periods.startUs(ordinal), periods.endUs(ordinal)].map((us) =>
    momentText(BigInt(us)),
  )
  return {
    id: String(id),
    period: periods.unit,
    label: String(label),
    starts: starts!,
    ends: ends!,
    number: String(number),
  }
}

/**
 * Takes an id apart whose generator is not named: a whole number, or a text that begins with its time, such as a UUIDv7, of which
 * only that is known. Throws ERR for any other text.
 */
export function describeText(layout: Layout, text: string): Partial<IdDescription> {
  if (/^\d{1,19}$/.test(text)) return describeId(layout, BigInt(text))
  const wide = wideMomentMs(text)
  if (wide !== undefined)
    return {
      id: text,
      layout: wide.form,
      date: momentText(BigInt(wide.unixMs) * 1000n),
      unixMs: String(wide.unixMs),
    }
  throw new FahaoError(
    'ERR',
    `'${text.slice(0, 40)}' is no whole number of at most 19 digits; name its generator to read a format`,
  )
}
