/** The formats of definitions: what compiles them, and what to know about their texts. */
import { compileFormat, type Format, type TextColumn } from '../ids/format.ts'
import { parseLayout } from '../ids/layout-text.ts'
import { max63 } from '../ids/limits.ts'
import { type PeriodDefinition, periodsOf } from '../ids/period.ts'
import { isScattered } from '../ids/scatter.ts'
import { isWide, WideFormat } from '../ids/wide-format.ts'

/** A definition, as far as its texts are concerned. */
type Written = PeriodDefinition & {
  readonly format?: string | undefined
  readonly layout?: string | undefined
  readonly max?: bigint | undefined
}

/** The format of a definition; a zone that is refused in a new format is accepted here. Undefined: ids are plain decimal digits. `nodeWidth`: the digits of `{node}`. */
export function formatIn(definition: Written, nodeWidth = 1): Format | undefined {
  const { format, layout } = definition
  if (format === undefined) return undefined
  return compileFormat(format, {
    nodeWidth,
    anyZone: true,
    layout: layout === undefined ? undefined : parseLayout(layout),
    periods: periodsOf(definition),
  })
}

/** Throws ERR for a format that a generator may keep and none may be given. */
export function refuseNewFormat({ format, period }: Pick<Written, 'format' | 'period'>): void {
  // What a wide format needs, and that of periods, `define` checks.
  if (format !== undefined && period === undefined && !isWide(format)) compileFormat(format, { nodeWidth: 1 })
}

/** What to know about the texts of a format, each in one sentence. */
export function formatNotes(definition: Written): string[] {
  const format = isWide(definition.format) ? undefined : formatIn(definition)
  const zone = format?.ambiguousZone
  return [
    ...(format?.mixesCases
      ? [
          'its texts can differ in the case of letters alone: a column that ignores case, as those of MySQL do by default, takes two of them for one; give the column a binary collation, or the format base36 or crockford',
        ]
      : []),
    ...(zone !== undefined
      ? [
          `zone ${zone} of its format means different times to different people; alter it to a place like Asia/Shanghai, or an offset like +08:00`,
        ]
      : []),
  ]
}

function textColumn({
  charactersMin,
  charactersMax,
  isAscii,
  caseMatters,
  sortsLikeIds,
}: TextColumn): string {
  const type = charactersMin === charactersMax ? `char(${charactersMax})` : `varchar(${charactersMax})`
  const characters = isAscii ? '' : ' of Unicode'
  const bytes =
    'a collation that compares bytes: COLLATE "C" in PostgreSQL, ascii_bin or utf8mb4_bin in MySQL'
  if (caseMatters) return `its texts fit ${type}${characters} with ${bytes}`
  return `its texts fit ${type}${characters}${sortsLikeIds ? `, and sort like ids with ${bytes}` : '; they do not sort like ids'}`
}

/** Which column takes the texts of a format. */
export function columnNotes(definition: Written): string[] {
  const { layout, max = max63 } = definition
  const format = formatIn(definition)
  if (format === undefined) return []
  if (!(format instanceof WideFormat)) return [textColumn(format.column(max))]
  const { name, bytesMax } = format
  const native = {
    uuidv7: 'uuid in PostgreSQL and MariaDB, binary(16) by UUID_TO_BIN(x) in MySQL',
    uuidv8: 'uuid in PostgreSQL and MariaDB, binary(16) by UUID_TO_BIN(x) in MySQL',
    objectid: 'ObjectId in MongoDB',
    ulid: undefined,
    typeid: undefined,
  }[name]
  const text = `char(${bytesMax}) with a collation that compares bytes`
  const spread = isScattered(layout) && name !== 'uuidv8'
  return [
    `its texts fit ${native === undefined ? text : `a column of ${native}, or ${text}`}`,
    ...(spread
      ? ['its texts begin with time, so that scatter spreads raw ids alone, and not the texts']
      : []),
  ]
}
