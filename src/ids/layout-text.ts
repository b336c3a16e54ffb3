/**
 * Layouts as text and as configuration.
 *
 *   text    = preset [";epoch=" moment]
 *           | field *("," field) [";unit=" unit] ";epoch=" moment
 *   field   = ("scatter" | "time" | "node" | "sequence" | "gene") ":" bits | ("fixed" | name) ":" bits "=" value
 */
import { FahaoError } from '../base/errors.ts'
import {
  defineLayout,
  type FieldSpec,
  isFieldWithoutValue,
  type Layout,
  type LayoutOptions,
} from './layout.ts'
import { type MomentInput, momentText, unitText } from './moment.ts'
import { type LayoutName, layouts } from './presets.ts'

const textMax = 512

/**
 * Reads a layout: a preset's name, compact text such as
 * `time:41,node:10,sequence:12;unit=ms;epoch=2020-01-01T00:00:00Z`, or an object as configuration has it,
 * `{layout, epoch}` with layout as text, or `{fields, unit, epoch}` with fields as text or as a list.
 * Throws ERR with the reason and the remedy.
 */
export function parseLayout(input: unknown, options: LayoutOptions = {}): Layout {
  if (typeof input === 'string') return parseText(input, options)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw unreadable(`${input === null ? 'null' : typeof input} is neither text nor an object`)
  }
  const { layout, fields, unit, epoch, ...others } = input as Record<string, unknown>
  const unknown = Object.keys(others)[0]
  if (unknown !== undefined) {
    throw unreadable(`unknown key '${unknown}'; the keys are layout and epoch, or fields, unit and epoch`)
  }
  if (unit !== undefined && typeof unit !== 'string') {
    throw unreadable(`unit ${quoted(unit)} does not say of what; write it like 'ms' or '250us'`)
  }
  const moment = checkedMoment(epoch)
  if (layout === undefined) return fromFields(readFields(fields), unit, moment, options)
  if (fields !== undefined || unit !== undefined) throw unreadable('give either layout or fields and unit')
  if (typeof layout !== 'string') throw unreadable(`layout ${quoted(layout)} is no text`)
  return parseText(layout, options, moment)
}

/**
 * The one text of a layout: layouts that make and read the same ids have equal texts, whatever their
 * names and spellings. `parseLayout` reads it back.
 */
export function formatLayout(layout: Layout): string {
  const fields = layout.fields.map(({ field, name, bits, value }) =>
    field === 'fixed' ? `${name ?? field}:${bits}=${value}` : `${field}:${bits}`,
  )
  return `${fields.join(',')};unit=${unitText(layout.unitUs)};epoch=${momentText(BigInt(layout.epochUs))}`
}

function parseText(text: string, options: LayoutOptions, otherEpoch?: MomentInput): Layout {
  if (text.length > textMax) throw unreadable(`its text is longer than ${textMax} characters`)
  const [head = '', ...settings] = text.split(';').map((part) => part.trim())
  const given = new Map<string, string>()
  for (const setting of settings) {
    const equals = setting.indexOf('=')
    const key = setting.slice(0, Math.max(equals, 0)).trim()
    if ((key !== 'unit' && key !== 'epoch') || given.has(key)) {
      throw unreadable(`'${setting}' is out of place; after the fields come unit=… and epoch=…, once each`)
    }
    given.set(key, setting.slice(equals + 1).trim())
  }
  const unit = given.get('unit')
  if (given.has('epoch') && otherEpoch !== undefined) throw unreadable('it has two epochs; keep one')
  const epoch = given.get('epoch') ?? otherEpoch
  if (head.includes(':')) return fromFields(readFieldText(head), unit, epoch, options)
  if (unit !== undefined) throw unreadable('a preset takes another epoch, but no other unit')
  return fromPreset(head, epoch, options)
}

function fromPreset(name: string, epoch: MomentInput | undefined, options: LayoutOptions): Layout {
  if (!Object.hasOwn(layouts, name)) {
    const known = Object.keys(layouts).join(', ')
    throw unreadable(
      `there is no preset '${name.slice(0, 64)}'; use ${known}, or fields like time:41,node:10`,
    )
  }
  const preset = layouts[name as LayoutName]
  if (epoch === undefined && options.nowUs === undefined) return preset
  const { fields, unitUs, epochUs } = preset
  const spec = { name, fields, unit: unitText(unitUs), epoch: epoch ?? epochUs / 1000 }
  return defineLayout(spec, options)
}

function fromFields(
  fields: readonly FieldSpec[],
  unit: string | undefined,
  epoch: MomentInput | undefined,
  options: LayoutOptions,
): Layout {
  if (epoch === undefined) {
    throw unreadable('it has no epoch; add one, such as epoch=2020-01-01T00:00:00Z')
  }
  return defineLayout(unit === undefined ? { fields, epoch } : { fields, unit, epoch }, options)
}

function readFields(fields: unknown): FieldSpec[] {
  if (typeof fields === 'string') return readFieldText(fields)
  if (!Array.isArray(fields))
    throw unreadable("it has no fields; write them like 'time:41,node:10,sequence:12'")
  return fields.map((field) => (typeof field === 'string' ? readField(field) : readFieldObject(field)))
}

function readFieldObject(input: unknown): FieldSpec {
  const { field, name, bits, value, ...others } = (input ?? {}) as Record<string, unknown>
  const isFixed = field === 'fixed'
  const number = (it: unknown) => typeof it === 'number' || typeof it === 'bigint'
  if (
    typeof field !== 'string' ||
    !number(bits) ||
    (name !== undefined && (typeof name !== 'string' || !isFixed)) ||
    Object.keys(others).length > 0 ||
    (isFixed ? !number(value) : value !== undefined)
  ) {
    throw unreadable(
      `field ${quoted(input)} is not like {field: time, bits: 41} or {field: fixed, bits: 2, value: 1}`,
    )
  }
  return { field, bits: Number(bits), ...(isFixed ? { name, value } : {}) } as FieldSpec
}

function readFieldText(text: string): FieldSpec[] {
  return text.split(',').map(readField)
}

function readField(text: string): FieldSpec {
  const match = /^\s*([a-z][a-z0-9_-]*)\s*:\s*(\d{1,3})(?:\s*=\s*(\d{1,20}))?\s*$/.exec(text)
  const [, word, bits, value] = match ?? []
  if (word === undefined || (value === undefined ? word === 'fixed' : isFieldWithoutValue(word))) {
    throw unreadable(`'${text.slice(0, 64)}' is not like time:41, or like fixed:2=1 or region:2=1`)
  }
  if (value === undefined) return { field: word, bits: Number(bits) } as FieldSpec
  const name = word === 'fixed' ? undefined : word
  return { field: 'fixed', name, bits: Number(bits), value: BigInt(value) }
}

function checkedMoment(epoch: unknown): MomentInput | undefined {
  if (epoch === undefined || typeof epoch === 'string') return epoch
  if (typeof epoch === 'number' || typeof epoch === 'bigint') return epoch
  throw unreadable(`epoch ${quoted(epoch)} is neither an ISO date-time with a zone nor Unix milliseconds`)
}

function quoted(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value).slice(0, 64)
  return `{${Object.keys(value).slice(0, 5).join(', ')}}`
}

function unreadable(reason: string): FahaoError {
  return new FahaoError('ERR', `the layout cannot be read: ${reason}`)
}
