/**
 * The bits of ids of 128 bits (UUID, ULID, TypeID) and of 96 (ObjectId): a pure function of a raw id and a key.
 *
 *   uuidv7, typeid, ulid   Unix ms:48, part of the ms, sequence, node, other fields, keyed
 *   objectid               Unix seconds:32, part of the second, sequence, node, other fields, keyed
 *   uuidv8                 raw id:63, keyed
 *
 * A UUID has its version and variant in between. What is fixed in all ids of a layout is left out. So the bits in front of
 * the keyed ones are different for each raw id of one layout, and ordered by time, sequence and node; the keyed ones tell
 * generators apart, and are checked when an id is read.
 *
 * Sources: RFC 9562; https://github.com/ulid/spec; https://github.com/jetify-com/typeid; the ObjectId of BSON,
 * https://bsonspec.org.
 */
import { FahaoError } from '../base/errors.ts'
import { keyedHash64 } from '../base/keyed-hash.ts'
import { type Layout, ones } from './layout.ts'
import { formatLayout } from './layout-text.ts'
import { momentText } from './moment.ts'
import { isPast } from './past.ts'
import { Run, two32 } from './run.ts'

/** Each form: words of 32 bits, bits of time, what these count in µs, and bits in between: from the left, how many, value. */
const forms = {
  uuidv7: { words: 4, timeBits: 48, tickUs: 1000, marks: versionAndVariant(7) },
  uuidv8: { words: 4, timeBits: 0, tickUs: 1, marks: versionAndVariant(8) },
  ulid: { words: 4, timeBits: 48, tickUs: 1000, marks: [] },
  objectid: { words: 3, timeBits: 32, tickUs: 1_000_000, marks: [] },
} as const satisfies Record<string, Form>

type Form = {
  readonly words: number
  readonly timeBits: number
  readonly tickUs: number
  readonly marks: readonly Mark[]
}

type Mark = readonly [at: number, bits: number, value: number]

function versionAndVariant(version: number): readonly Mark[] {
  return [
    [48, 4, version],
    [64, 2, 2],
  ]
}

/** How the bits are laid out; a TypeID has those of uuidv7. */
export type WideBitsName = keyof typeof forms

/** The fewest keyed bits: ids of two generators that share time, sequence and node are equal with a chance of 2^−32. */
const keyedBitsMin = 32
/** The most: the last 62 bits of a UUID have no mark in between. */
const keyedBitsMax = 62

/** What pieces are copied from: the halves of the raw id, and the part of a tick. */
const source = new Int32Array(3)
const [fromLo, fromHi, fromPart] = [0, 1, 2]
const hash = new Int32Array(2)
const again = new Int32Array(4)
const one = new Run()
/** Numbers that describe a piece: its word, its shift there, the word that it is copied from, its shift there, and its mask. */
const pieceSize = 5

/** Puts raw ids of one layout into more bits, and takes them out. */
export class WideBits {
  /** How many words an id has. */
  readonly size: number
  readonly #form: Form
  readonly #layout: Layout | undefined
  /** Version and variant, in place. */
  readonly #marks = new Int32Array(4)
  /** Pieces of the sequence, or of the low half; and the others, which are the same for many ids in a row. */
  readonly #often: Int32Array
  readonly #seldom: Int32Array
  /** The bits of the halves that make up the others, and what they were for the words that are kept. */
  readonly #maskHi: number
  readonly #maskLo: number
  #keptHi = -1
  #keptLo = 0
  readonly #kept = new Int32Array(4)
  readonly #keyedMask: number
  /** How the time field is taken out of the halves. */
  readonly #time: { hiShift: number; hiMask: number; hiScale: number; loShift: number; loMask: number }
  /** The epoch, a unit of time and a tick, in parts of a tick. */
  readonly #epoch: number
  readonly #unit: number
  readonly #parts: number
  /** The parts of ticks that no longer fit. */
  readonly #end: number

  /** @param layout of a form with time. Throws ERR where fewer than 32 keyed bits would be left. */
  constructor(name: WideBitsName, layout: Layout | undefined) {
    const form: Form = forms[name]
    this.#form = form
    this.size = form.words
    this.#layout = form.timeBits === 0 ? undefined : layout
    for (const [at, bits, value] of form.marks) this.#marks[at >> 5]! |= value << (32 - (at & 31) - bits)
    const { epochUs = 0, unitUs = 1, timeShift = 0, timeBits = 0 } = this.#layout ?? {}
    const partUs = greatest(greatest(unitUs, form.tickUs), epochUs)
    this.#epoch = epochUs / partUs
    this.#unit = unitUs / partUs
    this.#parts = form.tickUs / partUs
    this.#end = Math.min(2 ** form.timeBits * this.#parts, Number.MAX_SAFE_INTEGER)
    this.#time = timeIn(timeShift, timeBits)
    const { sequenceBits = 32, sequenceShift = 0 } = this.#layout ?? {}
    const seldom = ~(ones(sequenceBits) << BigInt(sequenceShift))
    this.#maskLo = Number(BigInt.asIntN(32, seldom))
    this.#maskHi = Number(BigInt.asIntN(32, seldom >> 32n))
    const content = contentOf(name, this.#layout, this.#parts)
    const free = freeBits(form)
    const keyedBits = Math.min(keyedBitsMax, free.length - content.length)
    this.#keyedMask = 2 ** (keyedBits - 32) - 1
    const pairs = content.map((from, at) => [from, free[at]!] as const)
    const isOften = ([[word, place]]: (typeof pairs)[number]) =>
      word !== fromPart && (((word === fromLo ? this.#maskLo : this.#maskHi) >>> place) & 1) === 0
    this.#often = piecesOf(pairs.filter(isOften))
    this.#seldom = piecesOf(pairs.filter((pair) => !isOften(pair)))
  }

  /** Puts a raw id, in halves, into `to`. Without keys its keyed bits are 0. Throws EXHAUSTED past the last tick. */
  write(hi: number, lo: number, to: Int32Array, key0?: number, key1 = 0): void {
    const seldomHi = hi & this.#maskHi
    const seldomLo = lo & this.#maskLo
    if (seldomHi !== this.#keptHi || seldomLo !== this.#keptLo) this.#keep(seldomHi, seldomLo)
    const kept = this.#kept
    const last = this.size - 1
    for (let at = 0; at <= last; at++) to[at] = kept[at]!
    source[fromLo] = lo
    source[fromHi] = hi
    copy(this.#often, to)
    if (key0 === undefined) return
    keyedHash64(lo, hi, key0, key1, hash)
    to[last] = hash[0]!
    to[last - 1]! |= hash[1]! & this.#keyedMask
  }

  /** Keeps the words without what differs from one id to the next. */
  #keep(hi: number, lo: number): void {
    this.#keptHi = -1
    const kept = this.#kept
    kept.set(this.#marks)
    source[fromLo] = lo
    source[fromHi] = hi
    if (this.#layout !== undefined) this.#writeTime(hi, lo, kept)
    copy(this.#seldom, kept)
    this.#keptHi = hi
    this.#keptLo = lo
  }

  /** Whether the form has no tick for the time of this id. */
  isPastEnd(hi: number, lo: number): boolean {
    return this.#layout !== undefined && this.#partsOf(hi, lo) >= this.#end
  }

  /** The time of an id, in parts of a tick. */
  #partsOf(hi: number, lo: number): number {
    const { hiShift, hiMask, hiScale, loShift, loMask } = this.#time
    const time = ((hi >>> hiShift) & hiMask) * hiScale + (((lo >>> loShift) & loMask) >>> 0)
    return this.#epoch + time * this.#unit
  }

  #writeTime(hi: number, lo: number, to: Int32Array): void {
    const parts = this.#partsOf(hi, lo)
    if (parts >= this.#end) throw this.#ended()
    const tick = Math.floor(parts / this.#parts)
    source[fromPart] = parts - tick * this.#parts
    if (this.#form.timeBits === 32) {
      to[0] = tick
      return
    }
    const upper = Math.floor(tick / 0x10000)
    to[0] = upper
    to[1]! |= (tick - upper * 0x10000) << 16
  }

  /** The raw id whose words these are, with this key; undefined: they are of none. */
  read(from: Int32Array, key0: number, key1: number): bigint | undefined {
    source.fill(0)
    for (const pieces of [this.#often, this.#seldom]) {
      for (let at = 0; at < pieces.length; at += pieceSize) {
        const value = (from[pieces[at]!]! >>> pieces[at + 1]!) & pieces[at + 4]!
        source[pieces[at + 2]!]! |= value << pieces[at + 3]!
      }
    }
    one.hi = source[fromHi]!
    one.lo = source[fromLo]! >>> 0
    const id = one.first | this.#placedTime(from)
    try {
      const { hi, lo } = halvesOf(id)
      this.write(hi, lo, again, key0, key1)
    } catch {
      return undefined
    }
    return from.every((word, at) => word === again[at]) ? id : undefined
  }

  /** The time field and the fixed bits, in place. What is no time of the layout makes another id than the one that is read. */
  #placedTime(from: Int32Array): bigint {
    const layout = this.#layout
    if (layout === undefined) return 0n
    const tick = BigInt(tickOf(from, this.#form.timeBits))
    const units =
      (tick * BigInt(this.#parts) + BigInt(source[fromPart]!) - BigInt(this.#epoch)) / BigInt(this.#unit)
    const time = units < 0n || units > ones(layout.timeBits) ? 0n : units
    return layout.fixed | (time << BigInt(layout.timeShift))
  }

  #ended(): FahaoError {
    const { timeBits, tickUs } = this.#form
    const endUs = BigInt(tickUs) * (1n << BigInt(timeBits))
    return new FahaoError(
      'EXHAUSTED',
      `the time of this id is past what its format can hold, ${momentText(endUs)}; use another format`,
    )
  }
}

/** The moment at the beginning of an id's words, in Unix ms. */
export function unixMsOf(name: WideBitsName, from: Int32Array): number {
  const { timeBits, tickUs } = forms[name]
  return tickOf(from, timeBits) * (tickUs / 1000)
}

function tickOf(from: Int32Array, timeBits: number): number {
  const upper = from[0]! >>> 0
  return timeBits === 32 ? upper : upper * 0x10000 + (from[1]! >>> 16)
}

/** A bit to copy: its word, and its place there from the right. */
type Bit = readonly [word: number, place: number]

/** What stands between the time and the keyed bits, the most significant bit first. */
function contentOf(name: WideBitsName, layout: Layout | undefined, parts: number): Bit[] {
  const bits = (word: number, shift: number, count: number): Bit[] =>
    Array.from({ length: count }, (_, index) => {
      const place = shift + count - 1 - index
      return word === fromPart || place < 32 ? [word, place] : [fromHi, place - 32]
    })
  if (layout === undefined) return bits(fromLo, 0, 63)
  const partBits = Math.ceil(Math.log2(parts))
  const rank = { sequence: 0, node: 1 } as Readonly<Record<string, number>>
  const fields = layout.fields
    .filter((each) => each.field !== 'time' && (each.field !== 'fixed' || isPast(each)))
    .sort((a, b) => (rank[a.field] ?? 2) - (rank[b.field] ?? 2))
  const content = [
    ...bits(fromPart, 0, partBits),
    ...fields.flatMap(({ shift, bits: n }) => bits(fromLo, shift, n)),
  ]
  const left = freeBits(forms[name]).length - content.length
  if (left >= keyedBitsMin) return content
  const part = partBits > 0 ? [`part of a ${name === 'objectid' ? 'second' : 'millisecond'} ${partBits}`] : []
  const all = [...part, ...fields.map(({ field, bits: n }) => `${field} ${n}`)].join(' + ')
  const room = freeBits(forms[name]).length - keyedBitsMin
  throw new FahaoError(
    'ERR',
    `format ${name} has no room for the layout ${formatLayout(layout)}: ${all} = ${content.length} bits, and there are ${room} beside ${keyedBitsMin} keyed ones; use uuidv7, ulid or uuidv8, or a smaller layout`,
  )
}

/** The bits that neither time nor marks have, from the left. */
function freeBits({ words: size, timeBits, marks }: Form): Bit[] {
  const free: Bit[] = []
  for (let at = timeBits; at < size * 32; at++)
    if (!marks.some(([from, bits]) => at >= from && at < from + bits)) free.push([at >> 5, 31 - (at & 31)])
  return free
}

/** Pairs of a bit and its place in the result as pieces: neighbouring bits are copied together. */
function piecesOf(pairs: readonly (readonly [from: Bit, to: Bit])[]): Int32Array {
  const pieces: number[] = []
  for (const [[word, place], [toWord, toPlace]] of pairs) {
    const last = pieces.length - pieceSize
    const before = [toWord, toPlace + 1, word, place + 1]
    const follows = last >= 0 && before.every((value, at) => pieces[last + at] === value)
    if (!follows) pieces.push(toWord, toPlace, word, place, 1)
    else pieces.splice(last + 1, 4, toPlace, word, place, pieces[last + 4]! * 2 + 1)
  }
  return Int32Array.from(pieces)
}

function copy(pieces: Int32Array, to: Int32Array): void {
  for (let at = 0; at < pieces.length; at += pieceSize) {
    const value = (source[pieces[at + 2]!]! >>> pieces[at + 3]!) & pieces[at + 4]!
    to[pieces[at]!]! |= value << pieces[at + 1]!
  }
}

/** How a time field of these bits is taken out of the halves of an id. */
function timeIn(shift: number, bits: number) {
  const inLo = Math.max(0, Math.min(bits, 32 - shift))
  const inHi = bits - inLo
  return {
    hiShift: Math.max(0, shift - 32),
    hiMask: 2 ** inHi - 1,
    hiScale: 2 ** inLo,
    loShift: Math.min(shift, 31),
    loMask: 2 ** inLo - 1,
  }
}

function greatest(a: number, b: number): number {
  return b === 0 ? a : greatest(b, a % b)
}

/** The high and the low half of an id. */
export function halvesOf(id: bigint): Run {
  if (id < 0n || id >= 1n << 63n) throw new FahaoError('ERR', `id ${id} is no number from 0 to 2^63 − 1`)
  one.setOne(id)
  return one
}

/** The words of a number. */
export function wordsOf(value: bigint, size: number): Int32Array {
  return Int32Array.from({ length: size }, (_, at) =>
    Number((value >> BigInt(32 * (size - 1 - at))) % BigInt(two32)),
  )
}
