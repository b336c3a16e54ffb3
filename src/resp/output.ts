/**
 * Reply bytes of the connection that is being served: one growing buffer for a whole server, since commands of
 * two connections never run at the same moment, emptied before anybody else's turn.
 *
 * Invariants
 *  1. Bytes 0 … length − 1 are whole replies, except inside one call.
 *  2. What `take` returned is not written to again before it is given back.
 *  3. Bytes that `take` returned occupy at most twice their length.
 */
import { type Run, safeHi, two32 } from '../ids/run.ts'

const colon = 58
const parenthesis = 40
const zero = 48
const carriageReturn = 13
const newline = 10
const billion = 1_000_000_000

const startBytes = 65_536
/** A buffer that grew beyond this for one large reply is given back. */
const keepBytesMax = 1_048_576
/** Up to this size a string is cheaper to hand to a socket than a buffer. */
const textBytesMax = 49_152
/** Buffers of this size are used again: new ones all the time keep the garbage collector busy, and all peers waiting. */
const slabBytes = 98_304
const slabsMax = 64
/** `:`, 20 digits, CR LF, and room for a carry. */
const lineBytesMax = 24
/** The same behind `$19` and its line end. */
const textBytesRoom = 32

/** See the invariants at the top of the file. */
export class Output {
  /** How many bytes are waiting. May be set back to drop a reply that failed half way. */
  length = 0
  #buffer = Buffer.allocUnsafeSlow(startBytes)
  readonly #slabs: Buffer[] = []

  /** Everything written so far, as Latin-1 text or as bytes, and starts afresh. */
  take(): string | Buffer {
    const { length } = this
    this.length = 0
    if (length <= textBytesMax) return this.#buffer.toString('latin1', 0, length)
    const bytes = this.#room(length)
    this.#buffer.copy(bytes, 0, 0, length)
    if (this.#buffer.length > keepBytesMax) this.#buffer = Buffer.allocUnsafeSlow(startBytes)
    return bytes
  }

  /** Takes back what `take` has returned as bytes, once nothing reads them any more. */
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

  /** A whole reply that is encoded already. */
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
    const start = this.length
    buffer[start] = colon
    let end = this.#decimal(start + 1, run.hi, run.lo)
    this.#endLineAt(end)
    let lineBytes = end + 2 - start
    for (let left = run.count - 1; left > 0; left--) {
      end += lineBytes
      for (let at = end - lineBytes + 2; at < end + 2; at++) buffer[at] = buffer[at - lineBytes]!
      const grown = this.#add(end - lineBytes + 3, end, run.stride)
      end += grown
      lineBytes += grown
    }
    this.length = end + 2
  }

  /** `count` ids of the run from `index` on, each as a bulk string. Counted on in place, as `run` does. */
  texts(run: Run, index: number, count: number): void {
    this.#reserve(count * textBytesRoom)
    const buffer = this.#buffer
    let before = -1
    let digits = 0
    for (let at = index; at < index + count; at++) {
      const start = this.length
      const bytes = start - before
      for (let from = before; before >= 0 && from < start; from++) buffer[from + bytes] = buffer[from]!
      if (before < 0 || this.#add(start + digits, start + bytes - 2, run.stride) > 0) {
        const text = String(run.at(at))
        this.text('$', text)
        digits = this.length - start - text.length - 2
      } else {
        this.length = start + bytes
      }
      before = start
    }
  }

  /** The first id of the run as a RESP3 big number. */
  bigNumber(run: Run): void {
    this.#reserve(lineBytesMax)
    this.#buffer[this.length] = parenthesis
    const end = this.#decimal(this.length + 1, run.hi, run.lo)
    this.#endLineAt(end)
    this.length = end + 2
  }

  /** Writes the decimal digits of a value given in halves, and returns where they end. */
  #decimal(at: number, hi: number, lo: number): number {
    if (hi < safeHi) {
      const value = hi * two32 + lo
      if (value < billion) return this.#digits(at, value, 1)
      const upper = Math.floor(value / billion)
      return this.#digits(this.#digits(at, upper, 1), value - upper * billion, 9)
    }
    // Long division in pieces that a double holds exactly.
    const middle = (hi % billion) * 0x1_0000 + (lo >>> 16)
    const low = (middle % billion) * 0x1_0000 + (lo & 0xffff)
    const upper =
      Math.floor(hi / billion) * two32 + Math.floor(middle / billion) * 0x1_0000 + Math.floor(low / billion)
    return this.#digits(this.#digits(at, upper, 1), low % billion, 9)
  }

  /** Writes `value` < 10^10 with at least `digitsMin` digits, and returns where they end. */
  #digits(at: number, value: number, digitsMin: number): number {
    const buffer = this.#buffer
    let digits = digitsMin
    for (let power = 10 ** digitsMin; power <= value; power *= 10) digits++
    let left = value
    for (let index = at + digits - 1; index >= at; index--) {
      const tenth = Math.floor(left / 10)
      buffer[index] = zero + (left - tenth * 10)
      left = tenth
    }
    return at + digits
  }

  /** Adds `stride` to the digits from `first` to before `end`; returns how many digits they became more. */
  #add(first: number, end: number, stride: number): number {
    const buffer = this.#buffer
    let at = end - 1
    let carry = stride
    for (; carry > 0 && at >= first; at--) {
      const tenth = Math.floor(carry / 10)
      const digit = buffer[at]! + (carry - tenth * 10)
      carry = tenth
      if (digit > zero + 9) {
        buffer[at] = digit - 10
        carry++
      } else {
        buffer[at] = digit
      }
    }
    let grown = 0
    for (; carry > 0; grown++) {
      const tenth = Math.floor(carry / 10)
      buffer.copyWithin(first + 1, first, end + grown + 2)
      buffer[first] = zero + (carry - tenth * 10)
      carry = tenth
    }
    return grown
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
