/**
 * Formats: the text around an id.
 *
 *   template = any text with exactly one {id}; {{ and }} stand for braces
 *   {id} {id:WIDTH} {id:WIDTH:BASE} {id::BASE}              BASE base10, base16, base36, base62 or crockford
 *   {node} {node:WIDTH}
 *   {date:PATTERN} {date:PATTERN:ZONE}                      ZONE UTC, GMT, +HH:MM, -HH:MM or Area/City
 *   {check:luhn} {check:damm}                               after {id}, over all digits 0–9 before it
 *
 * Every part but an id without WIDTH has a fixed width, and there is one id. So the text of two ids is never
 * the same, and every format reads back what it wrote. Where case is ignored, that does not hold for base62.
 */
import { FahaoError } from '../base/errors.ts'
import type { CheckName } from './check-digit.ts'
import {
  CheckPart,
  DatePart,
  type FormatPart,
  type FormatValues,
  IdPart,
  idWidthMax,
  LiteralPart,
  NodePart,
  notOfFormat,
  shortened,
  type TextShape,
} from './format-part.ts'
import { type IdText, TemplateText } from './id-text.ts'
import { mixesCases, type Radix } from './radix.ts'

export type { FormatValues } from './format-part.ts'

/** Options that the text of a template does not state. */
export type FormatOptions = {
  /** Digits of `{node}` without a width: those of the configured index, the same on every node. */
  readonly nodeWidth?: number | undefined
  /** Takes ambiguous zones too, such as CST: of a generator that was stored before they were refused. Default: no. */
  readonly anyZone?: boolean | undefined
}

const templateMax = 256
const radixes: ReadonlyMap<string, Radix> = new Map([
  ['base10', 10],
  ['base16', 16],
  ['base36', 36],
  ['base62', 62],
  ['crockford', 32],
])
const nodeWidthMax = 15
const noValues: FormatValues = Object.freeze({})

/** Checks and compiles a template. Throws ERR with the reason and the remedy. */
export function compileFormat(template: string, options: FormatOptions = {}): Format {
  if (template.length > templateMax) throw refused(`it is longer than ${templateMax} characters`)
  if (/\p{Cc}/u.test(template)) throw refused('it has control characters; write it on one line')
  if (!template.isWellFormed()) throw refused('it is not well-formed Unicode')
  const parts = partsOf(template, options)
  checkTogether(parts)
  return new Template(template, parts)
}

/** A compiled format. */
export interface Format {
  /** The format as it was given. */
  readonly template: string
  /** Whether `format` needs `node`. */
  readonly needsNode: boolean
  /** Whether `format` needs `unixUs`. */
  readonly needsTime: boolean
  /** The largest id that it can write: 2^63 − 1 where the id has no fixed width. */
  readonly maxId: bigint
  /** Whether two texts can differ in the case of letters alone: where case is ignored, they are one. */
  readonly mixesCases: boolean
  /** The zone of its date, if it is an abbreviation that means different times to different people. */
  readonly ambiguousZone: string | undefined
  /**
   * The text of an id. Throws EXHAUSTED for an id above `maxId` (a wider text would break what relies on the
   * width), ERR for a value that is missing or does not fit.
   */
  format(id: bigint, values?: FormatValues): string
  /** What writes the texts of ids with these values. Throws ERR as `format`. */
  texts(values?: FormatValues): IdText
  /** The id in a text that this format wrote. Throws ERR for any other text. */
  parse(text: string): bigint
}

class Template implements Format {
  readonly template: string
  readonly needsNode: boolean
  readonly needsTime: boolean
  readonly maxId: bigint
  readonly mixesCases: boolean
  readonly ambiguousZone: string | undefined
  readonly #parts: readonly FormatPart[]
  readonly #id: IdPart
  /** Characters of all parts but an id of free width. */
  readonly #fixedWidth: number

  constructor(template: string, parts: readonly FormatPart[]) {
    this.template = template
    this.#parts = parts
    this.#id = parts.find((part) => part instanceof IdPart)!
    this.#fixedWidth = parts.reduce((sum, { width }) => sum + (width ?? 0), 0)
    this.needsNode = parts.some((part) => part instanceof NodePart)
    this.needsTime = parts.some((part) => part instanceof DatePart)
    this.maxId = this.#id.maxId
    this.mixesCases = mixesCases(this.#id.radix)
    const dates = parts.filter((part) => part instanceof DatePart)
    this.ambiguousZone = dates.find(({ ambiguousZone }) => ambiguousZone !== undefined)?.ambiguousZone
  }

  format(id: bigint, values: FormatValues = noValues): string {
    let text = ''
    for (const part of this.#parts) text += part.write(id, values, text)
    return text
  }

  texts(values: FormatValues = noValues): TemplateText {
    return new TemplateText(this.#shape(values))
  }

  #shape(values: FormatValues): TextShape {
    const fixed = ['', '', '']
    let place = 0
    let check: CheckName | undefined
    for (const part of this.#parts) {
      if (part === this.#id) place = 1
      else if (part instanceof CheckPart) {
        check = part.name
        place = 2
      } else fixed[place] += part.write(0n, values, '')
    }
    const [before = '', between = '', after = ''] = fixed
    return { before, id: this.#id, between, check, after }
  }

  parse(text: string): bigint {
    const freeWidth = text.length - this.#fixedWidth
    const idWidth = freeWidth + (this.#id.width ?? 0)
    // An id of Crockford's base 32 may have hyphens.
    const isSized = this.#id.width === undefined || this.#id.radix === 32 || freeWidth === 0
    if (idWidth < 0 || !isSized) throw notOfFormat(`'${shortened(text)}' has ${text.length} characters`)
    let id = 0n
    let at = 0
    for (const part of this.#parts) {
      const end = at + (part === this.#id ? idWidth : part.width!)
      const own = text.slice(at, end)
      if (part === this.#id) id = this.#id.read(own)
      else part.check(own, text.slice(0, at))
      at = end
    }
    return id
  }
}

/** Text and fields, in order. */
function partsOf(template: string, options: FormatOptions): FormatPart[] {
  const parts: FormatPart[] = []
  let literal = ''
  const endLiteral = () => {
    if (literal !== '') parts.push(new LiteralPart(literal))
    literal = ''
  }
  for (const [match, text, brace, field] of template.matchAll(/([^{}]+)|(\{\{|\}\})|\{([^{}]*)\}|[{}]/g)) {
    if (text !== undefined || brace !== undefined) literal += text ?? brace![0]
    else if (field === undefined)
      throw refused(`a '${match}' stands alone; write ${match}${match} for a brace`)
    else {
      endLiteral()
      parts.push(fieldPart(field, options))
    }
  }
  endLiteral()
  return parts
}

function fieldPart(field: string, options: FormatOptions): FormatPart {
  const [name = '', first, second, ...others] = field.split(':')
  const count = first === undefined ? 0 : second === undefined ? 1 : 2 + others.length
  if (name === 'id' && count <= 2) return idPart(field, first, second)
  if (name === 'node' && count <= 1) return nodePart(first, options)
  // An offset such as +08:00 has a colon of its own.
  if (name === 'date' && first !== undefined)
    return new DatePart(first, second === undefined ? 'UTC' : [second, ...others].join(':'), options.anyZone)
  if (name === 'check' && (first === 'luhn' || first === 'damm') && count === 1) {
    return new CheckPart(first satisfies CheckName)
  }
  throw refused(
    `'{${shortened(field)}}' is no field; use {id:8}, {id:8:base36}, {node:3}, {date:yyyyMMdd}, {date:yyyyMMdd:Asia/Shanghai}, {check:luhn} or {check:damm}`,
  )
}

function idPart(field: string, width: string | undefined, radix: string | undefined): IdPart {
  const base = radixes.get(radix ?? 'base10')
  const free = width === undefined || (width === '' && radix !== undefined)
  const digits = free ? undefined : checkedWidth(field, width, idWidthMax)
  if (base === undefined)
    throw refused(`'{${shortened(field)}}' has no radix of ${[...radixes.keys()].join(', ')}`)
  return new IdPart(digits, base)
}

function nodePart(width: string | undefined, { nodeWidth }: FormatOptions): NodePart {
  if (width !== undefined) return new NodePart(checkedWidth(`node:${width}`, width, nodeWidthMax))
  if (nodeWidth === undefined) {
    throw refused('{node} of free width is ambiguous, 1 + 11 and 11 + 1 look the same; write {node:3}')
  }
  return new NodePart(checkedWidth('node', String(nodeWidth), nodeWidthMax))
}

function checkedWidth(field: string, width: string, max: number): number {
  const digits = /^[1-9]\d?$/.test(width) ? Number(width) : 0
  if (digits < 1 || digits > max) {
    throw refused(`'{${shortened(field)}}' has a width of ${shortened(width) || 'nothing'}; give 1 to ${max}`)
  }
  return digits
}

function checkTogether(parts: readonly FormatPart[]): void {
  const ids = parts.filter((part) => part instanceof IdPart)
  if (ids.length !== 1) throw refused(`it has ${ids.length} times {id}; write it once`)
  if (parts.filter((part) => part instanceof NodePart).length > 1)
    throw refused('it has {node} twice; keep one')
  const checks = parts.filter((part) => part instanceof CheckPart)
  if (checks.length === 0) return
  if (checks.length > 1) throw refused('it has two check digits; keep one')
  if (parts.indexOf(checks[0]!) < parts.indexOf(ids[0]!)) {
    throw refused('its check digit stands before {id}, and checks only what is before it; put it behind')
  }
  if (ids[0]!.radix !== 10) throw refused('a check digit is over decimal digits; leave the radix out')
}

function refused(reason: string): FahaoError {
  return new FahaoError('ERR', `the format cannot be used: ${reason}`)
}
