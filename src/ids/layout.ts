/**
 * A layout: which bits of an id mean what. Fields stand in order from the most significant bit; bit 63, the
 * sign, is always 0 and never written down.
 */
import { FahaoError } from '../base/errors.ts'
import { geneBitsMax } from './gene.ts'
import { type MomentInput, momentText, parseMomentUs, parseUnitUs } from './moment.ts'

/** A field as it is asked for. `fixed` bits hold `value` in every id; those with a name are shown by it. */
export type FieldSpec =
  | { readonly field: 'scatter' | 'time' | 'node' | 'sequence' | 'gene'; readonly bits: number }
  | {
      readonly field: 'fixed'
      readonly name?: string | undefined
      readonly bits: number
      readonly value: number | bigint
    }

/** A layout as it is asked for. */
export type LayoutSpec = {
  /** From the most significant bit: at most a scatter, one time, at most one node, one sequence and, as the last one, a gene; any fixed bits. */
  readonly fields: readonly FieldSpec[]
  /** What the time field counts: `us`, `ms` (default), `10ms`, `s`, or any span up to 24h. */
  readonly unit?: string
  /** Where the time field is 0: ISO date-time with a zone, or Unix milliseconds. */
  readonly epoch: MomentInput
  /** What to call it in messages. */
  readonly name?: string
}

/** What a layout is checked against. */
export type LayoutOptions = {
  /**
   * The time now, in Unix µs. Given, an epoch in the future is refused and a time field that has run out
   * makes the layout decode only. Leave it out for what is stored already: it was checked when it was new.
   */
  readonly nowUs?: number
}

/** One field in its place. */
export type LayoutField = {
  readonly field: FieldSpec['field']
  /** Of fixed bits that have one. */
  readonly name: string | undefined
  readonly bits: number
  /** Position of its lowest bit, from 0. */
  readonly shift: number
  /** What fixed bits hold; 0n for the others. */
  readonly value: bigint
}

/** A checked, frozen layout. Make one with `defineLayout` or `parseLayout`, or take one of `layouts`. */
export type Layout = {
  /** The preset's or the caller's name; no part of what the layout is. */
  readonly name: string | undefined
  /** All fields, from the most significant bit. */
  readonly fields: readonly LayoutField[]
  readonly timeBits: number
  /** Position of the lowest bit of the time field. */
  readonly timeShift: number
  /** 0 where there is no node field; then only one node may issue. */
  readonly nodeBits: number
  readonly nodeShift: number
  /** 0 where there is no sequence field; then each unit of time has one id per node. */
  readonly sequenceBits: number
  readonly sequenceShift: number
  /** 0 where there is no gene field. A gene is the lowest bits of an id, and given by the caller of each draw. */
  readonly geneBits: number
  /** 0 where there is no scatter field. Scatter is the highest bits, which `scatterOf` computes from all others but the gene. */
  readonly scatterBits: number
  readonly scatterShift: number
  /** All fixed bits in place. */
  readonly fixed: bigint
  /** Ones where bits are fixed. */
  readonly fixedMask: bigint
  /** The values of fixed fields by their names. */
  readonly named: Readonly<Record<string, number>>
  /** How many bits ids have at most. */
  readonly totalBits: number
  /** What the time field counts, in µs. */
  readonly unitUs: number
  /** Where the time field is 0, in Unix µs; a whole millisecond. */
  readonly epochUs: number
  /** Whether time stands above sequence, so that counting on from a full sequence carries into time. */
  readonly ordered: boolean
  /** Whether ids may be issued; otherwise they can only be taken apart. */
  readonly issues: boolean
  /** Why no ids may be issued, as the end of a sentence; undefined where they may. */
  readonly decodeOnlyReason: string | undefined
}

/** 63: ids are positive in a signed 64-bit integer. */
export const layoutBitsMax = 63
/** Node, sequence and named fields are handled as numbers, which are exact up to 53 bits. */
const numberBitsMax = 53
/** 256 ranges: each bit is one less for the years, the nodes or the sequence. */
const scatterBitsMax = 8
/** With names of 16 characters, the text of every layout has at most 400, which an option of a generator may have. */
const namedMax = 4
const nameMax = 16
/** What has another meaning in a layout, or in an answer about an id. */
const reservedNames: readonly string[] = [
  ...['time', 'node', 'sequence', 'gene', 'scatter', 'fixed', 'unit', 'epoch'],
  ...['id', 'layout', 'date', 'kind', 'generator'],
]
/** The fields that a layout is made of. All but `fixed` are written without a value. */
const fieldNames: readonly string[] = [
  'time',
  'node',
  'sequence',
  'scatter',
  'gene',
  'fixed',
] satisfies FieldSpec['field'][]
/** A layout is checked as of this time if no other is given. Fahao did not exist before it. */
const earliestNowUs = Date.UTC(2026, 0, 1) * 1000

/** Checks a layout and works out its shifts. Throws ERR with the reason and the remedy. */
export function defineLayout(spec: LayoutSpec, options: LayoutOptions = {}): Layout {
  const fields = place(mergeFixed(spec.fields.map(checkedField)))
  const time = only(fields, 'time')
  if (time === undefined) throw refused('it has no time field', 'add one, such as time:41')
  const node = only(fields, 'node')
  const sequence = only(fields, 'sequence')
  const gene = only(fields, 'gene')
  if (gene !== undefined && gene.shift > 0) {
    throw refused('its gene is not the lowest field', 'put gene last, where shards look for it')
  }
  const scatter = only(fields, 'scatter')
  if (scatter !== undefined && scatter !== fields[0]) {
    throw refused(
      'its scatter is not the highest field',
      'put scatter first, where a database divides its keys',
    )
  }
  const fixed = fields.filter(({ field }) => field === 'fixed')
  const epochUs = parseMomentUs(spec.epoch, 'epoch')
  if (options.nowUs !== undefined && epochUs > options.nowUs) {
    throw refused(`its epoch ${momentText(BigInt(epochUs))} is in the future`, 'give one that has passed')
  }
  const unitUs = parseUnitUs(spec.unit ?? 'ms')
  const ordered = sequence === undefined || time.shift > sequence.shift
  const endUs = timeEndUs({ epochUs, unitUs, timeBits: time.bits })
  const decodeOnlyReason = whyDecodeOnly(ordered, endUs, options.nowUs ?? earliestNowUs)
  return Object.freeze({
    name: spec.name,
    fields: Object.freeze(fields),
    timeBits: time.bits,
    timeShift: time.shift,
    nodeBits: node?.bits ?? 0,
    nodeShift: node?.shift ?? 0,
    sequenceBits: sequence?.bits ?? 0,
    sequenceShift: sequence?.shift ?? 0,
    geneBits: gene?.bits ?? 0,
    scatterBits: scatter?.bits ?? 0,
    scatterShift: scatter?.shift ?? 0,
    fixed: fixed.reduce((all, { value, shift }) => all | (value << BigInt(shift)), 0n),
    fixedMask: fixed.reduce((all, { bits, shift }) => all | (ones(bits) << BigInt(shift)), 0n),
    named: Object.freeze(
      Object.fromEntries(
        fixed.flatMap(({ name, value }) => (name === undefined ? [] : [[name, Number(value)]])),
      ),
    ),
    totalBits: fields[0]!.shift + fields[0]!.bits,
    unitUs,
    epochUs,
    ordered,
    issues: decodeOnlyReason === undefined,
    decodeOnlyReason,
  })
}

/** The first moment, in Unix µs, that the time field cannot hold. */
export function timeEndUs(layout: Pick<Layout, 'epochUs' | 'unitUs' | 'timeBits'>): bigint {
  return BigInt(layout.epochUs) + BigInt(layout.unitUs) * (1n << BigInt(layout.timeBits))
}

/** Whether a word is the name of a field whose value is not part of a layout. */
export function isFieldWithoutValue(word: string): boolean {
  return word !== 'fixed' && fieldNames.includes(word)
}

/** A mask of `bits` ones. */
export function ones(bits: number): bigint {
  return (1n << BigInt(bits)) - 1n
}

type Unplaced = Omit<LayoutField, 'shift'>

function checkedField(spec: FieldSpec): Unplaced {
  const { field, bits } = spec
  if (!fieldNames.includes(field)) {
    throw refused(
      `it has an unknown field '${field}'`,
      `use ${fieldNames.join(', ')}, or a name with a value: region:4=9`,
    )
  }
  if (!Number.isInteger(bits) || bits < 1 || bits > layoutBitsMax) {
    throw refused(`${field} has ${bits} bits`, 'give 1 to 63, or leave the field out')
  }
  if ((field === 'node' || field === 'sequence') && bits > numberBitsMax) {
    throw refused(`${field} has ${bits} bits`, `give at most ${numberBitsMax}`)
  }
  if (field === 'gene' && bits > geneBitsMax) {
    throw refused(`gene has ${bits} bits`, `give at most ${geneBitsMax}`)
  }
  if (field === 'scatter' && bits > scatterBitsMax) {
    throw refused(`scatter has ${bits} bits`, `give at most ${scatterBitsMax}`)
  }
  if (field !== 'fixed') return { field, name: undefined, bits, value: 0n }
  return { field, name: checkedName(spec.name, bits), bits, value: checkedValue(spec.value, bits) }
}

function checkedName(name: string | undefined, bits: number): string | undefined {
  if (name === undefined) return undefined
  if (!/^[a-z][a-z0-9_-]*$/.test(name) || name.length > nameMax || reservedNames.includes(name)) {
    throw refused(
      `'${name.slice(0, 64)}' cannot name a field`,
      `give up to ${nameMax} of a–z, 0–9, _ and -, a letter first, other than ${reservedNames.join(', ')}`,
    )
  }
  if (bits > numberBitsMax) throw refused(`${name} has ${bits} bits`, `give at most ${numberBitsMax}`)
  return name
}

function checkNames(fields: readonly Unplaced[]): void {
  const names = fields.flatMap(({ name }) => name ?? [])
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw refused(`two of its fields are named ${twice}`, 'rename one')
  if (names.length > namedMax)
    throw refused(`${names.length} of its fixed fields have names`, `name at most ${namedMax}`)
}

function checkedValue(value: number | bigint, bits: number): bigint {
  const whole = typeof value === 'bigint' || Number.isSafeInteger(value)
  if (!whole || value < 0 || value > ones(bits)) {
    throw refused(`fixed value ${value} does not fit ${bits} bits`, `give 0 to ${ones(bits)}`)
  }
  return BigInt(value)
}

/** Joins neighbouring fixed fields and drops zeros at the top, so that equal layouts look equal. What has a name stays. */
function mergeFixed(fields: readonly Unplaced[]): Unplaced[] {
  const merged: Unplaced[] = []
  for (const field of fields) {
    const last = merged.at(-1)
    if (!isNameless(field) || last === undefined || !isNameless(last)) {
      merged.push(field)
      continue
    }
    const value = (last.value << BigInt(field.bits)) | field.value
    merged[merged.length - 1] = { ...last, bits: last.bits + field.bits, value }
  }
  checkSum(merged)
  checkNames(merged)
  const top = merged[0]
  if (top === undefined || !isNameless(top)) return merged
  if (top.value === 0n) return merged.slice(1)
  return [{ ...top, bits: top.value.toString(2).length }, ...merged.slice(1)]
}

function isNameless({ field, name }: Unplaced): boolean {
  return field === 'fixed' && name === undefined
}

function checkSum(fields: readonly Unplaced[]): void {
  const sum = fields.reduce((bits, field) => bits + field.bits, 0)
  if (sum <= layoutBitsMax) return
  throw refused(
    `its fields have ${sum} bits`,
    `make them at most ${layoutBitsMax}; the sign bit is not written, and an unsigned time field gives up one bit`,
  )
}

function place(fields: readonly Unplaced[]): LayoutField[] {
  let shift = fields.reduce((bits, field) => bits + field.bits, 0)
  return fields.map((field) => {
    shift -= field.bits
    return Object.freeze({ ...field, shift })
  })
}

function only(
  fields: readonly LayoutField[],
  name: Exclude<FieldSpec['field'], 'fixed'>,
): LayoutField | undefined {
  const found = fields.filter(({ field }) => field === name)
  if (found.length > 1) throw refused(`it has ${found.length} ${name} fields`, 'keep one')
  return found[0]
}

function whyDecodeOnly(ordered: boolean, endUs: bigint, nowUs: number): string | undefined {
  if (!ordered)
    return 'time stands below sequence, so a full sequence could not carry into time; put time first'
  if (endUs > BigInt(nowUs)) return undefined
  return `its time field ended at ${momentText(endUs)}; give another epoch`
}

function refused(reason: string, remedy: string): FahaoError {
  return new FahaoError('ERR', `the layout is impossible: ${reason}; ${remedy}`)
}
