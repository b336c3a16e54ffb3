/**
 * An entry of the audit trail: what was changed or refused, for which user, from where. Fields are bounded, and contain no
 * character that a terminal or a log would act on.
 */

const changeEvents = [
  'create',
  'alter',
  'drop',
  'set',
  'advance',
  'lower',
  'restore',
  'import',
  'void',
  'ledger-close',
  'cluster-move',
  'cluster-drain',
  'user-set',
  'user-deleted',
  'token-created',
  'token-revoked',
  'namespace-set',
  'namespace-deleted',
  'log-reset',
  'client-kill',
] as const

/** What is recorded of changes. */
export type ChangeEvent = (typeof changeEvents)[number]

/** Every event. `denied`: a request that the user's permissions refuse; `lost`: entries that could not be kept. */
export const auditEvents = [...changeEvents, 'login', 'login-failed', 'denied', 'lost'] as const

/** What a caller records. */
export type AuditEvent = Exclude<(typeof auditEvents)[number], 'lost'>

/**
 * The parts of the trail, by the callers that can cause entries. Each has its own bound, so none displaces those of another:
 * `changes` of administrators and of commands on the store, `user-changes` of all other users, `logins`, and `refusals`,
 * which need no login.
 */
export const trailParts = ['changes', 'user-changes', 'logins', 'refusals'] as const

/** The name of a part of the trail. */
export type TrailPart = (typeof trailParts)[number]

/** What a caller reports. */
export type Occurrence = {
  readonly event: AuditEvent
  /** The user of the request. Undefined: no user has the given name, which may be a mistyped password. */
  readonly user: string | undefined
  /** The host of the client, without its port; empty: this process. */
  readonly address: string
  /** The transport: `resp`, `http`, or `cli` for a command that changes the store itself. */
  readonly door: string
  /** The generator, user, token or shard; of `denied` the command. Never a value or a secret. */
  readonly object: string
  /** One short text more, such as the refused name. Never a value or a secret. */
  readonly detail?: string | undefined
  /** Whether the caller of a change is no administrator (`Access.administers`). */
  readonly isOrdinary?: boolean
}

/** An entry as it is stored. */
export type AuditEntry = {
  /** Unique, and the same in each attempt to write it. */
  readonly id: string
  /** Unix time in µs of the newest occurrence. */
  readonly timeUs: number
  /** `host:pid` of the node that wrote it. */
  readonly node: string
  readonly user: string
  readonly address: string
  readonly door: string
  /** An `AuditEvent`; `lost`: entries that could not be kept, as many as it counts; or an event of a later version. */
  readonly event: string
  readonly object: string
  readonly detail?: string
  /** How many occurrences it stands for. */
  readonly count: number
}

/** The most bytes that an entry takes as JSON: the sum of its fields' bounds and their names. */
export const entryBytesMax = 1000

const bytesMax = {
  id: 40,
  node: 64,
  user: 256,
  address: 64,
  door: 8,
  event: 24,
  object: 256,
  detail: 128,
} as const

/** Controls, invisible characters that change how a line is shown, halves of surrogate pairs, line separators. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu
const omission = '…'

/** The entry of an occurrence. */
export function entryOf(
  { user, address, door, event, object, detail }: Omit<Occurrence, 'event'> & { readonly event: string },
  { id, timeUs, node, count }: Pick<AuditEntry, 'id' | 'timeUs' | 'node' | 'count'>,
): AuditEntry {
  const unknown = user === undefined ? ['unknown user'] : []
  const said = [...unknown, detail].filter((part) => part !== undefined).join(', ')
  return {
    id: bounded(id, bytesMax.id),
    timeUs,
    node: bounded(node, bytesMax.node),
    user: bounded(user ?? '', bytesMax.user),
    address: bounded(address, bytesMax.address),
    door: bounded(door, bytesMax.door),
    event: bounded(event, bytesMax.event),
    object: bounded(object, bytesMax.object),
    ...(said === '' ? {} : { detail: bounded(said, bytesMax.detail) }),
    count,
  }
}

/** The part of the trail that has the entry of an occurrence. */
export function partOf({ event, isOrdinary }: Pick<Occurrence, 'event' | 'isOrdinary'>): TrailPart {
  if (event === 'login') return 'logins'
  if (event === 'login-failed' || event === 'denied') return 'refusals'
  return isOrdinary ? 'user-changes' : 'changes'
}

/** The parts of the trail that may have entries of an event. */
export function partsOf(event: string): readonly TrailPart[] {
  if (event === 'lost') return trailParts
  if (event === 'login') return ['logins']
  return event === 'login-failed' || event === 'denied' ? ['refusals'] : ['changes', 'user-changes']
}

/** The text with escapes for what cannot be printed, cut to `bytes` bytes of JSON. */
export function bounded(text: string, bytes: number): string {
  // A character takes at least one byte: what lies beyond is cut without a look at it.
  const printable = text.slice(0, bytes + 1).replace(unprintable, escaped)
  if (jsonBytes(printable) <= bytes) return printable
  let kept = ''
  let left = bytes - Buffer.byteLength(omission)
  for (const character of printable) {
    left -= jsonBytes(character)
    if (left < 0) break
    kept += character
  }
  return kept + omission
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`
}

/** Bytes within the quotes of JSON. */
function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2
}

/** An entry in a log's line. */
export function entryText({ event, object, user, address, door, detail, count }: AuditEntry): string {
  const times = count === 1 ? '' : ` ${count} times`
  const from = address === '' ? '' : ` from ${address}`
  const by = user === '' ? '' : ` by '${user}'`
  const what = object === '' ? '' : ` '${object}'`
  return `audit: ${event}${what}${times}${by}${from} over ${door}${detail === undefined ? '' : ` (${detail})`}`
}
