/**
 * Moves counters of a Redis to a running server, each at its number, while clients use both.
 *
 * Invariants
 *  1. A key is closed on Redis, in one step with the last read of its number, before its sequence moves to that number. From then
 *     on `INCR` of it on Redis is an error, so no number comes from both sides, and none of Fahao precedes one of Redis.
 *  2. A closed key keeps its number in its text, so the import can be repeated after any failure, and goes on.
 *  3. Nothing is changed by a dry run. A key that is no counter is left as it is.
 *  4. Into a family: it begins above the largest number before the first key is closed, and only keys below where it begins are
 *     closed. So none of its names gives a number that its key has given, whenever a client goes over.
 */
import { connect as connectTls } from 'node:tls'
import { addressText } from '../base/address.ts'
import { systemClock } from '../base/clock.ts'
import { describe, FahaoError, hasCode } from '../base/errors.ts'
import { globMatches } from '../base/glob.ts'
import { checkName } from '../catalogue/name-rules.ts'
import { NoReply } from '../forwarding/forwarder.ts'
import { max53, max63 } from '../ids/limits.ts'
import { dialPlain } from '../listening/dial.ts'
import { encodedRequest, ForwardConnection } from '../resp/forward-connection.ts'
import { type PlainReply, readReply } from '../resp/reply-reader.ts'
import { UsageError } from './exit-codes.ts'

/** What a closed key holds: its number follows. */
const closedMark = 'moved-to-fahao:'
/** How many keys are moved together. */
const pageKeys = 1000
const replyTimeoutMs = 30_000

/** The largest number that a sequence can be moved to. */
const largestNumber = max63 - 1n
/** Connections to the server, which carries out 256 requests of each at once. */
const connections = 4

/** How far above the largest number a new family begins at least, and as a part of it: keys count on meanwhile. */
const [roomLeast, roomPart] = [1_000_000n, 10n]

/** Closes a key that holds a number up to that of ARGV, and returns what it holds then. Texts of one length are compared. */
const closing = `
local value = redis.call('GET', KEYS[1])
local most = ARGV[1]
local counts = value and (value == '0' or string.match(value, '^[1-9]%d*$'))
if counts and (#value < #most or (#value == #most and value <= most)) and redis.call('PTTL', KEYS[1]) < 0 then
  value = '${closedMark}' .. value
  redis.call('SET', KEYS[1], value)
end
return value`

/** Two servers that speak Redis's protocol, and which keys to move. */
export type RedisImport = {
  /** `redis://` or `rediss://`, with user, password and number of the database where these are needed. */
  readonly from: string
  /** The same of a Fahao server. */
  readonly into: string
  /** Glob patterns of keys; none: all. */
  readonly patterns: readonly string[]
  /** Only counts. */
  readonly dryRun: boolean
  /** The family that they are moved into, whose names they have; it is the one pattern then. Undefined: each to a sequence. */
  readonly family?: string | undefined
  /** Called before anything is changed, if there is a family. */
  readonly onPlan?: (plan: FamilyPlan) => void
  /** Called after each page of keys with the numbers so far, and with how many keys there are at most, if that is known. */
  readonly onProgress?: (counts: RedisImportCounts, total: number | undefined) => void
}

/** Where a family begins that counters are moved into, and how far above their numbers that is. */
export type FamilyPlan = {
  readonly counters: number
  readonly largest: bigint
  readonly begin: bigint
  /** On average, and for the counter with the smallest number. */
  readonly jumpMean: bigint
  readonly jumpMost: bigint
}

/** What was found, and what was done. */
export type RedisImportCounts = {
  /** Keys with a number that were, or would be, moved to it. */
  readonly moved: number
  /** Closed by an earlier import, and found at their number or above. */
  readonly movedBefore: number
  /** The largest number of these. */
  readonly largest: bigint
  /** Keys that were left as they are. */
  readonly left: number
  /** The first of those that were left, or failed, each with its reason. */
  readonly remarks: readonly string[]
  /** Keys that were closed, or would be, and whose sequence has not moved. */
  readonly failed: number
}

const remarksMax = 20

/** Moves the keys. Rejects with UNAVAILABLE or UNKNOWN when a server does not answer: repeat it then. */
export async function importFromRedis(options: RedisImport): Promise<RedisImportCounts> {
  const from = new RespClient(options.from)
  const into = Array.from({ length: connections }, () => new RespClient(options.into))
  try {
    return await new Mover(from, into, options).run()
  } finally {
    for (const client of [from, ...into]) client.close()
  }
}

class Mover {
  readonly #from: RespClient
  readonly #into: readonly RespClient[]
  readonly #options: RedisImport
  #counts = { moved: 0, movedBefore: 0, largest: 0n, left: 0, failed: 0 }
  readonly #remarks: string[] = []
  #rules: readonly string[] = []
  /** The largest number of a key that is closed. */
  #closeMost = largestNumber

  constructor(from: RespClient, into: readonly RespClient[], options: RedisImport) {
    this.#from = from
    this.#into = into
    this.#options = options
  }

  async run(): Promise<RedisImportCounts> {
    const { patterns, family, onProgress } = this.#options
    if (family !== undefined) await this.#prepare(family)
    else this.#rules = await this.#autoCreated()
    const wanted = family === undefined ? patterns : [family]
    const isAll = wanted.length === 0
    const total = isAll ? await this.#from.ask(['DBSIZE']).then(Number, () => undefined) : undefined
    for (const pattern of isAll ? ['*'] : wanted)
      await this.#eachPage(pattern, async (keys) => {
        await this.#move(keys)
        onProgress?.(this.#result, total)
      })
    return this.#result
  }

  async #eachPage(pattern: string, use: (keys: readonly string[]) => Promise<void>): Promise<void> {
    let cursor = '0'
    do {
      const scan = ['SCAN', cursor, 'MATCH', pattern, 'COUNT', `${pageKeys}`, 'TYPE', 'string']
      const [next, keys] = (await this.#from.ask(scan)) as [string, string[]]
      await use(keys)
      cursor = next
    } while (cursor !== '0')
  }

  /** Finds out where the family has to begin, and has it begin there. */
  async #prepare(family: string): Promise<void> {
    if (!/^[^*?[\]\\]+\*$/.test(family))
      throw new UsageError(
        `'${family}' is no name of a family: what all its names begin with, and a * at the end`,
      )
    let [counters, sum, largest, least] = [0, 0n, 0n, max53]
    await this.#eachPage(family, async (keys) => {
      for (const text of await Promise.all(keys.map((key) => this.#look(key)))) {
        if (!text?.startsWith(closedMark)) continue
        const number = BigInt(text.slice(closedMark.length))
        counters++
        sum += number
        if (number > largest) largest = number
        if (number < least) least = number
      }
    })
    const start = await this.#startOf(family)
    const room = largest / roomPart
    const begin =
      start !== undefined && start > largest ? start : largest + (room > roomLeast ? room : roomLeast) + 1n
    if (begin > max53)
      throw new UsageError(
        `a counter of ${family} is at ${largest}, and names of families end at ${max53}; leave --family out`,
      )
    const jumpMean = counters === 0 ? 0n : begin - 1n - sum / BigInt(counters)
    const jumpMost = counters === 0 ? 0n : begin - 1n - least
    const { onPlan, dryRun } = this.#options
    onPlan?.({ counters, largest, begin, jumpMean, jumpMost })
    this.#closeMost = begin - 1n
    if (dryRun || begin === start) return
    const [into] = this.#into
    if (start === undefined) await into!.ask(['ID.CREATE', family, 'FAMILY', 'START', `${begin}`])
    else await into!.ask(['ID.ALTER', family, 'FLOOR', `${begin}`])
  }

  /** Where a family begins; undefined: there is none of this name. */
  async #startOf(family: string): Promise<bigint | undefined> {
    try {
      const pairs = (await this.#into[0]!.ask(['ID.INFO', family])) as readonly string[]
      if (!pairs.includes('family'))
        throw new UsageError(`'${family}' is a generator of its own on the server, and no family`)
      return BigInt(pairs[pairs.indexOf('start') + 1]!)
    } catch (error) {
      if (hasCode(error, 'NOGENERATOR')) return undefined
      throw error
    }
  }

  get #result(): RedisImportCounts {
    return { ...this.#counts, remarks: this.#remarks }
  }

  /** The patterns by which the server creates generators when these are first asked for. */
  async #autoCreated(): Promise<string[]> {
    const [, rules = ''] = (await this.#into[0]!.ask(['CONFIG', 'GET', 'auto-create'])) as string[]
    return rules
      .split(/\s+/)
      .flatMap((rule) => /^(\S+?)=[a-z]+(?:,|$)/.exec(rule)?.[1]?.replace('{tenant}', '*') ?? [])
  }

  async #move(keys: readonly string[]): Promise<void> {
    const { dryRun } = this.#options
    const wanted = keys.filter((key) => !this.#isAutoCreated(key) && !this.#isNoName(key))
    const read = dryRun
      ? (key: string) => this.#look(key)
      : (key: string) => this.#from.ask(['EVAL', closing, '1', key, `${this.#closeMost}`])
    const texts = await Promise.all(wanted.map(read))
    await Promise.all(
      wanted.map((key, index) => {
        const into = this.#into[index % this.#into.length]!
        return this.#moveOne(into, key, texts[index] as string | null)
      }),
    )
  }

  async #look(key: string): Promise<string | null> {
    const [text, ttl] = await Promise.all([this.#from.ask(['GET', key]), this.#from.ask(['PTTL', key])])
    const isCounter = typeof text === 'string' && isNumber(text) && (ttl as bigint) < 0n
    return isCounter ? closedMark + text : (text as string | null)
  }

  async #moveOne(into: RespClient, key: string, text: string | null): Promise<void> {
    // The key has gone since it was listed.
    if (text === null) return
    if (!text.startsWith(closedMark)) return this.#leave(key, this.#whyLeft(text))
    const number = text.slice(closedMark.length)
    const counts = this.#counts
    try {
      const { dryRun, family } = this.#options
      const isMoved = dryRun || family !== undefined || (await this.#moveTo(into, key, number))
      if (isMoved) counts.moved++
      else counts.movedBefore++
      if (BigInt(number) > counts.largest) counts.largest = BigInt(number)
    } catch (error) {
      // Without an answer nothing is known of the others either.
      if (error instanceof FahaoError && (error.code === 'UNAVAILABLE' || error.code === 'UNKNOWN'))
        throw error
      counts.failed++
      this.#remark(`${key} at ${number}: ${describe(error)}`)
    }
  }

  /** False: the sequence was at the number or above it already. */
  async #moveTo(into: RespClient, key: string, number: string): Promise<boolean> {
    try {
      await into.ask(['SET', key, number])
      return true
    } catch (error) {
      if ((await nextOf(into, key)) > BigInt(number)) return false
      throw error
    }
  }

  #isAutoCreated(key: string): boolean {
    const rule = this.#rules.find((pattern) => globMatches(pattern, key))
    if (rule === undefined) return false
    this.#leave(
      key,
      `the server creates it by its rule auto-create '${rule}' when a client asks first, and it would begin at 1; start the server without that rule until the import has ended`,
    )
    return true
  }

  /** Whether no name of the family is written like this key. It stays open: nothing would go on with its number. */
  #isNoName(key: string): boolean {
    const { family } = this.#options
    if (family === undefined) return false
    try {
      checkName(key)
    } catch (error) {
      this.#leave(key, describe(error))
      return true
    }
    if (key.length >= family.length && key !== family) return false
    this.#leave(key, `it is no name of ${family}`)
    return true
  }

  #leave(key: string, why: string): void {
    this.#counts.left++
    this.#remark(`${key}: ${why}`)
  }

  #whyLeft(text: string): string {
    if (!isNumber(text))
      return `its value '${text.slice(0, 40)}' is no whole number from 0 to ${largestNumber}`
    if (BigInt(text) > this.#closeMost)
      return `it has come to ${text} meanwhile, where the family begins; run the import again, which has it begin above`
    return 'it expires; see generators with a date in their format'
  }

  #remark(text: string): void {
    if (this.#remarks.length < remarksMax) this.#remarks.push(text)
  }
}

/** As `closing` tells it. */
function isNumber(text: string): boolean {
  return /^(?:0|[1-9]\d{0,18})$/.test(text) && BigInt(text) <= largestNumber
}

/** At least this is the next id of a generator; 0 if there is none, or that is not known. */
async function nextOf(into: RespClient, key: string): Promise<bigint> {
  try {
    const pairs = (await into.ask(['ID.INFO', key])) as readonly PlainReply[]
    const fieldOf = (field: string) => pairs[pairs.indexOf(field) + 1]
    const [newest, start] = [fieldOf('lastIssued'), fieldOf('start')]
    return typeof newest === 'string' ? BigInt(newest) + 1n : BigInt(start as string)
  } catch {
    return 0n
  }
}

/** A connection to a server that speaks Redis's protocol. Requests of one turn leave together. */
class RespClient {
  readonly #connection: ForwardConnection
  readonly #server: string

  constructor(url: string) {
    const { protocol, hostname, port, username, password, pathname } = readUrl(url)
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    const login = username === '' ? [password] : [username, password]
    const greetings = [
      ...(password === '' ? [] : [['AUTH', ...login.map(decodeURIComponent)]]),
      ...(pathname.length > 1 ? [['SELECT', pathname.slice(1)]] : []),
    ]
    const dial: typeof dialPlain =
      protocol === 'rediss:' ? (address) => connectTls({ ...address, servername: host }) : dialPlain
    const address = { host, port: port === '' ? 6379 : Number(port) }
    this.#server = addressText(address)
    const timeoutMs = replyTimeoutMs
    this.#connection = new ForwardConnection({
      ...address,
      dial,
      greetings,
      clock: systemClock,
      timeoutMs,
      onEnd: () => {},
    })
  }

  /** The reply as data; throws the error that it is. */
  async ask(words: readonly string[]): Promise<PlainReply> {
    const request = encodedRequest(words.map((word) => Buffer.from(word)))
    try {
      return readReply(await this.#connection.send(request))
    } catch (error) {
      if (!(error instanceof NoReply)) throw error
      const what = `the server at ${this.#server} does not answer (${error.reason})`
      throw new FahaoError(error.code, `${what}; run the import again, and it goes on where it was`)
    }
  }

  /** Ends the connection. */
  close(): void {
    this.#connection.close('the import has ended')
  }
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && isRedisUrl(text)) return url
  // A URL may hold a password.
  const shown = text.replace(/\/\/[^/]*@/, '//…@')
  throw new UsageError(`'${shown}' is no URL of a server that speaks Redis's protocol: redis://HOST:PORT`)
}

/** Whether a URL is that of a server that speaks Redis's protocol. */
export function isRedisUrl(url: string): boolean {
  return /^rediss?:\/\//.test(url)
}
