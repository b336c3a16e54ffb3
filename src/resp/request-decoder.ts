/**
 * Bytes → requests: RESP arrays of bulk strings, and inline commands, in whatever pieces they arrive.
 *
 * Invariants
 *  1. No bytes make it throw.
 *  2. The same bytes give the same requests and the same error, however they are cut into chunks.
 *  3. An unfinished request is at most `requestMaxBytes` + `inlineMaxBytes` long, and its buffer twice that;
 *     more is held only if bytes are pushed without calls of `next`.
 *  4. Bytes that were pushed are never moved within a buffer nor overwritten: views of them stay valid.
 *  5. After an error nothing more is decoded.
 */
import { isHttp, splitLine } from './inline.ts'
import type { RespLimits } from './limits.ts'

/** How large a request may be. */
export type DecoderLimits = Pick<
  RespLimits,
  'inlineMaxBytes' | 'bulkMaxBytes' | 'argumentsMax' | 'requestMaxBytes'
> & {
  /** Whether errors name Redis's limits before AUTH, instead of those after it. */
  readonly unauthenticated?: boolean
}

/**
 * What there is next. `frame`: a request, see `parts`. `more`: nothing until more bytes are pushed.
 * `error`: the protocol is broken, see `failure`. `http`: the client speaks HTTP, and must get no reply.
 */
export type Decoded = 'frame' | 'more' | 'error' | 'http'

const asterisk = 42
const dollar = 36
/** The first byte of a TLS connection (RFC 8446, 5.1): no command begins with it. */
const tlsHandshake = 22
const newline = 10
const carriageReturn = 13
const nothing = Buffer.alloc(0)
const shortBytesMax = 16_384

/** Results of reading a length that are not a length. */
const incomplete = -1
const tooLong = -2
const negative = -3
const malformed = -4

/** Decodes one connection's requests. */
export class Decoder {
  /** Limits that apply from the next length that is read. */
  limits: DecoderLimits
  /** The text after `ERR `, once `next` said `error`. */
  failure = ''
  #buffer: Buffer = nothing
  #view: DataView | undefined
  /** Where the bytes of #buffer end; the rest of an own buffer is free. */
  #end = 0
  /** Where the current request starts. */
  #start = 0
  #ownBuffer = false
  /** The last request's first byte. */
  #frameStart = 0
  /** Progress of the current request: what to read next, arguments to come (-1: unknown), length of the next. */
  #at = 0
  #missing = -1
  #bulkBytes = -1
  #afterLine = 0
  /** First and past-the-last byte of each argument. */
  readonly #bounds: number[] = []
  #count = 0
  #words: Uint8Array[] | undefined

  constructor(limits: DecoderLimits) {
    this.limits = limits
  }

  /** How many bytes have been pushed and not been decoded. */
  get pendingBytes(): number {
    return this.#end - this.#start
  }

  /** `pendingBytes`, or 0 if they are few: what the budget of all connections counts. */
  get longBytes(): number {
    return this.pendingBytes > shortBytesMax ? this.pendingBytes : 0
  }

  /** Adds bytes. The caller must not change them. */
  push(chunk: Buffer): void {
    if (this.#start === this.#end) {
      this.#use(chunk, chunk.length, false)
      return
    }
    const bytes = this.pendingBytes + chunk.length
    if (!this.#ownBuffer || this.#end + chunk.length > this.#buffer.length) this.#copyTail(bytes)
    chunk.copy(this.#buffer, this.#end)
    this.#end += chunk.length
  }

  /** Drops everything that has not been decoded. */
  clear(): void {
    this.#use(nothing, 0, false)
    this.#reset(0)
  }

  /** Reads on to the end of the next request. */
  next(): Decoded {
    while (this.failure === '') {
      if (this.#missing < 0) {
        if (this.#start === this.#end) return this.#more()
        this.#count = 0
        this.#words = undefined
        const first = this.#buffer[this.#start] === asterisk ? this.#header() : this.#inline()
        if (first !== 'again') return first
        continue
      }
      const bulks = this.#bulks()
      if (bulks === 'frame') this.#finish(this.#at)
      return bulks
    }
    return 'error'
  }

  /** Whether the last request was an inline command. */
  get inline(): boolean {
    return this.#words !== undefined
  }

  /** The arguments of the last request, its command's own word first. Views, not copies. */
  parts(): Uint8Array[] {
    if (this.#words !== undefined) return this.#words
    const { buffer, byteOffset } = this.#buffer
    const parts: Uint8Array[] = new Array(this.#count)
    for (let index = 0; index < this.#count; index++) {
      const start = this.#bounds[index * 2]!
      parts[index] = new Uint8Array(buffer, byteOffset + start, this.#bounds[index * 2 + 1]! - start)
    }
    return parts
  }

  /** The bytes of the last request. A view, not a copy. */
  frame(): Buffer {
    return this.#buffer.subarray(this.#frameStart, this.#start)
  }

  /** Whether the next byte begins a request. */
  get isBetween(): boolean {
    return this.#missing < 0 && this.failure === ''
  }

  /** Where in `bytes` the next request begins, and where what has been pushed ends. */
  get at(): number {
    return this.#start
  }

  get end(): number {
    return this.#end
  }

  /** The buffer of what has been pushed and not been decoded. */
  get bytes(): Buffer {
    return this.#buffer
  }

  /** A view of `bytes`. */
  get view(): DataView {
    const { buffer, byteOffset, length } = this.#buffer
    this.#view ??= new DataView(buffer, byteOffset, length)
    return this.#view
  }

  /** Counts what stands before `at` as decoded. */
  skipTo(at: number): void {
    this.#reset(at)
    if (at === this.#end) this.#use(nothing, 0, false)
  }

  /** `*n`: how many arguments follow. */
  #header(): Decoded | 'again' {
    const count = this.#length(this.#start + 1)
    if (count === incomplete) return this.#more()
    if (count === tooLong) return this.#fail('too big mbulk count string')
    if (count === malformed) return this.#fail('invalid multibulk length')
    if (count > this.limits.argumentsMax) {
      return this.#failLength('multibulk', count, 2 ** 31 - 1)
    }
    if (count === negative || count === 0) {
      this.#reset(this.#afterLine)
      return 'again'
    }
    this.#missing = count
    this.#at = this.#afterLine
    return 'again'
  }

  /** `$n` and n bytes, for each argument that is missing. */
  #bulks(): Decoded {
    while (this.#missing > 0) {
      if (this.#bulkBytes < 0) {
        const outcome = this.#bulkHeader()
        if (outcome !== 'frame') return outcome
      }
      const bulkEnd = this.#at + this.#bulkBytes
      // As in Redis, any two bytes stand for CR LF here.
      if (bulkEnd + 2 > this.#end) return this.#more()
      this.#bounds[this.#count * 2] = this.#at
      this.#bounds[this.#count * 2 + 1] = bulkEnd
      this.#count++
      this.#at = bulkEnd + 2
      this.#bulkBytes = -1
      this.#missing--
    }
    return 'frame'
  }

  #bulkHeader(): Decoded {
    if (this.#at === this.#end) return this.#more()
    const first = this.#buffer[this.#at]!
    if (first !== dollar) return this.#fail(`expected '$', got '${String.fromCharCode(first)}'`)
    const bytes = this.#length(this.#at + 1)
    if (bytes === incomplete) return this.#more()
    if (bytes === tooLong) return this.#fail('too big bulk count string')
    if (bytes < 0) return this.#fail('invalid bulk length')
    if (bytes > this.limits.bulkMaxBytes) {
      return this.#failLength('bulk', bytes, 2 ** 29)
    }
    if (this.#afterLine + bytes + 2 - this.#start > this.limits.requestMaxBytes) {
      return this.#fail('too big request')
    }
    this.#bulkBytes = bytes
    this.#at = this.#afterLine
    return 'frame'
  }

  #inline(): Decoded | 'again' {
    if (this.#buffer[this.#start] === tlsHandshake) return this.#fail('this port does not speak TLS')
    const found = this.#find(newline, this.#start)
    if (found === tooLong) return this.#fail('too big inline request')
    if (found === incomplete) return this.#more()
    const lineEnd = found > this.#start && this.#buffer[found - 1] === carriageReturn ? found - 1 : found
    const words = splitLine(this.#buffer.subarray(this.#start, lineEnd))
    if (words === undefined) return this.#fail('unbalanced quotes in request')
    if (words.length > this.limits.argumentsMax) return this.#fail('too big inline request')
    if (isHttp(words)) {
      this.failure = 'HTTP'
      return 'http'
    }
    if (words.length === 0) {
      this.#reset(found + 1)
      return 'again'
    }
    this.#finish(found + 1)
    this.#words = words
    return 'frame'
  }

  /** Reads a length and sets #afterLine behind its line. */
  #length(from: number): number {
    const buffer = this.#buffer
    const last = from + 9
    let at = from
    let value = 0
    let byte = at < this.#end ? buffer[at]! : 0
    while (byte >= 48 && byte <= 57 && at < last) {
      value = value * 10 + byte - 48
      at++
      byte = at < this.#end ? buffer[at]! : 0
    }
    const plain = at > from && (buffer[from] !== 48 || at === from + 1)
    if (!plain || byte !== carriageReturn || at + 1 >= this.#end) return this.#oddLength(from)
    this.#afterLine = at + 2
    return value
  }

  /** Reads a length that is anything but a short number on a whole line. */
  #oddLength(from: number): number {
    const lineEnd = this.#find(carriageReturn, from)
    if (lineEnd < 0) return lineEnd
    if (lineEnd + 1 === this.#end) return incomplete
    this.#afterLine = lineEnd + 2
    const text = lineEnd - from > 20 ? '' : this.#buffer.toString('latin1', from, lineEnd)
    if (!/^(?:0|-?[1-9][0-9]*)$/.test(text)) return malformed
    const value = Number(text)
    // A length past 2^53 is not exact, but every limit is far lower, so that comparing it with a limit is still right.
    return value < 0 ? negative : value
  }

  #find(byte: number, from: number): number {
    const found = this.#buffer.indexOf(byte, from)
    const missing = found < 0 || found >= this.#end
    const bytes = (missing ? this.#end : found) - from
    if (bytes > this.limits.inlineMaxBytes) return tooLong
    return missing ? incomplete : found
  }

  #finish(end: number): void {
    const count = this.#count
    this.#frameStart = this.#start
    this.#reset(end)
    this.#count = count
  }

  #reset(start: number): void {
    this.#start = start
    this.#missing = -1
    this.#bulkBytes = -1
    this.#count = 0
  }

  /** `redisMax`: the limit that Redis has for every client. */
  #failLength(what: string, length: number, redisMax: number): Decoded {
    const isUnauthenticated = this.limits.unauthenticated === true && length <= redisMax
    return this.#fail(`${isUnauthenticated ? 'unauthenticated' : 'invalid'} ${what} length`)
  }

  #fail(text: string): Decoded {
    this.failure = `Protocol error: ${text}`
    return 'error'
  }

  /** Releases all but the unfinished request. */
  #more(): Decoded {
    if (this.#start === this.#end) this.#use(nothing, 0, false)
    else if (!this.#ownBuffer) this.#copyTail(this.pendingBytes)
    return 'more'
  }

  /** Moves what is not decoded to the start of a new buffer with room for `bytes` and as much again. */
  #copyTail(bytes: number): void {
    const own = Buffer.allocUnsafeSlow(bytes * 2)
    this.#buffer.copy(own, 0, this.#start, this.#end)
    this.#use(own, this.#end - this.#start, true)
  }

  /** Goes on in `buffer`, in which the current request starts at 0. */
  #use(buffer: Buffer, end: number, own: boolean): void {
    const moved = this.#start
    for (let index = 0; index < this.#count * 2; index++) this.#bounds[index]! -= moved
    this.#at -= moved
    this.#start = 0
    this.#buffer = buffer
    this.#view = undefined
    this.#end = end
    this.#ownBuffer = own
  }
}
