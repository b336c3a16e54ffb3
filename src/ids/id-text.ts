/**
 * The texts of ids, of one and of a whole run. In the texts of a run only the last digits of the id differ, and a check
 * digit: the bytes of the first text are copied for the others, and these digits are counted on. So an id costs no number, no
 * bigint and no text.
 */
import { checkDigits, checkOfBytes } from './check-digit.ts'
import { IdPart, type TextShape } from './format-part.ts'
import { digitsOf, toDigits } from './radix.ts'
import type { Run } from './run.ts'

/** What stands around each text in bytes: `head` is given the text's length in bytes. Both are ASCII. */
export type TextFrame = { readonly head: (length: number) => string; readonly tail: string }

/** Values of digits, the last one first: of an id, and of the distance to the next. Filled and read within one call. */
const values = new Uint8Array(64)
const strideValues = new Uint8Array(64)
const utf8 = new TextEncoder()
const zero = 48

/** Writes the texts of ids. */
export interface IdText {
  /** The most bytes of one text. */
  readonly bytesMax: number
  /** Whether all texts are ASCII. */
  readonly isAscii: boolean
  /** The same texts as they stand between the quotes of a string of JSON. */
  inJson(): IdText
  /** The text of one id. Throws as `Format.format`. */
  text(id: bigint): string
  /**
   * Writes `count` ids of an ordered run from `index` on as UTF-8, each in `frame`, and returns where the last one ends.
   * There has to be room for each of them. Throws as `Format.format`.
   */
  write(bytes: Uint8Array, at: number, run: Run, index: number, count: number, frame: TextFrame): number
}

/** The texts of a template. */
export class TemplateText implements IdText {
  readonly bytesMax: number
  readonly isAscii: boolean
  readonly #shape: TextShape
  readonly #beforeBytes: number
  readonly #betweenBytes: number
  /** The bytes of the text around the id. */
  readonly #aroundBytes: number
  readonly #alphabet: Uint8Array

  constructor(shape: TextShape) {
    const { before, id, between, check, after } = shape
    this.#shape = shape
    this.#beforeBytes = utf8.encode(before).length
    this.#betweenBytes = utf8.encode(between).length
    const checkBytes = check === undefined ? 0 : 1
    this.#aroundBytes = this.#beforeBytes + this.#betweenBytes + checkBytes + utf8.encode(after).length
    this.isAscii = this.#aroundBytes === before.length + between.length + checkBytes + after.length
    this.bytesMax = this.#aroundBytes + (id.width ?? toDigits(id.maxId, id.radix).length)
    this.#alphabet = utf8.encode(digitsOf(id.radix))
  }

  inJson(): TemplateText {
    const { before, between, after } = this.#shape
    return new TemplateText({
      ...this.#shape,
      before: json(before),
      between: json(between),
      after: json(after),
    })
  }

  text(id: bigint): string {
    return this.#around(this.#shape.id.write(id))
  }

  write(bytes: Uint8Array, at: number, run: Run, index: number, count: number, frame: TextFrame): number {
    let end = at
    for (let next = index; next < index + count; ) {
      const many = this.#ofOneWidth(run.at(next), run.stride, index + count - next)
      end = this.#writeOfOneWidth(bytes, end, run, next, many, frame)
      next += many
    }
    return end
  }

  /** How many of `count` ids have as many digits as the first. */
  #ofOneWidth(first: bigint, stride: number, count: number): number {
    const { width, radix } = this.#shape.id
    if (width !== undefined || count === 1) return count
    const wider = BigInt(radix) ** BigInt(toDigits(first, radix).length)
    const step = BigInt(stride)
    if (first + step * BigInt(count - 1) < wider) return count
    return Number((wider - first + step - 1n) / step)
  }

  #writeOfOneWidth(
    bytes: Uint8Array,
    at: number,
    run: Run,
    index: number,
    count: number,
    { head, tail }: TextFrame,
  ): number {
    const { id, check } = this.#shape
    const digits = id.write(run.at(index))
    const framed = head(this.#aroundBytes + digits.length)
    const size = utf8.encodeInto(framed + this.#around(digits) + tail, bytes.subarray(at)).written
    const end = at + size * count
    if (count === 1) return end
    const changing = digits.length - alikeUntil(digits, id.write(run.at(index + count - 1)))
    for (let written = size; at + written < end; written *= 2)
      bytes.copyWithin(at + written, at, Math.min(at + written, end - written))
    const start = at + framed.length
    const digitsEnd = start + this.#beforeBytes + digits.length
    this.#setValues(digits, changing, run.stride)
    this.#countOn(bytes, digitsEnd - 1 + size, end, size, changing)
    if (check !== undefined) {
      const before = this.#beforeBytes + digits.length + this.#betweenBytes
      for (let from = start; from < end; from += size)
        bytes[from + before] = zero + checkOfBytes(check, bytes, from, from + before)
    }
    return end
  }

  /** Counts on in `values`, and writes the last `changing` digits of each id: its last one is at `at`, `at + size`, … */
  #countOn(bytes: Uint8Array, at: number, end: number, size: number, changing: number): void {
    const { radix } = this.#shape.id
    const alphabet = this.#alphabet
    for (let last = at; last < end; last += size) {
      let carry = 0
      for (let place = 0; place < changing; place++) {
        let value = values[place]! + strideValues[place]! + carry
        carry = value < radix ? 0 : 1
        if (carry === 1) value -= radix
        values[place] = value
        bytes[last - place] = alphabet[value]!
      }
    }
  }

  #setValues(digits: string, changing: number, stride: number): void {
    const { radix } = this.#shape.id
    let left = stride
    for (let place = 0; place < changing; place++) {
      values[place] = this.#alphabet.indexOf(digits.charCodeAt(digits.length - 1 - place))
      strideValues[place] = left % radix
      left = Math.floor(left / radix)
    }
  }

  #around(digits: string): string {
    const { before, between, check, after } = this.#shape
    const text = before + digits + between
    return check === undefined ? text + after : text + String(checkDigits[check](text)) + after
  }
}

/** Texts that are the decimal digits of ids. */
export const decimalText: IdText = new TemplateText({
  before: '',
  id: new IdPart(undefined, 10),
  between: '',
  check: undefined,
  after: '',
})

/** How many characters two texts of one length have in common before the first difference. */
function alikeUntil(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return at
}

function json(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
