/**
 * Ids of past moments. A layout has room for them by a field `past:1=0` right above its node: every id that follows the clock has a
 * zero there, and those of past moments a one. So neither is ever the other, whatever node made it.
 */
import { FahaoError } from '../base/errors.ts'
import { defineLayout, type FieldSpec, type Layout, type LayoutField } from './layout.ts'
import { unitText } from './moment.ts'
import { scatterOf } from './scatter.ts'

/** The name of the field. */
const pastField = 'past'

/** The bit that ids of past moments have, in its place; 0 where the layout has no such field. */
export function pastMaskOf(layout: Layout): bigint {
  const field = layout.fields.find(isPast)
  return field === undefined ? 0n : 1n << BigInt(field.shift)
}

/** The layout with a field for past moments, the highest bit of its node unless it has one. Throws ERR where that leaves no nodes. */
export function withPast(layout: Layout, name = 'past'): Layout {
  if (pastMaskOf(layout) !== 0n) return layout
  if (layout.nodeBits < 2 || layout.nodeShift > layout.timeShift)
    throw new FahaoError(
      'ERR',
      `option '${name}' takes the highest bit of the node, and the layout has ${layout.nodeBits < 2 ? 'no two of them' : 'it above time'}; use a layout with time above two or more node bits`,
    )
  const fields = layout.fields.flatMap((field): FieldSpec[] =>
    field.field === 'node'
      ? [
          { field: 'fixed', name: pastField, bits: 1, value: 0n },
          { field: 'node', bits: field.bits - 1 },
        ]
      : [field as FieldSpec],
  )
  return defineLayout({ fields, unit: unitText(layout.unitUs), epoch: layout.epochUs / 1000 })
}

/** How many ids a moment has on `lanes` lanes: on each as many as its sequence has. */
export function idsOfMoment({ sequenceBits }: Layout, lanes: number): bigint {
  return BigInt(lanes) << BigInt(sequenceBits)
}

/** The id of a unit of time with this index, from 0, below `idsOfMoment`. Its gene is 0. */
export function pastId(layout: Layout, unit: bigint, index: bigint): bigint {
  const lane = index >> BigInt(layout.sequenceBits)
  const sequence = index - (lane << BigInt(layout.sequenceBits))
  const id =
    layout.fixed |
    pastMaskOf(layout) |
    (unit << BigInt(layout.timeShift)) |
    (lane << BigInt(layout.nodeShift)) |
    (sequence << BigInt(layout.sequenceShift))
  return id | scatterOf(layout, id)
}

/** Whether a field of a layout tells ids of past moments from those that follow the clock. */
export function isPast({ name, bits, value }: LayoutField): boolean {
  return name === pastField && bits === 1 && value === 0n
}
