/** The format around an id, compiled from a template: see format.ts. */
import type { Format, TextColumn } from './any-format.ts'
import { CheckDigits } from './check-digit.ts'
import {
  CheckPart,
  DatePart,
  type FormatPart,
  type FormatValues,
  IdPart,
  LiteralPart,
  NamePart,
  NodePart,
  notOfFormat,
  type Shown,
  type TextShape,
} from './format-part.ts'
import { TemplateText } from './id-text.ts'
import { shortened } from './shortened.ts'

const noValues: FormatValues = Object.freeze({})

/** A part of a template, but check digits. */
export type Part = FormatPart | IdPart

/** A text, read: its id, and what its dates show. */
export type ReadText = { readonly id: bigint; readonly dates: readonly string[] }

/** See above. */
export class Template implements Format {
  readonly template: string
  readonly needsNode: boolean
  readonly needsTime: boolean
  readonly needsKey = false
  readonly shows: Shown | undefined
  readonly maxId: bigint
  readonly mixesCases: boolean
  readonly ambiguousZone: string | undefined
  /** In the order of the text. */
  readonly dates: readonly DatePart[]
  /** Whether larger ids have larger texts as long as its dates, and all but the id, stay. */
  readonly sortsBehindDates: boolean
  readonly #all: readonly (Part | CheckPart)[]
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
    this.#all = all
    this.shows = parts.find((part) => part instanceof NamePart)?.shows
    this.#front = parts.slice(0, checkAt)
    this.#back = parts.slice(checkAt)
    this.#id = parts.find((part) => part instanceof IdPart)!
    this.#check = check && new CheckDigits(check.name, this.#id.alphabet)
    this.#checksFirst = this.#back.includes(this.#id)
    this.#fixedWidth = parts.reduce((sum, { width }) => sum + (width ?? 0), this.#check?.width ?? 0)
    this.needsNode = parts.some((part) => part instanceof NodePart)
    this.maxId = this.#id.maxId
    this.mixesCases = this.#id.alphabet.mixesCases
    this.dates = parts.filter((part) => part instanceof DatePart)
    const before = parts.slice(0, parts.indexOf(this.#id))
    this.sortsBehindDates =
      this.#id.digits !== undefined &&
      this.#id.alphabet.isSorted &&
      !this.#checksFirst &&
      before.every((part) => part instanceof LiteralPart || part instanceof DatePart)
    this.needsTime = this.dates.length > 0
    this.ambiguousZone = this.dates.find(({ ambiguousZone }) => ambiguousZone !== undefined)?.ambiguousZone
  }

  format(id: bigint, values: FormatValues = noValues): string {
    const front = written(this.#front, id, values)
    if (this.#check === undefined) return front
    const back = written(this.#back, id, values)
    return front + this.#checkOf(front, back) + back
  }

  smallest(id: bigint): string | undefined {
    if (id > this.maxId || !this.column(this.maxId).sortsLikeIds) return undefined
    return this.needsTime ? this.throughId(id) : this.smallestWith(id)
  }

  /** The smallest text of an id with these dates. */
  smallestWith(id: bigint, values: FormatValues = noValues): string {
    return this.needsNode ? this.throughId(id, values) : this.format(id, values)
  }

  /** The text of an id, cut off behind the id. */
  throughId(id: bigint, values: FormatValues = noValues): string {
    const parts = [...this.#front, ...this.#back]
    return written(parts.slice(0, parts.indexOf(this.#id) + 1), id, values)
  }

  bytes(): undefined {}

  withKey(): this {
    return this
  }

  named(text: string): Template {
    const literal = new LiteralPart(text)
    const parts = this.#all.map((part) => (part instanceof NamePart ? literal : part))
    return this.shows === undefined ? this : new Template(this.template, parts)
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
    return this.read(text).id
  }

  /** The id and the dates in a text. Throws as `parse`. */
  read(text: string): ReadText {
    const freeWidth = text.length - this.#fixedWidth
    const idWidth = freeWidth + (this.#id.width ?? 0)
    const isSized = this.#id.width === undefined || this.#id.isSpaced || freeWidth === 0
    if (idWidth < 0 || !isSized) throw notOfFormat(`'${shortened(text)}' has ${text.length} characters`)
    let id = 0n
    let at = 0
    const dates: string[] = []
    const next = (width: number) => {
      at += width
      return text.slice(at - width, at)
    }
    const read = (part: Part) => {
      if (!(part instanceof IdPart)) {
        const meant = part.read(next(part.width))
        if (part instanceof DatePart) dates.push(meant)
        return meant
      }
      id = part.read(next(idWidth))
      return part.write(id)
    }
    const front = this.#front.map(read).join('')
    if (this.#check === undefined) return { id, dates }
    const typed = next(this.#check.width)
    const back = this.#back.map(read).join('')
    if (this.#check.isMeant(typed, this.#checkOf(front, back))) return { id, dates }
    throw notOfFormat(
      `the check digit${typed.length === 1 ? '' : 's'} '${shortened(typed)}' ${typed.length === 1 ? 'is' : 'are'} wrong`,
    )
  }

  column(max: bigint): TextColumn {
    const id = this.#id
    const { alphabet, digits } = id
    const most = digits ?? id.digitsOf(max < this.maxId ? max : this.maxId).length
    const parts = [...this.#front, ...this.#back]
    const before = parts.slice(0, parts.indexOf(id))
    const isConstant = before.every((part) => part instanceof LiteralPart)
    const literals = parts.filter((part) => part instanceof LiteralPart).map((part) => part.write())
    const idWidth = id.width ?? 0
    const around =
      this.#fixedWidth - idWidth - literals.reduce((sum, text) => sum + text.length - [...text].length, 0)
    return {
      charactersMin: around + (id.width ?? id.digitsOf(0n).length),
      charactersMax: around + most + id.hyphensIn(most),
      isAscii: /^\p{ASCII}*$/u.test(literals.join('')),
      signs: alphabet.digits + (this.#check?.digits ?? ''),
      caseMatters: alphabet.mixesCases,
      sortsLikeIds: this.sortsBehindDates && isConstant,
    }
  }
}

function written(parts: readonly Part[], id: bigint, values: FormatValues): string {
  let text = ''
  for (const part of parts) text += part.write(id, values)
  return text
}
