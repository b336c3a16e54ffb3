/**
 * The audit trail of one node: takes what was changed or refused, writes a line to the log, and writes entries to the
 * engine in batches.
 *
 * Invariants
 *  1. `record` never waits and never throws, and its memory is bounded, whether or not the engine answers.
 *  2. While the engine answers, an entry is durable within `batchMs` and the time of a write. A crash loses the entries
 *     of that time; the log has them.
 *  3. While it does not, up to `waitingMax` entries of each part wait. The number of those beyond is written with the next.
 *  4. An entry of an administrator's change is displaced by no logins, no refusals and no changes of others: each part has a
 *     queue and a ring of its own. Changes of another user take at most a share of their part in a day (change-shares.ts).
 *  5. Logins, failed logins and denied requests each take a bounded number of entries in a span of time (repeat-counter.ts), so that
 *     no number of denied requests leaves a failed login without its user and address, and each user a share of them.
 *  6. An entry that was taken keeps its id and its content until it is stored: a write may be repeated.
 */
import type { Clock, Timer } from '../base/clock.ts'
import { describe } from '../base/errors.ts'
import type { LogEvent } from '../base/events.ts'
import { AclLog } from './acl-log.ts'
import {
  type AuditEntry,
  type AuditEvent,
  entryOf,
  entryText,
  type Occurrence,
  partOf,
  type TrailPart,
  trailParts,
} from './audit-entry.ts'
import { AuditRing, type AuditStore } from './audit-ring.ts'
import { ChangeShares } from './change-shares.ts'
import { keyOf, RepeatCounter } from './repeat-counter.ts'

/** How long entries wait for others before they are written together. */
const batchMs = 500
/** The pause before another attempt; it doubles up to the second number. */
const retryMs = [1000, 30_000] as const
/** Entries of one part that wait at most. */
const waitingMax = 2048

/**
 * The spans in which occurrences that are alike are counted together, and how many that are not alike a span has, in all and
 * of one user.
 */
const spans = {
  login: { spanMs: 3_600_000, keysMax: 256, userKeysMax: 32 },
  'login-failed': { spanMs: 60_000, keysMax: 32, userKeysMax: 8 },
  denied: { spanMs: 60_000, keysMax: 32, userKeysMax: 8 },
} as const

/** A user's changes take this part of the entries of all users in a day. */
const shares = 8
/** The entries of a part, where no number is configured. */
const entriesDefault = 4000

type CountedEvent = keyof typeof spans

/** What the trail takes from its node. */
export type AuditOptions = {
  readonly engine: AuditStore
  readonly clock: Clock
  /** Unix time in µs. */
  readonly nowUs: () => number
  /** `host:pid`, for people. */
  readonly node: string
  /** Random for each process: begins the ids of its entries. */
  readonly runId: string
  /** The entries that are kept of each part; undefined: as many as it has room for now. */
  readonly max: number | undefined
  readonly onEvent: (event: LogEvent) => void
}

/** Sums since the start, and entries that wait now. */
export type AuditFigures = { readonly written: number; readonly lost: number; readonly waiting: number }

/** The entries of one part on their way to the engine. */
type Queue = {
  readonly part: TrailPart
  readonly ring: AuditRing
  /** Taken; some may be stored already. */
  taken: AuditEntry[]
  /** By what they stand for: another occurrence of the same is counted. */
  readonly waiting: Map<string, AuditEntry>
  /** How many entries found no room since the last batch. */
  lost: number
}

/** See the invariants above. */
export class Audit {
  /** The refusals that ACL LOG shows. */
  readonly aclLog: AclLog
  readonly #options: AuditOptions
  readonly #queues: Readonly<Record<TrailPart, Queue>>
  readonly #counters: Readonly<Record<CountedEvent, RepeatCounter>>
  readonly #shares: ChangeShares
  readonly #sums = { written: 0, lost: 0 }
  #serial = 0
  #timer: Timer | undefined
  #writing: Promise<void> | undefined
  #pauseMs: number = retryMs[0]
  #failing = false
  #closed = false

  constructor(options: AuditOptions) {
    const { engine, clock, max, nowUs } = options
    this.#options = options
    this.aclLog = new AclLog(nowUs)
    const queues = trailParts.map((part): [TrailPart, Queue] => [
      part,
      { part, ring: new AuditRing(engine, part, max), taken: [], waiting: new Map(), lost: 0 },
    ])
    this.#queues = Object.fromEntries(queues) as Record<TrailPart, Queue>
    const counterOf = (event: CountedEvent) =>
      new RepeatCounter(clock, spans[event], (occurrence, count) => this.#enter(occurrence, count))
    this.#counters = {
      login: counterOf('login'),
      'login-failed': counterOf('login-failed'),
      denied: counterOf('denied'),
    }
    const share = Math.floor((max ?? entriesDefault) / shares)
    this.#shares = new ChangeShares(clock, share, (occurrence, count) => this.#enter(occurrence, count))
  }

  /** Sums since the start, and entries that wait now. */
  get figures(): AuditFigures {
    const waiting = trailParts.reduce((sum, part) => sum + sizeOf(this.#queues[part]), 0)
    return { ...this.#sums, waiting }
  }

  /** Takes an occurrence: a change that was carried out, a login, or a refusal. */
  record(occurrence: Occurrence): void {
    if (this.#closed) return
    if (isCounted(occurrence.event)) this.#counters[occurrence.event].add(occurrence)
    else if (!occurrence.isOrdinary) this.#enter(occurrence, 1)
    else if (!this.#shares.add(occurrence)) this.#log('info', this.#entry(occurrence, 1))
  }

  /** Writes what waits. Entries that cannot be written now are lost. */
  async close(): Promise<void> {
    for (const counter of Object.values(this.#counters)) counter.flush()
    this.#shares.close()
    this.#closed = true
    this.#timer?.cancel()
    await this.#writing
    // The first write repeats one that has failed, if there is one.
    for (let writes = 0; writes < 2 && this.figures.waiting > 0; writes++) await this.#write()
    const { waiting } = this.figures
    if (waiting > 0)
      this.#say('error', `${waiting} audit entries could not be written before the stop; the log has them`)
  }

  #enter(occurrence: Occurrence, count: number): void {
    const queue = this.#queues[partOf(occurrence)]
    const { waiting } = queue
    const key = keyOf(occurrence)
    const alike = waiting.get(key)
    if (alike !== undefined) {
      waiting.set(key, { ...alike, timeUs: this.#options.nowUs(), count: alike.count + count })
      return
    }
    const entry = this.#entry(occurrence, count)
    this.#log(queue.part === 'refusals' ? 'warn' : 'info', entry)
    if (sizeOf(queue) < waitingMax) waiting.set(key, entry)
    else {
      queue.lost++
      this.#sums.lost++
    }
    this.#schedule(batchMs)
  }

  #entry(occurrence: Omit<Occurrence, 'event'> & { readonly event: string }, count: number): AuditEntry {
    const { runId, node, nowUs } = this.#options
    // Ids sort in the order of entries; several entries may have one time.
    const serial = String(++this.#serial).padStart(9, '0')
    return entryOf(occurrence, { id: `${runId.slice(0, 12)}-${serial}`, timeUs: nowUs(), node, count })
  }

  #log(level: LogEvent['level'], entry: AuditEntry): void {
    const { id: _, ...fields } = entry
    this.#options.onEvent({ level, message: entryText(entry), fields })
  }

  #schedule(delayMs: number): void {
    if (this.#closed || this.#writing !== undefined) return
    this.#timer ??= this.#options.clock.timer(delayMs, () => {
      this.#timer = undefined
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined
        if (this.figures.waiting > 0) this.#schedule(this.#failing ? this.#pauseMs : batchMs)
      })
    })
  }

  async #write(): Promise<void> {
    const outcomes = await Promise.allSettled(trailParts.map((part) => this.#writeQueue(this.#queues[part])))
    const failure = outcomes.find((outcome) => outcome.status === 'rejected')
    if (failure === undefined) {
      if (this.#failing) this.#say('info', 'audit entries are written again')
      this.#failing = false
      this.#pauseMs = retryMs[0]
      return
    }
    if (this.#failing) this.#pauseMs = Math.min(2 * this.#pauseMs, retryMs[1])
    else this.#say('warn', `audit entries cannot be written, and wait: ${describe(failure.reason)}`)
    this.#failing = true
  }

  async #writeQueue(queue: Queue): Promise<void> {
    if (queue.taken.length === 0) this.#take(queue)
    const { length } = queue.taken
    await queue.ring.append(queue.taken)
    queue.taken = []
    this.#sums.written += length
  }

  #take(queue: Queue): void {
    const { lost, waiting, part } = queue
    queue.taken = [...waiting.values()]
    waiting.clear()
    queue.lost = 0
    if (lost === 0) return
    const detail = `entries of ${part} that could not be kept until the engine answered`
    const said = { event: 'lost', user: '', address: '', door: 'node', object: '', detail }
    queue.taken.push(this.#entry(said, lost))
  }

  #say(level: LogEvent['level'], message: string): void {
    this.#options.onEvent({ level, message })
  }
}

function sizeOf({ taken, waiting }: Queue): number {
  return taken.length + waiting.size
}

function isCounted(event: AuditEvent): event is CountedEvent {
  return Object.hasOwn(spans, event)
}
