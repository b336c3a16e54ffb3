/**
 * Reply bytes of the connection that is being served: one growing buffer for a whole server. Commands of two
 * connections never run at the same moment, and it is emptied before another connection is served. `run` writes the
 * digits of the ids that INCR returns.
 *
 * Invariants
 *  1. Bytes 0 … length − 1 are whole replies, except inside one call.
 *  2. What `take` returned is not written to again before it is given back.
 *  3. What `take` returned occupies at most twice its length.
 */
import { idBytesMax, writeDecimal, writeRun } from '../ids/digits.ts'
import type { IdText } from '../ids/id-text.ts'
import { type Run, two32 } from '../ids/run.ts'

const colon = 58
const dollar = 36
const zero = 48
const parenthesis = 40
const carriageReturn = 13
const newline = 10

const startBytes = 65_536
/** A buffer that grew beyond this for one large reply is replaced. */
const keepBytesMax = 1_048_576
/** Up to this size a socket writes a string faster than a buffer. */
const textBytesMax = 49_152
/** Buffers of this size are reused: new ones for each reply keep the garbage collector busy, and all clients waiting. */
const slabBytes = 98_304
const slabsMax = 64
const betweenIds = Buffer.from('\r\n:')
const runHead = Buffer.from('*1\r\n*3\r\n')
/**
 * Room for one id as an integer: `:`, 19 digits and one more that an addition can carry into, CR LF, and a spare
 * byte.
 */
const lineBytesMax = 24
/** The most bytes around a bulk string of less than 10,000,000 bytes: `$`, its length, and CR LF twice. */
export const bulkMaxBytes = 12
const bulkString = { head: (length: number) => `$${length}\r\n`, tail: '\r\n' }

/** The output of one server. */
export class Output {
  /** How many bytes are waiting. May be set back to drop a reply that failed half way. */
  length = 0
  #buffer = Buffer.allocUnsafeSlow(startBytes)
  readonly #slabs: Buffer[] = []

  /** Takes everything that was written, as Latin-1 text or as bytes: the output is empty afterwards. */
  take(): string | Buffer {
    const { length } = this
    this.length = 0
    if (length <= textBytesMax) return this.#buffer.toString('latin1', 0, length)
    const bytes = this.#room(length)
    this.#buffer.copy(bytes, 0, 0, length)
    if (this.#buffer.length > keepBytesMax) this.#buffer = Buffer.allocUnsafeSlow(startBytes)
    return bytes
  }

  /** Drops everything. */
  clear(): void {
    this.length = 0
  }

  /** Takes back what `take` has returned as bytes, once nothing reads them. */
  giveBack(bytes: Buffer): void {
    if (bytes.buffer.byteLength !== slabBytes || this.#slabs.length === slabsMax) return
    this.#slabs.push(Buffer.from(bytes.buffer))
  }

  #room(length: number): Buffer {
    if (length > slabBytes || length < slabBytes / 2) return Buffer.allocUnsafeSlow(length)
    return (this.#slabs.pop() ?? Buffer.allocUnsafeSlow(slabBytes)).subarray(0, length)
  }

  /** Text that is ASCII. */
  ascii(text: string): void {
    this.#reserve(text.length)
    this.length += this.#buffer.write(text, this.length, 'latin1')
  }

  /** A byte that introduces, a number, and the end of the line: `$12`, `*3`, `:7`. */
  line(introducer: string, value: number | bigint): void {
    this.ascii(`${introducer}${value}\r\n`)
  }

  /** Text with its length before it; `prefix` counts as part of it. */
  text(introducer: string, text: string, prefix = ''): void {
    const bytes = Buffer.byteLength(text)
    this.line(introducer, bytes + prefix.length)
    this.ascii(prefix)
    this.#reserve(bytes + 2)
    this.length += this.#buffer.write(text, this.length)
    this.#endLine()
  }

  /** Bytes with their length before them. */
  bytes(introducer: string, bytes: Uint8Array): void {
    this.line(introducer, bytes.length)
    this.#reserve(bytes.length + 2)
    this.#buffer.set(bytes, this.length)
    this.length += bytes.length
    this.#endLine()
  }

  /** A whole reply that is already encoded. */
  encoded(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.length)
    this.length += bytes.length
  }

  /** Text as the rest of one line, whatever it holds: CR and LF become spaces. */
  oneLine(introducer: string, text: string): void {
    const line = `${introducer}${text.replaceAll(/[\r\n]/g, ' ')}\r\n`
    const bytes = Buffer.byteLength(line)
    this.#reserve(bytes)
    this.length += this.#buffer.write(line, this.length)
  }

  /**
   * Every id of the run as an integer reply. The digits of an id are those of the id before it, counted on in
   * place: no number, no text and no division for each.
   */
  run(run: Run): void {
    this.#reserve(run.count * lineBytesMax)
    const buffer = this.#buffer
    buffer[this.length] = colon
    const end = writeRun(buffer, this.length + 1, run, betweenIds)
    this.#endLineAt(end)
    this.length = end + 2
  }

  /** One id as an integer reply. */
  id(hi: number, lo: number): void {
    this.#reserve(lineBytesMax)
    this.#buffer[this.length] = colon
    const end = writeDecimal(this.#buffer, this.length + 1, hi, lo)
    this.#endLineAt(end)
    this.length = end + 2
  }

  /** One id as a bulk string. */
  bulkId(hi: number, lo: number): void {
    this.#reserve(idBytesMax + bulkMaxBytes)
    this.length = this.#bulkIdAt(this.length, hi, lo)
  }

  /** An array of one run: its first id and its stride as bulk strings, and how many ids it has. */
  oneRun(hi: number, lo: number, stride: number, count: number): void {
    this.#reserve(runHead.length + 3 * (idBytesMax + bulkMaxBytes))
    const buffer = this.#buffer
    for (let index = 0; index < runHead.length; index++) buffer[this.length + index] = runHead[index]!
    const afterFirst = this.#bulkIdAt(this.length + runHead.length, hi, lo)
    const afterStride = this.#bulkIdAt(afterFirst, Math.floor(stride / two32), stride % two32)
    buffer[afterStride] = colon
    const end = writeDecimal(buffer, afterStride + 1, 0, count)
    this.#endLineAt(end)
    this.length = end + 2
  }

  /** `count` ids of an ordered run from `index` on, each as a bulk string. */
  texts(text: IdText, run: Run, index: number, count: number): void {
    this.#reserve(count * (text.bytesMax + bulkMaxBytes))
    this.length = text.write(this.#buffer, this.length, run, index, count, bulkString)
  }

  /** The first id of the run as a RESP3 big number. */
  bigNumber(run: Run): void {
    this.#reserve(lineBytesMax)
    this.#buffer[this.length] = parenthesis
    const end = writeDecimal(this.#buffer, this.length + 1, run.hi, run.lo)
    this.#endLineAt(end)
    this.length = end + 2
  }

  #bulkIdAt(at: number, hi: number, lo: number): number {
    const buffer = this.#buffer
    // The length of the digits has two digits from the tenth on.
    const isLong = hi > 0 || lo >= 1_000_000_000
    const first = at + (isLong ? 5 : 4)
    const end = writeDecimal(buffer, first, hi, lo)
    const digits = end - first
    buffer[at] = dollar
    if (isLong) buffer[at + 1] = zero + 1
    buffer[first - 3] = zero + (isLong ? digits - 10 : digits)
    this.#endLineAt(first - 2)
    this.#endLineAt(end)
    return end + 2
  }

  #endLine(): void {
    this.#endLineAt(this.length)
    this.length += 2
  }

  #endLineAt(at: number): void {
    this.#buffer[at] = carriageReturn
    this.#buffer[at + 1] = newline
  }

  #reserve(bytes: number): void {
    const wanted = this.length + bytes
    if (wanted <= this.#buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, this.#buffer.length * 2))
    this.#buffer.copy(larger, 0, 0, this.length)
    this.#buffer = larger
  }
}
