/** Inline commands: a line of words, as typed into telnet. */

const space = 32
const quote = 34
const apostrophe = 39
const backslash = 92
const escapes: Readonly<Record<number, number>> = { 110: 10, 114: 13, 116: 9, 98: 8, 97: 7 }

/**
 * Splits a line into words by Redis's rules (sds.c, sdssplitargs): double quotes with `\n \r \t \b \a \xHH`,
 * single quotes with `\'`, a closing quote ends its word, a zero byte ends the line.
 * Undefined when quotes are not balanced.
 */
export function splitLine(line: Uint8Array): Uint8Array[] | undefined {
  const zero = line.indexOf(0)
  const end = zero < 0 ? line.length : zero
  const words: Uint8Array[] = []
  // One copy for all words: together they are at most as long as the line.
  const copy = new Uint8Array(end)
  let used = 0
  let at = 0
  while (true) {
    while (at < end && isSpace(line[at]!)) at++
    if (at === end) return words
    const word = new WordReader(line, at, end, copy.subarray(used))
    if (!word.read()) return undefined
    words.push(word.bytes())
    used += word.length
    at = word.at
  }
}

/** Whether a request is HTTP: sent by a client that was tricked into it, or to the wrong port. */
export function isHttp(words: readonly Uint8Array[]): boolean {
  if (words.length === 0) return false
  const first = lowerText(words[0]!)
  if (first === 'post' || first === 'host:') return true
  return words.length > 1 && /^http\/\d/.test(lowerText(words.at(-1)!))
}

function lowerText(bytes: Uint8Array): string {
  return bytes.length > 16 ? '' : String.fromCharCode(...bytes).toLowerCase()
}

class WordReader {
  at: number
  readonly #line: Uint8Array
  readonly #end: number
  /** Bytes of the word up to here. */
  length = 0
  readonly #room: Uint8Array

  /** @param room where the word is written. */
  constructor(line: Uint8Array, at: number, end: number, room: Uint8Array) {
    this.#line = line
    this.at = at
    this.#end = end
    this.#room = room
  }

  bytes(): Uint8Array {
    return this.#room.subarray(0, this.length)
  }

  /** False if a quote is not closed, or a byte adjoins the closing one. */
  read(): boolean {
    while (this.at < this.#end) {
      const byte = this.#line[this.at]!
      // As in Redis, vertical tab and form feed separate words, but do not end one.
      if (byte === space || (byte >= 9 && byte <= 13 && byte !== 11 && byte !== 12)) return true
      this.at++
      if (byte === quote) return this.#quoted()
      if (byte === apostrophe) return this.#singleQuoted()
      this.#push(byte)
    }
    return true
  }

  #quoted(): boolean {
    while (this.at < this.#end) {
      const byte = this.#line[this.at++]!
      if (byte === quote) return this.#endsHere()
      if (byte === backslash && this.at < this.#end) this.#escape()
      else this.#push(byte)
    }
    return false
  }

  #escape(): void {
    const byte = this.#line[this.at++]!
    const high = hexDigit(this.#line[this.at])
    const low = hexDigit(this.#line[this.at + 1])
    if (byte === 120 && this.at + 1 < this.#end && high >= 0 && low >= 0) {
      this.at += 2
      this.#push(high * 16 + low)
    } else {
      this.#push(escapes[byte] ?? byte)
    }
  }

  #singleQuoted(): boolean {
    while (this.at < this.#end) {
      const byte = this.#line[this.at++]!
      if (byte === apostrophe) return this.#endsHere()
      if (byte === backslash && this.at < this.#end && this.#line[this.at] === apostrophe) {
        this.at++
        this.#push(apostrophe)
      } else {
        this.#push(byte)
      }
    }
    return false
  }

  #push(byte: number): void {
    this.#room[this.length++] = byte
  }

  #endsHere(): boolean {
    return this.at === this.#end || isSpace(this.#line[this.at]!)
  }
}

function isSpace(byte: number): boolean {
  return byte === space || (byte >= 9 && byte <= 13)
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 48 && byte <= 57) return byte - 48
  const lower = byte | 0x20
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}
