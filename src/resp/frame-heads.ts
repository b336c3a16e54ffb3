/**
 * The heads of the requests that `in-place.ts` answers, compared four bytes at a time. A request of any other form, also
 * one that the decoder reads as the same, is `nothing`: it takes the ordinary way.
 */

/** No request of these commands. */
export const nothing = 0
/** INCR. */
export const incr = 1
/** INCRBY. */
export const incrBy = 2
/** ID.NEXT of one id. */
export const next = 3
/** ID.RUNS. */
export const runs = 4
/** GET. */
export const get = 5

/** The names of the commands, as in the table of commands. */
export const commandNames: ReadonlyMap<number, string> = new Map([
  [incr, 'incr'],
  [incrBy, 'incrby'],
  [next, 'id.next'],
  [runs, 'id.runs'],
  [get, 'get'],
])

/** How many bytes stand before the length of the name, by command. */
export const headOf = Uint8Array.of(0, 14, 16, 17, 17, 13)

/** `*2 $3 GET $1 a`, the shortest. */
const shortestBytes = 20
/** `$1 a` and its line ends: what has to stand behind the head at least. */
const shortestArgument = 7

const two = word('*2\r\n')
const three = word('*3\r\n')
const length3 = word('$3\r\n')
const length4 = word('$4\r\n')
const length6 = word('$6\r\n')
const length7 = word('$7\r\n')
const incrWord = word('incr')
const byWord = word('by')
const idNWord = word('id.n')
const extWord = word('ext')
const idRWord = word('id.r')
const unsWord = word('uns')
const getWord = word('get')
/** Turn letters into lower case. No other byte becomes a letter of these commands. */
const lower4 = 0x20202020
const lower3 = 0x202020
const lower2 = 0x2020
/** Leaves the point alone. */
const lowerDotted = 0x20002020

const dollar = 36
const carriageReturn = 13
const zero = 48

/** Which command the request at `at` has. */
export function commandAt(view: DataView, at: number, end: number): number {
  if (end - at < shortestBytes) return nothing
  const count = view.getInt32(at, true)
  const length = view.getInt32(at + 4, true)
  const first = view.getInt32(at + 8, true)
  if (count === two) {
    if (length === length4) return (first | lower4) === incrWord ? incr : nothing
    if (length === length3) return ((first & 0xffffff) | lower3) === getWord ? get : nothing
    const isNext =
      length === length7 && (first | lowerDotted) === idNWord && threeAt(view, at + 12) === extWord
    return isNext ? next : nothing
  }
  if (count !== three) return nothing
  if (length === length6) {
    const isBy = (first | lower4) === incrWord && (view.getUint16(at + 12, true) | lower2) === byWord
    return isBy ? incrBy : nothing
  }
  const isRuns = length === length7 && (first | lowerDotted) === idRWord && threeAt(view, at + 12) === unsWord
  return isRuns ? runs : nothing
}

function threeAt(view: DataView, at: number): number {
  return (view.getInt32(at, true) & 0xffffff) | lower3
}

/** The length of the argument at `at`, 1 to 999; 0: there is none, or it is not whole. */
export function lengthAt(bytes: Uint8Array, at: number, end: number): number {
  if (at + shortestArgument > end || bytes[at] !== dollar) return 0
  let length = bytes[at + 1]! - zero
  if (length < 1 || length > 9) return 0
  for (let from = at + 2; from < at + 5; from++) {
    const digit = bytes[from]! - zero
    if (digit === carriageReturn - zero) return length
    if (digit < 0 || digit > 9) return 0
    length = length * 10 + digit
  }
  return 0
}

/** The number at `at`, an argument of 1 to 9 digits; 0: it is another one, or not whole. */
export function countAt(bytes: Uint8Array, at: number, end: number): number {
  if (at + shortestArgument > end || bytes[at] !== dollar || bytes[at + 2] !== carriageReturn) return 0
  const digits = bytes[at + 1]! - zero
  if (digits < 1 || digits > 9 || at + digits + 6 > end || bytes[at + 4] === zero) return 0
  let count = 0
  for (let from = at + 4; from < at + 4 + digits; from++) {
    const digit = bytes[from]! - zero
    if (digit < 0 || digit > 9) return 0
    count = count * 10 + digit
  }
  return count
}

/** How often the bytes from `start` to `next` stand again behind them, at most `most` times. */
export function repeatsOf(view: DataView, start: number, next: number, end: number, most: number): number {
  const length = next - start
  let count = 0
  for (let from = next; from + length <= end && count < most; from += length) {
    // Backwards: requests differ most often in the last bytes of the name.
    let offset = length - 4
    while (offset > 0 && view.getInt32(from + offset, true) === view.getInt32(start + offset, true))
      offset -= 4
    if (offset > 0 || view.getInt32(from, true) !== view.getInt32(start, true)) break
    count++
  }
  return count
}

function word(text: string): number {
  return [...text].reduceRight((value, letter) => (value << 8) | letter.charCodeAt(0), 0)
}
