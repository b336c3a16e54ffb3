/**
 * Formats: the text around an id.
 *
 *   template = any text with exactly one {id}; {{ and }} stand for braces
 *   {id} {id:WIDTH} {id:WIDTH:DIGITS} {id::DIGITS}          DIGITS base10, base16, base36, base62, crockford or alphabet=…,
 *                                                           and group=N
 *   {node} {node:WIDTH}
 *   {date:PATTERN} {date:PATTERN:ZONE}                      ZONE UTC, GMT, +HH:MM, -HH:MM or Area/City
 *   {check:NAME}                                            see check-digit.ts
 *
 *
 *   uuidv7  uuidv8  ulid  typeid:PREFIX  objectid           see wide-format.ts
 *
 * Every part but an id without WIDTH has a fixed width, and there is one id. So the text of two ids is never
 * the same, and every format reads back what it wrote. Where case is ignored, that does not hold for base62.
 */
import { FahaoError } from '../base/errors.ts'
import { Alphabet, alphabets, base10 } from './alphabet.ts'
import type { Format, TextColumn } from './any-format.ts'
import { CheckDigits, type CheckName, checkNames } from './check-digit.ts'
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
  type TextShape,
} from './format-part.ts'
import { TemplateText } from './id-text.ts'
import type { Layout } from './layout.ts'
import { shortened } from './shortened.ts'
import { WideFormat, wideSpecOf } from './wide-format.ts'

export type { Format, TextColumn } from './any-format.ts'
export type { FormatValues } from './format-part.ts'

/** Options that the text of a template does not state. */
export type FormatOptions = {
  /** Digits of `{node}` without a width: those of the configured index, the same on every node. */
  readonly nodeWidth?: number | undefined
  /** Takes ambiguous zones too, such as CST: of a generator that was stored before they were refused. Default: no. */
  readonly anyZone?: boolean | undefined
  /** The layout of the ids; undefined: they are of a counter. Wide formats depend on it. */
  readonly layout?: Layout | undefined
}

const templateMax = 256
const ownAlphabet = 'alphabet='
/** Where a template lacks its id, its writer may have meant one. */
const wideHint = ', or give uuidv7, uuidv8, ulid, typeid:PREFIX or objectid'
const nodeWidthMax = 15
const noValues: FormatValues = Object.freeze({})

/** Checks and compiles a format. Throws ERR with the reason and the remedy. */
export function compileFormat(template: string, options: FormatOptions = {}): Format {
  if (template.length > templateMax) throw refused(`it is longer than ${templateMax} characters`)
  if (/\p{Cc}/u.test(template)) throw refused('it has control characters; write it on one line')
  if (!template.isWellFormed()) throw refused('it is not well-formed Unicode')
  const wide = wideSpecOf(template)
  if (wide !== undefined) return new WideFormat(template, wide, options.layout)
  const parts = partsOf(template, options)
  checkTogether(parts)
  return new Template(template, parts)
}

type Part = FormatPart | IdPart

/** A format around an id. */
export class Template implements Format {
  readonly template: string
  readonly needsNode: boolean
  readonly needsTime: boolean
  readonly needsKey = false
  readonly maxId: bigint
  readonly mixesCases: boolean
  readonly ambiguousZone: string | undefined
  /** The parts before the check digits, and those behind them. */
  readonly #front: readonly Part[]
  readonly #back: readonly Part[]
  readonly #id: IdPart
  readonly #check: CheckDigits | undefined
  readonly #checksFirst: boolean
  /** Characters of all parts but an id of free width. */
  readonly #fixedWidth: number

  constructor(template: string, all: readonly (Part | CheckPart)[]) {
    const parts = all.filter((part): part is Part => !(part instanceof CheckPart))
    const check = all.find((part) => part instanceof CheckPart)
    const checkAt = check === undefined ? all.length : all.indexOf(check)
    this.template = template
    this.#front = parts.slice(0, checkAt)
    this.#back = parts.slice(checkAt)
    this.#id = parts.find((part) => part instanceof IdPart)!
    this.#check = check && new CheckDigits(check.name, this.#id.alphabet)
    this.#checksFirst = this.#back.includes(this.#id)
    this.#fixedWidth = parts.reduce((sum, { width }) => sum + (width ?? 0), this.#check?.width ?? 0)
    this.needsNode = parts.some((part) => part instanceof NodePart)
    this.needsTime = parts.some((part) => part instanceof DatePart)
    this.maxId = this.#id.maxId
    this.mixesCases = this.#id.alphabet.mixesCases
    const dates = parts.filter((part) => part instanceof DatePart)
    this.ambiguousZone = dates.find(({ ambiguousZone }) => ambiguousZone !== undefined)?.ambiguousZone
  }

  format(id: bigint, values: FormatValues = noValues): string {
    const front = written(this.#front, id, values)
    if (this.#check === undefined) return front
    const back = written(this.#back, id, values)
    return front + this.#checkOf(front, back) + back
  }

  smallest(id: bigint): string | undefined {
    if (id > this.maxId || !this.column(this.maxId).sortsLikeIds) return undefined
    if (!this.needsNode && !this.needsTime) return this.format(id)
    const parts = [...this.#front, ...this.#back]
    return written(parts.slice(0, parts.indexOf(this.#id) + 1), id, noValues)
  }

  bytes(): undefined {}

  withKey(): this {
    return this
  }

  texts(values: FormatValues = noValues): TemplateText {
    return new TemplateText(this.#shape(values))
  }

  /**
   * The digits of an id without hyphens, and these with the check digits: they follow from the id alone, unless
   * check digits cover the node or the date.
   */
  codeOf(id: bigint): { readonly digits: string; readonly radix: number; readonly code: string } {
    const digits = this.#id.digitsOf(id)
    const { radix } = this.#id.alphabet
    if (this.#check === undefined) return { digits, radix, code: digits }
    const check = this.#checkOf(written(this.#front, id, noValues), written(this.#back, id, noValues))
    return { digits, radix, code: this.#checksFirst ? check + digits : digits + check }
  }

  /** Whether its texts have check digits. */
  get hasCheck(): boolean {
    return this.#check !== undefined
  }

  #checkOf(front: string, back: string): string {
    return this.#checksFirst ? this.#check!.of(back, front) : this.#check!.of(front)
  }

  #shape(values: FormatValues): TextShape {
    const id = this.#id
    const fixed = (parts: readonly Part[]) =>
      written(
        parts.filter((part) => part !== id),
        0n,
        values,
      )
    const [whole, rest] = this.#checksFirst ? [this.#back, this.#front] : [this.#front, this.#back]
    const idAt = whole.indexOf(id)
    const [head, tail] = [fixed(whole.slice(0, idAt)), fixed(whole.slice(idAt + 1))]
    const other = fixed(rest)
    const places = this.#checksFirst
      ? { before: other, between: head, after: tail }
      : { before: head, between: tail, after: other }
    return { ...places, id, check: this.#check, checksFirst: this.#checksFirst }
  }

  parse(text: string): bigint {
    const freeWidth = text.length - this.#fixedWidth
    const idWidth = freeWidth + (this.#id.width ?? 0)
    const isSized = this.#id.width === undefined || this.#id.isSpaced || freeWidth === 0
    if (idWidth < 0 || !isSized) throw notOfFormat(`'${shortened(text)}' has ${text.length} characters`)
    let id = 0n
    let at = 0
    const next = (width: number) => {
      at += width
      return text.slice(at - width, at)
    }
    const read = (part: Part) => {
      if (!(part instanceof IdPart)) return part.read(next(part.width))
      id = part.read(next(idWidth))
      return part.write(id)
    }
    const front = this.#front.map(read).join('')
    if (this.#check === undefined) return id
    const typed = next(this.#check.width)
    const back = this.#back.map(read).join('')
    if (this.#check.isMeant(typed, this.#checkOf(front, back))) return id
    throw notOfFormat(
      `the check digit${typed.length === 1 ? '' : 's'} '${shortened(typed)}' ${typed.length === 1 ? 'is' : 'are'} wrong`,
    )
  }

  column(max: bigint): TextColumn {
    const id = this.#id
    const { alphabet, digits } = id
    const most = digits ?? alphabet.write(max < this.maxId ? max : this.maxId).length
    const parts = [...this.#front, ...this.#back]
    const before = parts.slice(0, parts.indexOf(id))
    const isConstant = before.every((part) => part instanceof LiteralPart)
    const literals = parts.filter((part) => part instanceof LiteralPart).map((part) => part.write())
    const idWidth = id.width ?? 0
    const around =
      this.#fixedWidth - idWidth - literals.reduce((sum, text) => sum + text.length - [...text].length, 0)
    return {
      charactersMin: around + (id.width ?? 1),
      charactersMax: around + most + id.hyphensIn(most),
      isAscii: /^\p{ASCII}*$/u.test(literals.join('')),
      signs: alphabet.digits + (this.#check?.digits ?? ''),
      caseMatters: alphabet.mixesCases,
      sortsLikeIds: digits !== undefined && alphabet.isSorted && isConstant && !this.#checksFirst,
    }
  }
}

function written(parts: readonly Part[], id: bigint, values: FormatValues): string {
  let text = ''
  for (const part of parts) text += part.write(id, values)
  return text
}

/** Text and fields, in order. */
function partsOf(template: string, options: FormatOptions): (Part | CheckPart)[] {
  const parts: (Part | CheckPart)[] = []
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

function fieldPart(field: string, options: FormatOptions): Part | CheckPart {
  const [name = '', first, second, ...others] = field.split(':')
  const count = first === undefined ? 0 : second === undefined ? 1 : 2 + others.length
  if (name === 'id') return idPart(field, first, second === undefined ? undefined : [second, ...others])
  if (name === 'node' && count <= 1) return nodePart(first, options)
  // An offset such as +08:00 has a colon of its own.
  if (name === 'date' && first !== undefined)
    return new DatePart(first, second === undefined ? 'UTC' : [second, ...others].join(':'), options.anyZone)
  if (name === 'check' && count === 1 && isCheckName(first)) return new CheckPart(first)
  throw refused(
    `'{${shortened(field)}}' is no field; use {id:8}, {id:8:base36}, {node:3}, {date:yyyyMMdd}, {date:yyyyMMdd:Asia/Shanghai}, or {check:NAME} with ${checkNames.join(', ')}`,
  )
}

function isCheckName(name: string | undefined): name is CheckName {
  return checkNames.some((each) => each === name)
}

function idPart(field: string, width: string | undefined, how: readonly string[] = []): IdPart {
  const free = width === undefined || (width === '' && how.length > 0)
  const digits = free ? undefined : checkedWidth(field, width, idWidthMax)
  const groups = how.filter((each) => each.startsWith('group='))
  const radixes = how.filter((each) => !each.startsWith('group='))
  if (groups.length > 1 || radixes.length > 1)
    throw refused(
      `'{${shortened(field)}}' has more than a radix and a group; write it like {id:8:crockford:group=4}`,
    )
  const alphabet = radixes[0] === undefined ? base10 : alphabetOf(field, radixes[0])
  if (groups[0] === undefined) return new IdPart(digits, alphabet)
  if (alphabet.digits.includes('-'))
    throw refused(
      `'{${shortened(field)}}' groups by hyphens, and its alphabet has one; leave it out of the alphabet`,
    )
  const group = checkedWidth(field, groups[0].slice('group='.length), idWidthMax)
  return new IdPart(digits, alphabet, group)
}

function alphabetOf(field: string, radix: string): Alphabet {
  const known = alphabets.get(radix)
  if (known !== undefined) return known
  if (!radix.startsWith(ownAlphabet)) {
    const names = [...alphabets.keys()].join(', ')
    throw refused(
      `'{${shortened(field)}}' has no radix of ${names}, nor ${ownAlphabet} with digits of its own`,
    )
  }
  const digits = radix.slice(ownAlphabet.length)
  if (!/^[A-Za-z0-9_-]{2,62}$/.test(digits) || new Set(digits).size < digits.length)
    throw refused(
      `alphabet '${shortened(digits)}' is not 2 to 62 letters A–Z, a–z, digits, - and _, each once`,
    )
  return new Alphabet(digits, digits)
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

function checkTogether(parts: readonly (Part | CheckPart)[]): void {
  const ids = parts.filter((part) => part instanceof IdPart)
  if (ids.length !== 1)
    throw refused(`it has ${ids.length} times {id}; write it once${ids.length === 0 ? wideHint : ''}`)
  if (parts.filter((part) => part instanceof NodePart).length > 1)
    throw refused('it has {node} twice; keep one')
  const checks = parts.filter((part) => part instanceof CheckPart)
  if (checks.length > 1) throw refused('it has two check digits; keep one')
  if (checks.length > 0) checkCovered(new CheckDigits(checks[0]!.name, ids[0]!.alphabet), ids[0]!.alphabet)
}

/** Refuses check digits that would not cover every digit of the id. */
function checkCovered({ name, hasLetters }: CheckDigits, { digits, mixesCases }: Alphabet): void {
  if (/^[0-9]+$/.test(digits)) return
  if (!hasLetters) {
    const others = 'mod97, mod37-2 or mod37-36'
    throw refused(`the check digit ${name} is over decimal digits; leave the radix out, or use ${others}`)
  }
  if (mixesCases || !/^[A-Za-z0-9]+$/.test(digits))
    throw refused(
      `the check digit ${name} takes letters without case, and neither - nor _; use base36, crockford or an alphabet of one case`,
    )
}

function refused(reason: string): FahaoError {
  return new FahaoError('ERR', `the format cannot be used: ${reason}`)
}
