/**
 * Messages to the client that is being served: one growing buffer for a whole server. Connections are served one after the
 * other, and it is emptied before the next one is.
 * https://www.postgresql.org/docs/15/protocol-message-formats.html
 *
 * Invariants
 *  1. Bytes 0 … length − 1 are whole messages, except inside one call; `abandon` drops one that the call has not ended.
 *  2. What `take` has returned is not written to again.
 *  3. No message is longer than `messageMaxBytes`; one that would be is refused before its bytes are made. After `take` and
 *     `clear` the buffer has at most `keepBytesMax` bytes.
 */
import { writeDecimal } from '../ids/digits.ts'
import type { Run } from '../ids/run.ts'
import { SqlError } from './sql-error.ts'

const startBytes = 65_536
/** A buffer that grew beyond this for one large message is replaced. */
const keepBytesMax = 1_048_576
/** Up to this size a socket writes a string faster than a buffer. */
const textBytesMax = 49_152
/** The longest message. A short statement shows one long value in 1,600 columns: each column is written again. */
const messageMaxBytes = 4_194_304
/** The bytes of longer texts are counted. For shorter ones the most bytes that they may have are reserved. */
const guessedLengthMax = 4096
/** A message with one column of digits: type and length, number of columns, length of the column, 20 digits. */
const idRowBytesMax = 32
const dataRow = 0x44

/** The output of one server. */
export class Output {
  /** How many bytes are waiting. */
  length = 0
  #buffer = Buffer.allocUnsafeSlow(startBytes)
  /** Where the message that is being written starts; −1: none is. */
  #start = -1

  /** Drops the message that is being written, if one is: it has failed half way. */
  abandon(): void {
    if (this.#start >= 0) this.length = this.#start
    this.#start = -1
  }

  /** Drops everything. */
  clear(): void {
    this.length = 0
    this.#start = -1
    if (this.#buffer.length > keepBytesMax) this.#buffer = Buffer.allocUnsafeSlow(startBytes)
  }

  /** Takes everything that was written, as Latin-1 text or as bytes: the output is empty afterwards. */
  take(): string | Buffer {
    if (this.length > textBytesMax) return this.takeBytes()
    const text = this.#buffer.toString('latin1', 0, this.length)
    this.clear()
    return text
  }

  /** Takes everything that was written, as a buffer of its own: the output is empty afterwards. */
  takeBytes(): Buffer {
    const bytes = Buffer.allocUnsafeSlow(this.length)
    this.#buffer.copy(bytes, 0, 0, this.length)
    this.clear()
    return bytes
  }

  /** Begins a message of this type, one letter. */
  begin(type: string): void {
    this.#reserve(5)
    this.#start = this.length
    this.#buffer[this.length] = type.charCodeAt(0)
    this.length += 5
  }

  /** Ends the message: its length is known. */
  end(): void {
    this.#buffer.writeInt32BE(this.length - this.#start - 1, this.#start + 1)
    this.#start = -1
  }

  int8(value: number): void {
    this.#reserve(1)
    this.#buffer[this.length++] = value
  }

  int16(value: number): void {
    this.#reserve(2)
    this.length = this.#buffer.writeInt16BE(value, this.length)
  }

  /** How many parts follow, up to 65,535. */
  count(value: number): void {
    this.#reserve(2)
    this.length = this.#buffer.writeUInt16BE(value, this.length)
  }

  int32(value: number): void {
    this.#reserve(4)
    this.length = this.#buffer.writeInt32BE(value, this.length)
  }

  /** An oid, which has no sign. */
  oid(value: number): void {
    this.#reserve(4)
    this.length = this.#buffer.writeUInt32BE(value, this.length)
  }

  /** Text that ends with a zero byte. A zero byte in it becomes a space. */
  text(value: string): void {
    const clean = value.includes('\0') ? value.replaceAll('\0', ' ') : value
    this.#reserve(bytesMaxOf(clean) + 1)
    this.length += this.#buffer.write(clean, this.length)
    this.#buffer[this.length++] = 0
  }

  /** Bytes as they are. */
  bytes(value: Uint8Array): void {
    this.#reserve(value.length)
    this.#buffer.set(value, this.length)
    this.length += value.length
  }

  /** A value with its length before it; null has the length −1. */
  value(value: string | Uint8Array | null): void {
    if (value === null) return this.int32(-1)
    if (typeof value !== 'string') {
      this.int32(value.length)
      return this.bytes(value)
    }
    this.#reserve(bytesMaxOf(value) + 4)
    const bytes = this.#buffer.write(value, this.length + 4)
    this.#buffer.writeInt32BE(bytes, this.length)
    this.length += bytes + 4
  }

  /** A whole message without further parts. */
  empty(type: string): void {
    this.begin(type)
    this.end()
  }

  /** A row of one column with the digits of the first id of `run`. */
  idRow(run: Run): void {
    this.#reserve(idRowBytesMax)
    const start = this.length
    const buffer = this.#buffer
    const end = writeDecimal(buffer, start + 11, run.hi, run.lo)
    const digits = end - start - 11
    buffer[start] = dataRow
    buffer[start + 1] = 0
    buffer[start + 2] = 0
    buffer[start + 3] = 0
    buffer[start + 4] = digits + 10
    buffer[start + 5] = 0
    buffer[start + 6] = 1
    buffer[start + 7] = 0
    buffer[start + 8] = 0
    buffer[start + 9] = 0
    buffer[start + 10] = digits
    this.length = end
  }

  /** A row of one column with the 8 bytes of the first id of `run`. */
  binaryIdRow(run: Run): void {
    this.begin('D')
    this.int16(1)
    this.int32(8)
    this.oid(run.hi)
    this.oid(run.lo)
    this.end()
  }

  /** Throws SqlError 54000 if the message that is being written would be too long. */
  #reserve(bytes: number): void {
    const wanted = this.length + bytes
    if (this.#start >= 0 && wanted - this.#start > messageMaxBytes) throw tooLong()
    if (wanted <= this.#buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, this.#buffer.length * 2))
    this.#buffer.copy(larger, 0, 0, this.length)
    this.#buffer = larger
  }
}

function bytesMaxOf(text: string): number {
  return text.length > guessedLengthMax ? Buffer.byteLength(text) : text.length * 3
}

function tooLong(): SqlError {
  return new SqlError(
    '54000',
    `a row, or a description of columns, has at most ${messageMaxBytes} bytes; select fewer or shorter columns`,
  )
}
