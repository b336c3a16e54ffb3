/** RESP2 and RESP3 replies as simple JavaScript values, by the published grammar of each. */

/**
 * Integers and big numbers are bigint, always; simple, bulk and verbatim strings are string; both nils are
 * null; doubles are number; sets are Set, maps are Map.
 */
export type RawReply =
  | bigint
  | string
  | null
  | boolean
  | number
  | ReplyError
  | PushReply
  | readonly RawReply[]
  | ReadonlySet<RawReply>
  | ReadonlyMap<RawReply, RawReply>

/** An error reply: a value, not thrown. */
export class ReplyError {
  /** The whole line, without the dash. */
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  /** Its first word. */
  get code(): string {
    return this.text.split(' ', 1)[0]!
  }
}

/** RESP3's out-of-band message. */
export class PushReply {
  readonly items: readonly RawReply[]
  constructor(items: readonly RawReply[]) {
    this.items = items
  }
}

type Parsed = { readonly reply: RawReply; readonly end: number }

/** The reply that starts at `at`, and where it ends; undefined while it is incomplete. Throws on other bytes. */
export function parseReply(bytes: Buffer, at = 0): Parsed | undefined {
  const lineEnd = bytes.indexOf('\r\n', at)
  if (lineEnd < 0) return undefined
  const type = String.fromCharCode(bytes[at]!)
  const line = bytes.toString('utf8', at + 1, lineEnd)
  const end = lineEnd + 2
  switch (type) {
    case '+':
      return { reply: line, end }
    case '-':
      return { reply: new ReplyError(line), end }
    case ':':
    case '(':
      return { reply: BigInt(line), end }
    case '_':
      return { reply: null, end }
    case '#':
      return { reply: line === 't', end }
    case ',':
      return { reply: parseDouble(line), end }
    case '$':
    case '=':
    case '!':
      return bulk(bytes, type, Number(line), end)
    case '*':
    case '~':
    case '>':
    case '%':
      return aggregate(bytes, type, Number(line), end)
    default:
      throw new Error(`no reply starts with '${type}': '${bytes.toString('latin1', at, at + 60)}'`)
  }
}

function parseDouble(text: string): number {
  if (text === 'inf') return Number.POSITIVE_INFINITY
  return text === '-inf' ? Number.NEGATIVE_INFINITY : Number(text)
}

function bulk(bytes: Buffer, type: string, length: number, start: number): Parsed | undefined {
  if (length < 0) return { reply: null, end: start }
  const end = start + length + 2
  if (bytes.length < end) return undefined
  const text = bytes.toString('utf8', start, start + length)
  if (type === '!') return { reply: new ReplyError(text), end }
  return { reply: type === '=' ? text.slice(4) : text, end }
}

function aggregate(bytes: Buffer, type: string, length: number, start: number): Parsed | undefined {
  if (length < 0) return { reply: null, end: start }
  const items: RawReply[] = []
  let end = start
  for (let left = type === '%' ? 2 * length : length; left > 0; left--) {
    const item = parseReply(bytes, end)
    if (!item) return undefined
    items.push(item.reply)
    end = item.end
  }
  if (type === '~') return { reply: new Set(items), end }
  if (type === '>') return { reply: new PushReply(items), end }
  return { reply: type === '%' ? pairs(items) : items, end }
}

function pairs(items: readonly RawReply[]): ReadonlyMap<RawReply, RawReply> {
  const map = new Map<RawReply, RawReply>()
  for (let at = 0; at < items.length; at += 2) map.set(items[at]!, items[at + 1]!)
  return map
}
