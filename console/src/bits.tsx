/** The bits of a layout, drawn, with what an id has in each field. */
import { type Layout, type LayoutField, ones, timeEndUs } from '../../src/ids/layout.ts'
import { parseLayout } from '../../src/ids/layout-text.ts'
import { durationText, grouped, momentText } from './formats.ts'
import { t } from './texts.ts'
import { Facts, Table } from './ui.tsx'

/** The layout of a text or of a preset's name; undefined where it is none. */
export function layoutOf(text: unknown): Layout | undefined {
  try {
    return parseLayout(text)
  } catch {
    return undefined
  }
}

/** The value of a field of an id. */
export function fieldOf(id: bigint, { shift, bits }: LayoutField): bigint {
  return (id >> BigInt(shift)) & ones(bits)
}

function nameOf({ field, name }: LayoutField): string {
  return name ?? t.fields[field]
}

/** Draws a layout; of an id its bits too. */
export function Bits(props: { layout: Layout; id?: bigint | undefined; of?: string }) {
  const { layout, id, of } = props
  const caption = of === undefined ? t.layoutFields : `${t.layoutFields}: ${of}`
  const { fields, unitUs, epochUs, totalBits } = layout
  const endUs = timeEndUs(layout)
  const unit = durationText(unitUs / 1e6)
  return (
    <div class="bits">
      <div class="bit-row" aria-hidden="true">
        {fields.map((field) => (
          <div class={`bit-field ${field.field}`} style={{ flexGrow: field.bits, flexBasis: 0 }}>
            <span>{nameOf(field)}</span>
            <b>{field.bits}</b>
          </div>
        ))}
      </div>
      {id !== undefined && (
        <div class="bit-text" aria-hidden="true">
          {fields.map((field) => (
            <code class={field.field}>{fieldOf(id, field).toString(2).padStart(field.bits, '0')}</code>
          ))}
        </div>
      )}
      <Table
        caption={caption}
        rows={fields}
        keyOf={({ shift }) => String(shift)}
        columns={[
          { head: t.field, cell: nameOf },
          {
            head: t.bitsWord,
            cell: ({ bits, shift }) => `${bits} (${shift + bits - 1}–${shift})`,
            numeric: true,
          },
          { head: t.room, cell: ({ bits }) => grouped(1n << BigInt(bits)), numeric: true },
          ...(id === undefined
            ? []
            : [{ head: t.value, cell: (field: LayoutField) => grouped(fieldOf(id, field)), numeric: true }]),
        ]}
      />
      <Facts
        facts={[
          [t.unit, unit],
          [t.epoch, momentText(epochUs / 1000)],
          [t.layoutEnds, endUs < 8_640_000_000_000_000_000n ? momentText(Number(endUs / 1000n)) : '–'],
          [t.bitsWord, String(totalBits)],
        ]}
      />
    </div>
  )
}
