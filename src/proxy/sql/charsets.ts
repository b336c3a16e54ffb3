/**
 * How a client's character set divides bytes into characters, as far as reading SQL depends on it.
 *
 * The byte ranges are those of MySQL's and MariaDB's own functions (`strings/ctype-*.c`, `ismbchar_*`). In UTF-8 no byte
 * of a longer character is an ASCII byte, so UTF-8 is read byte by byte.
 */
import { shortText } from './short-texts.ts'

/** What a byte is outside of quotes and comments. */
export const byteClass = { other: 0, space: 1, letter: 2, digit: 3, odd: 4 } as const

/** A client's character set. */
export type Charset = {
  readonly name: string
  /** A `byteClass` for each byte. Letters are all bytes that unquoted names consist of, but for digits. */
  readonly classes: Uint8Array
  /** Length of the character of several bytes that starts at `at`; 0 if none does. Absent: bytes are read one by one. */
  readonly lengthAt: ((bytes: Buffer, at: number, end: number) => number) | undefined
  /** Whether every byte from 0x80 on belongs to a character of UTF-8. */
  readonly isUtf8: boolean
  /** Whether statements in it can be read at all. */
  readonly isKnown: boolean
  /** The text of the bytes from `start` to `end`; undefined where the proxy has no table of the characters. */
  decode(bytes: Buffer, start: number, end: number): string | undefined
}

type Lengths = NonNullable<Charset['lengthAt']>

const inside = (byte: number | undefined, first: number, last: number) =>
  byte !== undefined && byte >= first && byte <= last

/** Characters of two bytes: the first in one range, the second in one of several. */
function twoBytes(first: number, last: number, ...seconds: readonly (readonly [number, number])[]): Lengths {
  return (bytes, at, end) => {
    if (at + 2 > end || !inside(bytes[at], first, last)) return 0
    return seconds.some(([low, high]) => inside(bytes[at + 1], low, high)) ? 2 : 0
  }
}

const gbk = twoBytes(0x81, 0xfe, [0x40, 0x7e], [0x80, 0xfe])
const big5 = twoBytes(0xa1, 0xf9, [0x40, 0x7e], [0xa1, 0xfe])
const gb2312 = twoBytes(0xa1, 0xf7, [0xa1, 0xfe])
const euckr = twoBytes(0x81, 0xfe, [0x41, 0x5a], [0x61, 0x7a], [0x81, 0xfe])
const sjisLow = twoBytes(0x81, 0x9f, [0x40, 0x7e], [0x80, 0xfc])
const sjisHigh = twoBytes(0xe0, 0xfc, [0x40, 0x7e], [0x80, 0xfc])
const sjis: Lengths = (bytes, at, end) => sjisLow(bytes, at, end) || sjisHigh(bytes, at, end)

const ujis: Lengths = (bytes, at, end) => {
  const first = bytes[at]
  if (at + 2 > end || !inside(bytes[at + 1], 0xa1, first === 0x8e ? 0xdf : 0xfe)) return 0
  if (first === 0x8e || inside(first, 0xa1, 0xfe)) return 2
  return first === 0x8f && at + 3 <= end && inside(bytes[at + 2], 0xa1, 0xfe) ? 3 : 0
}

const gb18030: Lengths = (bytes, at, end) => {
  const two = gbk(bytes, at, end)
  if (two > 0) return two
  if (at + 4 > end || !inside(bytes[at], 0x81, 0xfe) || !inside(bytes[at + 1], 0x30, 0x39)) return 0
  return inside(bytes[at + 2], 0x81, 0xfe) && inside(bytes[at + 3], 0x30, 0x39) ? 4 : 0
}

/** Sets with characters of several bytes: how long these are, and what the WHATWG's encodings call the set. */
const multiByte: Readonly<Record<string, readonly [Lengths, string]>> = {
  gbk: [gbk, 'gbk'],
  big5: [big5, 'big5'],
  gb2312: [gb2312, 'gbk'],
  euckr: [euckr, 'euc-kr'],
  sjis: [sjis, 'shift_jis'],
  cp932: [sjis, 'shift_jis'],
  ujis: [ujis, 'euc-jp'],
  eucjpms: [ujis, 'euc-jp'],
  gb18030: [gb18030, 'gb18030'],
}

/** Sets of single bytes, and what the WHATWG's encodings call them. MySQL's latin1 is Windows-1252. */
const singleByte: Readonly<Record<string, string | undefined>> = {
  ascii: undefined,
  binary: undefined,
  latin1: 'windows-1252',
  latin2: 'iso-8859-2',
  latin5: 'iso-8859-9',
  latin7: 'iso-8859-13',
  greek: 'iso-8859-7',
  hebrew: 'iso-8859-8',
  cp1250: 'windows-1250',
  cp1251: 'windows-1251',
  cp1256: 'windows-1256',
  cp1257: 'windows-1257',
  cp850: undefined,
  cp852: undefined,
  cp866: 'ibm866',
  dec8: undefined,
  hp8: undefined,
  koi8r: 'koi8-r',
  koi8u: 'koi8-u',
  macce: undefined,
  macroman: 'macintosh',
  armscii8: undefined,
  geostd8: undefined,
  keybcs2: undefined,
  tis620: 'windows-874',
}

const known = new Map<string, Charset>()

/** The character set of a name that `@@character_set_client` may have. An unknown one has `isKnown` false. */
export function charsetOf(name: string): Charset {
  const key = name.toLowerCase()
  let charset = known.get(key)
  if (!charset) {
    charset = create(key)
    // The names come from clients: only those in the tables are kept.
    if (charset.isKnown) known.set(key, charset)
  }
  return charset
}

function create(name: string): Charset {
  if (/^utf8(?:mb[34])?$/.test(name))
    return build(name, { high: () => byteClass.letter, isUtf8: true, encoding: 'utf-8' })
  const several = Object.hasOwn(multiByte, name) ? multiByte[name] : undefined
  // A character's first byte is never odd by itself: the reader asks for its length first.
  if (several) return build(name, { high: () => byteClass.odd, lengthAt: several[0], encoding: several[1] })
  if (!Object.hasOwn(singleByte, name)) return build(name, { high: () => byteClass.odd, isKnown: false })
  const encoding = singleByte[name]
  const decoder = encoding === undefined ? undefined : new TextDecoder(encoding)
  const isLetter = (byte: number) =>
    decoder !== undefined && /\p{L}/u.test(decoder.decode(Uint8Array.of(byte)))
  return build(name, {
    high: (byte) => (isLetter(byte) ? byteClass.letter : byteClass.odd),
    ...(encoding !== undefined && { encoding }),
  })
}

type Parts = {
  readonly high: (byte: number) => number
  readonly lengthAt?: Lengths
  readonly encoding?: string
  readonly isUtf8?: boolean
  readonly isKnown?: boolean
}

function build(name: string, parts: Parts): Charset {
  const decoder = parts.encoding === undefined ? undefined : new TextDecoder(parts.encoding)
  return {
    name,
    classes: Uint8Array.from({ length: 256 }, (_, byte) =>
      byte < 0x80 ? asciiClass(byte) : parts.high(byte),
    ),
    lengthAt: parts.lengthAt,
    isUtf8: parts.isUtf8 ?? false,
    isKnown: parts.isKnown ?? true,
    decode: (bytes, start, end) =>
      isAscii(bytes, start, end) ? shortText(bytes, start, end) : decoder?.decode(bytes.subarray(start, end)),
  }
}

function isAscii(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at]! >= 0x80) return false
  return true
}

function asciiClass(byte: number): number {
  if (byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)) return byteClass.space
  const char = String.fromCharCode(byte)
  if (/[0-9]/.test(char)) return byteClass.digit
  return /[A-Za-z_$]/.test(char) ? byteClass.letter : byteClass.other
}
