/**
 * Formats of 128 bits, and of 96: what UUID, ULID, TypeID and ObjectId are to others is a text of the raw id here. Such a
 * format needs no state, so what is issued, leased and promised is as with any other.
 *
 *   uuidv7  ulid  typeid:PREFIX  objectid  uuidv8
 */
import { assert } from '../base/assert.ts'
import { FahaoError } from '../base/errors.ts'
import { alphabets, crockford } from './alphabet.ts'
import type { Format, TextColumn } from './any-format.ts'
import { notOfFormat } from './format-part.ts'
import type { IdText, TextFrame } from './id-text.ts'
import type { Layout } from './layout.ts'
import { max63 } from './limits.ts'
import type { Run } from './run.ts'
import { shortened } from './shortened.ts'
import { halvesOf, unixMsOf, WideBits, type WideBitsName, wordsOf } from './wide-bits.ts'

/** The forms that a wide format can have. */
export type WideName = WideBitsName | 'typeid'

/** What the text of a wide format states. */
export type WideSpec = { readonly name: WideName; readonly prefix: string }

/** The key of a wide format: 16 hexadecimal digits. */
export type FormKey = string

const keyPattern = /^[0-9a-f]{16}$/
/** https://github.com/jetify-com/typeid/tree/main/spec, version 0.3.0 */
const prefixPattern = /^(?:[a-z](?:[a-z_]{0,61}[a-z])?)?$/
const utf8 = new TextEncoder()
const words = new Int32Array(4)
const hex = alphabets.get('base16')!.digits
const hexDigits = utf8.encode(hex)
const upperDigits = utf8.encode(crockford.digits)
const lowerDigits = utf8.encode(crockford.digits.toLowerCase())
const hyphen = 45
/** The characters of one text, of 24, 26 or 36. */
const chars = new Uint8Array(36)

/** The wide form that a text of `FORMAT` names; undefined: it is a template. Throws ERR for a TypeID's prefix that has other letters. */
export function wideSpecOf(text: string): WideSpec | undefined {
  if (text === 'uuidv7' || text === 'uuidv8' || text === 'ulid' || text === 'objectid')
    return { name: text, prefix: '' }
  // With a field it is a template: this was one before there were TypeIDs.
  if (!text.startsWith('typeid:') || text.includes('{')) return undefined
  const prefix = text.slice('typeid:'.length)
  if (prefixPattern.test(prefix)) return { name: 'typeid', prefix: prefix === '' ? '' : `${prefix}_` }
  throw new FahaoError(
    'ERR',
    `the format cannot be used: '${shortened(prefix)}' is no prefix of a TypeID; give at most 63 of a to z and _, with a letter at both ends`,
  )
}

/** Whether a text of `FORMAT` names a wide form. */
export function isWide(text: string | undefined): boolean {
  return text !== undefined && wideSpecOf(text) !== undefined
}

/** A wide format of one layout, or of a counter. */
export class WideFormat implements Format, IdText {
  readonly template: string
  readonly name: WideName
  readonly needsNode = false
  readonly needsTime = false
  readonly shows = undefined
  readonly needsKey: boolean
  readonly maxId = max63
  readonly mixesCases = false
  readonly ambiguousZone = undefined
  readonly isAscii = true
  readonly bytesMax: number
  readonly #prefix: string
  readonly #bits: WideBits
  readonly #key0: number
  readonly #key1: number

  /**
   * @param layout of a clock kind; undefined: of a counter, which has uuidv8 alone. Throws ERR where it does not fit.
   * @param key without it the format serves for checks, and for bounds.
   */
  constructor(
    text: string,
    { name, prefix }: WideSpec,
    layout: Layout | undefined,
    key?: FormKey,
    bits?: WideBits,
  ) {
    if (bits === undefined && layout === undefined && name !== 'uuidv8') throw needsClock(text)
    if (key !== undefined && !keyPattern.test(key))
      throw new FahaoError(
        'ERR',
        'a key of a wide format has 16 hexadecimal digits; make a new one from a secure random source',
      )
    this.template = text
    this.name = name
    this.needsKey = key === undefined
    this.#prefix = prefix
    this.#bits =
      bits ?? new WideBits(name === 'typeid' ? 'uuidv7' : name, name === 'uuidv8' ? undefined : layout)
    this.#key0 = parseInt(key?.slice(0, 8) ?? '0', 16) | 0
    this.#key1 = parseInt(key?.slice(8) ?? '0', 16) | 0
    this.bytesMax = prefix.length + (name === 'objectid' ? 24 : this.#isHex ? 36 : 26)
  }

  /** The same format with the key of a generator. */
  named(): this {
    return this
  }

  withKey(key: FormKey): WideFormat {
    const { template, name } = this
    return new WideFormat(template, { name, prefix: this.#prefix }, undefined, key, this.#bits)
  }

  /** How many bytes `writeBytes` writes: 16, or 12 of an ObjectId. */
  get size(): number {
    return this.#bits.size * 4
  }

  get #isHex(): boolean {
    return this.name === 'uuidv7' || this.name === 'uuidv8' || this.name === 'objectid'
  }

  format(id: bigint): string {
    assert(!this.needsKey, 'a wide format has the key of a generator')
    const { hi, lo } = halvesOf(id)
    return this.textOf(hi, lo)
  }

  bytes(id: bigint): Uint8Array {
    const { hi, lo } = halvesOf(id)
    const bytes = new Uint8Array(this.size)
    this.writeBytes(hi, lo, bytes, 0)
    return bytes
  }

  text(id: bigint): string {
    return this.format(id)
  }

  texts(): WideFormat {
    return this
  }

  inJson(): WideFormat {
    return this
  }

  /** The text of an id, in halves as a run has them. */
  textOf(hi: number, lo: number): string {
    this.#bits.write(hi, lo, words, this.#key0, this.#key1)
    return this.#textOfWords()
  }

  /** Throws ERR unless `bytes` has room for an id from `at` on. */
  checkRoom(bytes: Uint8Array, at: number): void {
    if (Number.isSafeInteger(at) && at >= 0 && at + this.size <= bytes.length) return
    throw new FahaoError(
      'ERR',
      `there are not ${this.size} bytes from ${at} on; give an array with room for them`,
    )
  }

  /** The bytes of an id, in halves, from `at` on, the most significant first. */
  writeBytes(hi: number, lo: number, bytes: Uint8Array, at: number): void {
    this.#bits.write(hi, lo, words, this.#key0, this.#key1)
    let end = at
    for (let index = 0; index < this.#bits.size; index++) {
      const word = words[index]!
      bytes[end++] = word >>> 24
      bytes[end++] = word >>> 16
      bytes[end++] = word >>> 8
      bytes[end++] = word
    }
  }

  /** The smallest text that any key makes of this id, as a bound for comparisons: its keyed bits are 0. Undefined past its last time. */
  smallest(id: bigint): string | undefined {
    const { hi, lo } = halvesOf(id)
    if (this.#bits.isPastEnd(hi, lo)) return undefined
    this.#bits.write(hi, lo, words)
    return this.#textOfWords()
  }

  write(bytes: Uint8Array, at: number, run: Run, index: number, count: number, frame: TextFrame): number {
    const head = utf8.encode(frame.head(this.bytesMax))
    const tail = utf8.encode(frame.tail)
    const prefix = utf8.encode(this.#prefix)
    let end = at
    for (let next = index; next < index + count; next++) {
      const { hi, lo } = halvesOf(run.at(next))
      this.#bits.write(hi, lo, words, this.#key0, this.#key1)
      bytes.set(head, end)
      bytes.set(prefix, end + head.length)
      end = this.#fill(bytes, end + head.length + prefix.length)
      bytes.set(tail, end)
      end += tail.length
    }
    return end
  }

  parse(text: string): bigint {
    assert(!this.needsKey, 'a wide format has the key of a generator')
    const from = wordsIn(this.name, this.#prefix, text)
    const id = from && this.#bits.read(from, this.#key0, this.#key1)
    if (id !== undefined) return id
    const why = from === undefined ? 'has another form' : 'is mistyped, or of another generator'
    throw notOfFormat(`'${shortened(text)}' ${why}`)
  }

  column(): TextColumn {
    const { name, bytesMax } = this
    const signs =
      name === 'ulid' ? crockford.digits : name === 'typeid' ? crockford.digits.toLowerCase() : hex
    const width = { charactersMin: bytesMax, charactersMax: bytesMax }
    // The others sort by time, sequence and node, in whatever order the layout has these.
    return { ...width, isAscii: true, signs, caseMatters: false, sortsLikeIds: name === 'uuidv8' }
  }

  #textOfWords(): string {
    const length = this.#fill(chars, 0)
    const c = chars
    if (length === 24)
      // biome-ignore format: one line for each word
      return String.fromCharCode(
        c[0]!, c[1]!, c[2]!, c[3]!, c[4]!, c[5]!, c[6]!, c[7]!,
        c[8]!, c[9]!, c[10]!, c[11]!, c[12]!, c[13]!, c[14]!, c[15]!,
        c[16]!, c[17]!, c[18]!, c[19]!, c[20]!, c[21]!, c[22]!, c[23]!,
      )
    if (length === 36)
      // biome-ignore format: one line for each word
      return String.fromCharCode(
        c[0]!, c[1]!, c[2]!, c[3]!, c[4]!, c[5]!, c[6]!, c[7]!, c[8]!,
        c[9]!, c[10]!, c[11]!, c[12]!, c[13]!, c[14]!, c[15]!, c[16]!, c[17]!, c[18]!,
        c[19]!, c[20]!, c[21]!, c[22]!, c[23]!, c[24]!, c[25]!, c[26]!, c[27]!,
        c[28]!, c[29]!, c[30]!, c[31]!, c[32]!, c[33]!, c[34]!, c[35]!,
      )
    // biome-ignore format: eight in a line
    const digits = String.fromCharCode(
      c[0]!, c[1]!, c[2]!, c[3]!, c[4]!, c[5]!, c[6]!, c[7]!,
      c[8]!, c[9]!, c[10]!, c[11]!, c[12]!, c[13]!, c[14]!, c[15]!,
      c[16]!, c[17]!, c[18]!, c[19]!, c[20]!, c[21]!, c[22]!, c[23]!, c[24]!, c[25]!,
    )
    return this.#prefix === '' ? digits : this.#prefix + digits
  }

  /** Writes the characters of `words` from `at` on, without a prefix, and returns where they end. */
  #fill(bytes: Uint8Array, at: number): number {
    if (!this.#isHex) return fillBase32(bytes, at, this.name === 'ulid' ? upperDigits : lowerDigits)
    const gap = this.name === 'objectid' ? 0 : 1
    let end = fillHex(bytes, at, words[0]!)
    if (gap === 1) bytes[end] = hyphen
    end = fillHex(bytes, end + gap, words[1]!, gap)
    if (gap === 0) return fillHex(bytes, end, words[2]!)
    bytes[end] = bytes[end - 5] = hyphen
    end = fillHex(bytes, end + 1, words[2]!, 1)
    bytes[end - 5] = hyphen
    return fillHex(bytes, end, words[3]!)
  }
}

/** The moment that a text states without its generator: what begins with Unix ms, or with Unix seconds. Undefined: it is no such text. */
export function wideMomentMs(text: string): { readonly form: string; readonly unixMs: number } | undefined {
  const typeid = /^([a-z_]*_)?(?=.{26}$)/.exec(text)?.[1] ?? ''
  const candidates = ['uuidv7', 'objectid', 'ulid'] as const
  for (const form of candidates) {
    const from = wordsIn(form, form === 'ulid' ? typeid : '', text)
    const isIt = from !== undefined && (form !== 'uuidv7' || (from[1]! & 0xf000) === 0x7000)
    if (isIt) return { form: typeid === '' ? form : 'typeid', unixMs: unixMsOf(form, from) }
  }
  return undefined
}

/** The words of a text in this form, as people write them; undefined: it is none. */
function wordsIn(name: WideName, prefix: string, text: string): Int32Array | undefined {
  if (name === 'uuidv7' || name === 'uuidv8') {
    const isUuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$|^[\da-f]{32}$/i.test(text)
    return isUuid ? wordsOf(BigInt(`0x${text.replaceAll('-', '')}`), 4) : undefined
  }
  if (name === 'objectid') return /^[\da-f]{24}$/i.test(text) ? wordsOf(BigInt(`0x${text}`), 3) : undefined
  if (!text.startsWith(prefix) || text.length > prefix.length + 64) return undefined
  const digits = text.slice(prefix.length).replaceAll('-', '')
  const value = digits.length === 26 ? crockford.read(digits) : undefined
  return value === undefined || value >> 128n > 0n ? undefined : wordsOf(value, 4)
}

/** Eight characters; `gap`: after four, one is left for a hyphen. */
function fillHex(bytes: Uint8Array, at: number, word: number, gap = 0): number {
  bytes[at] = hexDigits[word >>> 28]!
  bytes[at + 1] = hexDigits[(word >>> 24) & 15]!
  bytes[at + 2] = hexDigits[(word >>> 20) & 15]!
  bytes[at + 3] = hexDigits[(word >>> 16) & 15]!
  const end = at + 4 + gap
  bytes[end] = hexDigits[(word >>> 12) & 15]!
  bytes[end + 1] = hexDigits[(word >>> 8) & 15]!
  bytes[end + 2] = hexDigits[(word >>> 4) & 15]!
  bytes[end + 3] = hexDigits[word & 15]!
  return end + 4
}

/** 26 digits for 128 bits; the first has three of them, the others five. */
function fillBase32(bytes: Uint8Array, at: number, digits: Uint8Array): number {
  let bits = 0
  let left = 2
  let end = at
  for (let index = 0; index < 4; index++) {
    const word = words[index]!
    // What is left of the words before stands above this one: at most four bits.
    let from = 32
    for (;;) {
      const take = 5 - left
      if (from < take) break
      from -= take
      bytes[end++] = digits[((bits << take) | ((word >>> from) & ((1 << take) - 1))) & 31]!
      bits = left = 0
    }
    bits = word & ((1 << from) - 1)
    left = from
  }
  return end
}

function needsClock(text: string): FahaoError {
  return new FahaoError(
    'ERR',
    `format ${text} begins with a time, and a counter has none; use uuidv8, or kind snowflake or timestamp`,
  )
}
