/**
 * The texts of ids, of one and of a whole run. In the texts of a run only the last digits of the id differ, and a check
 * digit: the bytes of the first text are copied for the others, and these digits are counted on. So an id costs no number, no
 * bigint and no text.
 */
import { base10 } from './alphabet.ts'
import { IdPart, type TextShape } from './format-part.ts'
import type { Run } from './run.ts'

/** What stands around each text in bytes: `head` is given the text's length in bytes. Both are ASCII. */
export type TextFrame = { readonly head: (length: number) => string; readonly tail: string }

/** Values of digits, the last one first: of an id, and of the distance to the next. Filled and read within one call. */
const values = new Uint8Array(64)
const strideValues = new Uint8Array(64)
/** How far in front of its last digit each digit of an id stands, the last one first. */
const distances = new Uint8Array(64)
const utf8 = new TextEncoder()

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
  /** The bytes of the text before the id, those before the check digits, and those around the id. */
  readonly #idFrom: number
  readonly #checkFrom: number
  readonly #aroundBytes: number
  readonly #alphabet: Uint8Array

  constructor(shape: TextShape) {
    const { before, id, between, check, checksFirst, after } = shape
    this.#shape = shape
    const fixed = utf8.encode(before + between + after).length
    const beforeBytes = utf8.encode(before).length
    const betweenBytes = utf8.encode(between).length
    const checkBytes = check?.width ?? 0
    this.#aroundBytes = fixed + checkBytes
    this.#idFrom = checksFirst ? beforeBytes + checkBytes + betweenBytes : beforeBytes
    // Behind the id: without the digits of the id.
    this.#checkFrom = checksFirst ? beforeBytes : beforeBytes + betweenBytes
    this.isAscii = fixed === before.length + between.length + after.length
    this.bytesMax = this.#aroundBytes + (id.width ?? id.write(id.maxId).length)
    this.#alphabet = utf8.encode(id.alphabet.digits)
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
    const { id } = this.#shape
    if (id.width !== undefined || count === 1) return count
    const wider = BigInt(id.alphabet.radix) ** BigInt(id.digitsOf(first).length)
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
    const { id, check, checksFirst } = this.#shape
    const digits = id.digitsOf(run.at(index))
    const shown = id.grouped(digits)
    const length = this.#aroundBytes + shown.length
    const framed = head(length)
    const size = utf8.encodeInto(framed + this.#around(shown) + tail, bytes.subarray(at)).written
    const end = at + size * count
    if (count === 1) return end
    const changing = digits.length - alikeUntil(digits, id.digitsOf(run.at(index + count - 1)))
    for (let written = size; at + written < end; written *= 2)
      bytes.copyWithin(at + written, at, Math.min(at + written, end - written))
    const start = at + framed.length
    this.#setValues(digits, changing, run.stride)
    this.#countOn(bytes, start + this.#idFrom + shown.length - 1 + size, end, size, changing)
    if (check === undefined) return end
    const checkAt = this.#checkFrom + (checksFirst ? 0 : shown.length)
    const firstChanging = this.#idFrom + shown.length - 1 - distances[changing - 1]!
    check.write(bytes, start, end, size, {
      at: checkAt,
      first: checksFirst,
      length,
      changing: firstChanging,
    })
    return end
  }

  /** Counts on in `values`, and writes the last `changing` digits of each id: its last one is at `at`, `at + size`, … */
  #countOn(bytes: Uint8Array, at: number, end: number, size: number, changing: number): void {
    const { radix } = this.#shape.id.alphabet
    const alphabet = this.#alphabet
    for (let last = at; last < end; last += size) {
      let carry = 0
      for (let place = 0; place < changing; place++) {
        let value = values[place]! + strideValues[place]! + carry
        carry = value < radix ? 0 : 1
        if (carry === 1) value -= radix
        values[place] = value
        bytes[last - distances[place]!] = alphabet[value]!
      }
    }
  }

  #setValues(digits: string, changing: number, stride: number): void {
    const { id } = this.#shape
    const { radix } = id.alphabet
    const hyphens = id.hyphensIn(digits.length)
    let left = stride
    for (let place = 0; place < changing; place++) {
      const until = digits.length - place
      values[place] = this.#alphabet.indexOf(digits.charCodeAt(until - 1))
      strideValues[place] = left % radix
      left = Math.floor(left / radix)
      distances[place] = place + hyphens - id.hyphensIn(until)
    }
  }

  #around(shown: string): string {
    const { before, between, check, checksFirst, after } = this.#shape
    if (check === undefined) return before + shown + between + after
    if (!checksFirst) {
      const text = before + shown + between
      return text + check.of(text) + after
    }
    const behind = between + shown + after
    return before + check.of(behind, before) + behind
  }
}

/** Texts that are the decimal digits of ids. */
export const decimalText: IdText = new TemplateText({
  before: '',
  id: new IdPart(undefined, base10),
  between: '',
  check: undefined,
  checksFirst: false,
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
