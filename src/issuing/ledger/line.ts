/** The line of one number in a ledger, and its text in the store. */
import { FahaoError } from '../../base/errors.ts'

/**
 * What has become of a number. `held`: reserved, and not yet confirmed; `free`: cancelled or lapsed, and reserved next; `confirmed`;
 * `void`: never used; `unknown`: the store forgot.
 */
export type LineState = 'held' | 'free' | 'confirmed' | 'void' | 'unknown'

/** One number. */
export type Line = {
  readonly state: LineState
  /** The secret part of its newest reservation. */
  readonly secret?: string | undefined
  /** Of a number that is held: for how long, in ms. */
  readonly holdMs?: number | undefined
  /** What it is for, in the words of the caller. */
  readonly ref?: string | undefined
  /** The hash of the caller's key. */
  readonly key?: string | undefined
  /** When it last changed, in Unix ms, and by which user. */
  readonly atMs: number
  readonly by: string
  /** Why it is void or unknown. */
  readonly why?: string | undefined
}

/** Who changes a line, and when. */
export type Change = {
  /** For holds. Of this process. */
  readonly monoUs: number
  readonly atMs: number
  readonly by: string
}

/** How many characters and bytes the reference of a reservation and the reason of a void have at most. */
export const textMax = 100
const textBytesMax = 300
/** How many bytes of a user's name are kept. */
const userBytesMax = 200
/** How many bytes a line takes at most. */
export const lineBytesMax = 1000

const letters: Readonly<Record<LineState, string>> = {
  held: 'h',
  free: 'f',
  confirmed: 'c',
  void: 'v',
  unknown: 'u',
}
const states = new Map(Object.entries(letters).map(([state, letter]) => [letter, state as LineState]))

/** Throws ERR for a reference or a reason that a line has no room for. */
export function checkText(what: string, text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are refused
  const isPlain = !/[\u0000-\u001f\u007f\p{Cs}]/u.test(text)
  if (isPlain && text.length <= textMax && jsonBytes(text) <= textBytesMax) return text
  throw new FahaoError(
    'ERR',
    `${what} must have at most ${textMax} characters and ${textBytesMax} bytes, and no control characters`,
  )
}

/** The name of a user as a line keeps it. */
export function shortUser(user: string): string {
  let short = user.slice(0, userBytesMax)
  while (jsonBytes(short) > userBytesMax) short = short.slice(0, -1)
  return short
}

/** The text of a line in its page. */
export function writeLine({ state, secret, holdMs, ref, key, atMs, by, why }: Line): string {
  return JSON.stringify({ s: letters[state], t: secret, h: holdMs, r: ref, k: key, a: atMs, u: by, w: why })
}

/** Reads what `writeLine` has written. Throws on anything else. */
export function readLine(stored: Readonly<Record<string, unknown>>): Line {
  const state = states.get(stored.s as string)
  if (state === undefined) throw new Error(`no state of a line: ${stored.s}`)
  const { t, h, r, k, a, u, w } = stored as StoredLine
  return { state, secret: t, holdMs: h, ref: r, key: k, atMs: a, by: u, why: w }
}

type StoredLine = {
  readonly t?: string
  readonly h?: number
  readonly r?: string
  readonly k?: string
  readonly a: number
  readonly u: string
  readonly w?: string
}

/** Whether nothing but a void can change a line. */
export function isFinal({ state }: Line): boolean {
  return state !== 'held' && state !== 'free'
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2
}

/** The error for a reservation that does not hold. `line`: of its number, if that is still its own. */
export function lapsed(number: bigint, line: Line | undefined): FahaoError {
  const why =
    line?.state === 'void' || line?.state === 'unknown'
      ? `number ${number} is ${line.state}: ${line.why}`
      : `the reservation of ${number} has lapsed or was cancelled, and the number may go to another caller`
  return new FahaoError('LAPSED', `${why}; reserve another one, and do not use this one`)
}

/** The error for a close while `count` numbers are held. */
export function stillHeld(count: number, lowest: bigint): FahaoError {
  return new FahaoError(
    'CONFLICT',
    `${count} numbers are held, the lowest is ${lowest}; have them confirmed, cancelled or voided, or wait until their holds end, and retry`,
  )
}

/** When a line changes, and by which user. */
export function stamp({ atMs, by }: Change): Pick<Line, 'atMs' | 'by'> {
  return { atMs, by }
}
