/** Ids from their parts, and back, in bigint: exact for every layout. Issuers have a faster way of their own. */
import { FahaoError } from '../base/errors.ts'
import { type Layout, ones, timeEndUs } from './layout.ts'
import { type MomentInput, momentText, parseMomentUs } from './moment.ts'
import { pastMaskOf } from './past.ts'
import { scatterOf } from './scatter.ts'

/** The parts of an id, as raw values of its fields. Absent fields are 0. */
export type IdParts = {
  /** Units of the layout since its epoch; or a Date, which counts as the beginning of its unit. */
  readonly time: number | bigint | Date
  readonly node?: number
  readonly sequence?: number
  readonly gene?: number
}

/** An id taken apart. The types never depend on the magnitude. */
export type DecodedId = {
  /** The raw time field: units of the layout since its epoch. */
  readonly time: bigint
  /** The moment at which that unit began, in µs since 1970. It may lie ahead of when the id was issued. */
  readonly unixUs: bigint
  /** The same moment as ISO text in UTC; `about the year …` where no calendar reaches. */
  readonly date: string
  /** 0 where the layout has no such field; `sequence` and `gene` likewise. */
  readonly node: number
  readonly sequence: number
  readonly gene: number
  /** The values of fixed fields that have a name. */
  readonly fields: Readonly<Record<string, number>>
}

/** Puts an id together. Throws EXHAUSTED for a time past the field's end, ERR for what else does not fit. */
export function encode(layout: Layout, { time: given, node = 0, sequence = 0, gene = 0 }: IdParts): bigint {
  const time = given instanceof Date ? unitsOf(layout, given) : given
  if (typeof time === 'bigint' ? time >= 1n << BigInt(layout.timeBits) : time >= 2 ** layout.timeBits) {
    const ended = momentText(timeEndUs(layout))
    throw new FahaoError(
      'EXHAUSTED',
      `time ${time} is past the end of the time field, ${ended}; use a wider layout`,
    )
  }
  const id =
    layout.fixed |
    (fitted('time', time, layout.timeBits) << BigInt(layout.timeShift)) |
    (fitted('node', node, layout.nodeBits) << BigInt(layout.nodeShift)) |
    (fitted('sequence', sequence, layout.sequenceBits) << BigInt(layout.sequenceShift)) |
    fitted('gene', gene, layout.geneBits)
  return id | scatterOf(layout, id)
}

/** Takes an id apart. Throws ERR where the id has bits that the layout cannot give it. */
export function decode(layout: Layout, id: bigint): DecodedId {
  if (id < 0n || id > ones(layout.totalBits)) {
    throw notOfLayout(id, `this layout makes ids from 0 to ${ones(layout.totalBits)}`)
  }
  const past = id & pastMaskOf(layout)
  if ((id & layout.fixedMask) !== (layout.fixed | past)) {
    throw notOfLayout(id, "its fixed bits are not the layout's")
  }
  if (layout.scatterBits > 0 && (id ^ scatterOf(layout, id)) >> BigInt(layout.scatterShift) !== 0n) {
    throw notOfLayout(id, 'its scatter bits are not those of its other bits')
  }
  const time = part(id, layout.timeBits, layout.timeShift)
  const unixUs = BigInt(layout.epochUs) + time * BigInt(layout.unitUs)
  return {
    time,
    unixUs,
    date: momentText(unixUs),
    node: Number(part(id, layout.nodeBits, layout.nodeShift)),
    sequence: Number(part(id, layout.sequenceBits, layout.sequenceShift)),
    gene: Number(part(id, layout.geneBits, 0)),
    fields: past === 0n ? layout.named : { ...layout.named, past: 1 },
  }
}

/** The units of the layout from its epoch to the one that holds this moment, in Unix µs. Negative before the epoch. */
export function unitsAt({ epochUs, unitUs }: Pick<Layout, 'epochUs' | 'unitUs'>, unixUs: number): bigint {
  const sinceUs = BigInt(unixUs) - BigInt(epochUs)
  const unit = BigInt(unitUs)
  return sinceUs >= 0n ? sinceUs / unit : -((unit - 1n - sinceUs) / unit)
}

/** As `unitsAt`. Throws ERR for what is no moment, and for one before the epoch. */
export function unitsOf(layout: Layout, moment: MomentInput): bigint {
  const units = unitsAt(layout, parseMomentUs(moment, 'moment'))
  if (units >= 0n) return units
  const [asked, epoch] = [parseMomentUs(moment, 'moment'), layout.epochUs].map((us) => momentText(BigInt(us)))
  throw new FahaoError(
    'ERR',
    `moment ${asked} is before the layout’s epoch, ${epoch}, so no id is of it; give a later one`,
  )
}

function part(id: bigint, bits: number, shift: number): bigint {
  return (id >> BigInt(shift)) & ones(bits)
}

function fitted(field: string, value: number | bigint, bits: number): bigint {
  const whole = typeof value === 'bigint' || Number.isSafeInteger(value)
  if (whole && value >= 0 && value <= ones(bits)) return BigInt(value)
  const remedy = bits === 0 ? 'the layout has no such field, so leave it out' : `give 0 to ${ones(bits)}`
  throw new FahaoError('ERR', `${field} ${value} does not fit the layout's ${bits} bits; ${remedy}`)
}

function notOfLayout(id: bigint, reason: string): FahaoError {
  return new FahaoError(
    'ERR',
    `id ${id} was not made by this layout: ${reason}; decode it with the right one`,
  )
}
