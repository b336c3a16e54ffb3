/** All durations of a cluster, derived from the lease and its margin, which all nodes take from the recorded settings. */
import { FahaoError } from '../base/errors.ts'

/** Durations in ms. */
export type Timing = {
  /** A node that has not renewed for this long, and for the margin, may be declared dead. */
  readonly ttlMs: number
  /**
   * How much earlier than after `ttlMs` a node stops, and how much later than that it may be declared dead. Twice this
   * covers monotonic clocks that run at different rates (20 % of a lease, where quartz differs by less than 0.1 %), and
   * the rest of a callback that began just before the deadline.
   */
  readonly marginMs: number
  /** From one renewal to the next. Also the longest wait for one answer of the engine. */
  readonly renewMs: number
  /** A leader whose renewal is so late may be dead: requests for what it leads wait, instead of being sent there. */
  readonly missingMs: number
  /** From one list of all records to the next; watches bring news sooner where the engine can. */
  readonly pollMs: number
  /** Pause after a call that failed. */
  readonly retryMs: number
  /** For how long other nodes leave a free shard to the node that it is assigned to. */
  readonly graceMs: number
  /** For how long the set of nodes must have been the same before a shard that has a leader is moved. */
  readonly settleMs: number
  /**
   * For how long the same node should lead a shard before the shard is handed over to it. Longer than `pollMs`, so that
   * the successor knows too: one that did not would send back the clients that are sent to it.
   */
  readonly noticeMs: number
  /** The longest time that releases may take during a hand-over. */
  readonly releaseMs: number
  /**
   * How long a request waits for a leader. A leader that ends without notice is declared dead and succeeded within
   * this time, as long as the engine answers.
   */
  readonly leaderWaitMs: number
  /** After this, a record which says that a node is dead is removed. */
  readonly forgetMs: number
}

/** Durations that can be set; the others follow. */
export type TimingOptions = {
  /** The length of the lease. Default: the recorded one; if none is recorded yet, 3 s. At least 100 ms. */
  readonly leaseTtlMs?: number | undefined
  /** What clocks may differ by. Default: the recorded margin; if none is recorded yet, a tenth of the lease. */
  readonly marginMs?: number | undefined
  /** How long a request waits for a leader. Default: the length of a take-over, at most 10 s. */
  readonly leaderWaitMs?: number | undefined
}

/** Few clients wait longer for an answer. */
const leaderWaitMaxMs = 10_000

/** Refuses what cannot work: CONFIG. */
export function timing(options: TimingOptions): Timing {
  const ttlMs = options.leaseTtlMs ?? 3000
  const marginMs = options.marginMs ?? ttlMs / 10
  if (!(ttlMs >= 100))
    throw new FahaoError('CONFIG', `a lease of ${ttlMs} ms is too short; give --lease-ttl at least 100ms`)
  if (!(marginMs >= 0 && marginMs <= ttlMs / 3))
    throw new FahaoError('CONFIG', `a margin of ${marginMs} ms must be at most a third of the lease`)
  const [pollMs, graceMs] = [ttlMs / 6, ttlMs / 3]
  return {
    ttlMs,
    marginMs,
    renewMs: ttlMs / 3,
    missingMs: (ttlMs / 3) * 1.25,
    pollMs,
    retryMs: ttlMs / 20,
    graceMs,
    settleMs: ttlMs,
    noticeMs: ttlMs / 5,
    releaseMs: 50,
    leaderWaitMs: options.leaderWaitMs ?? Math.min(ttlMs + marginMs + pollMs + graceMs, leaderWaitMaxMs),
    forgetMs: Math.max(60_000, ttlMs * 20),
  }
}

/** One reading of a process's two clocks, in µs: monotonic, and wall time since the Unix epoch. */
export type Moment = { readonly monoUs: number; readonly wallUs: number }

/** When work that runs one at a time begins again. */
export class Schedule {
  /** On the monotonic clock in µs; infinite: the work runs, or has not begun. */
  nextUs = Number.POSITIVE_INFINITY
  #isRunning = false
  #isDue = false

  /** The work runs from now on. */
  begin(): void {
    this.#isRunning = true
    this.#isDue = false
    this.nextUs = Number.POSITIVE_INFINITY
  }

  /** The work has ended and begins again at `nextUs`, or at once if `runSoon` was called meanwhile. */
  end(nextUs: number): void {
    this.#isRunning = false
    this.nextUs = this.#isDue ? Number.NEGATIVE_INFINITY : nextUs
  }

  /** The work begins again as soon as possible. */
  runSoon(): void {
    if (this.#isRunning) this.#isDue = true
    else this.nextUs = Number.NEGATIVE_INFINITY
  }
}
