/**
 * A plain worker id, for a generator of the caller's own that knows no span of time.
 *
 * Invariants
 *  1. `validForMs` counts from before the last answered request was sent, on the monotonic clock; it never grows without an
 *     answer, and is 0 once the id is lost or released.
 *  2. The lease is renewed every third of its time to live, and with retries until its end.
 *  3. A claim under a random name is not sent again under it once a copy of this memory was noticed: the copy sends it too,
 *     and one owner gets one id.
 *  4. `lost` resolves once: when the service has ended the lease, its time is over, or a copy of this memory was noticed.
 */
import { type Clock, secretBytes, type Timer } from '../../src/base/clock.ts'
import type { CopyDetector } from '../../src/base/copy-detector.ts'
import { describe, FahaoError, hasCode } from '../../src/base/errors.ts'
import type { ClientEvent } from './events.ts'
import type { Nodes } from './nodes.ts'
import {
  claimWorkerRequest,
  renewWorkerRequest,
  returnWorkerRequest,
  type WorkerGrant,
} from './plain-worker-requests.ts'

/** Options of `leaseWorker`; those left out are the service's defaults. */
export type WorkerOptions = {
  /**
   * A name of this holder that no other process has: it gets its id again after a restart. A copy of this memory that claims
   * under it gets the same id. Default: a random one, and another one for each copy that was noticed.
   */
  readonly owner?: string
  /** Ids are below this number; default 1024. */
  readonly size?: number
  /** How long the lease lasts without a renewal, in ms; default 60,000. */
  readonly ttlMs?: number
  /** For how long the id rests before another owner gets it, in ms; default `ttlMs`. */
  readonly restMs?: number
  /** Keeps the id for this owner after the lease. */
  readonly stable?: boolean
}

/** The parts of a leased worker. */
export type WorkerDeps = {
  readonly nodes: Nodes
  readonly clock: Clock
  readonly copies: CopyDetector
  readonly onEvent: (event: ClientEvent) => void
}

const returnTimeoutMs = 1000

/** A worker id of a pool. */
export class LeasedWorker {
  /** The worker id. */
  readonly id: number
  /** The newest time that a holder before has reported, in Unix ms; −1 if none did. Stamp no time at or below it. */
  readonly lastSeenMs: number
  /** Resolves, with the reason, when the id must not be used any more; also after `release`. */
  readonly lost: Promise<FahaoError>
  readonly #pool: string
  readonly #deps: WorkerDeps
  readonly #lease: string
  #deadlineUs: number
  #timer: Timer | undefined
  #resolveLost: (reason: FahaoError) => void = () => {}
  #ended = false

  /** @internal Claims a worker id. Rejects as the service does. Use `FahaoClient.leaseWorker`. */
  static async claim(pool: string, options: WorkerOptions, deps: WorkerDeps): Promise<LeasedWorker> {
    const { nodes, clock, copies } = deps
    let owner: string | undefined
    let count = 0
    const sentUs = clock.monoUs()
    const grant = await nodes.send(() => {
      if (owner === undefined || count !== copies.count) owner = options.owner ?? randomName()
      count = copies.count
      return claimWorkerRequest(pool, { ...options, owner })
    })
    return new LeasedWorker(pool, grant, sentUs, deps)
  }

  /** @internal Use `FahaoClient.leaseWorker`. */
  constructor(
    pool: string,
    { worker, lease, ttlMs, lastSeenMs }: WorkerGrant,
    sentUs: number,
    deps: WorkerDeps,
  ) {
    this.id = worker
    this.lastSeenMs = lastSeenMs
    this.#pool = pool
    this.#deps = deps
    this.#lease = lease
    this.#deadlineUs = sentUs + ttlMs * 1000
    this.lost = new Promise((resolve) => {
      this.#resolveLost = resolve
    })
    this.#renewLater(ttlMs / 3, ttlMs)
  }

  /** For how long the id may be used from now on, in ms; 0: not at all. Check it before you stamp an id. */
  validForMs(): number {
    this.#deps.copies.check()
    const leftMs = (this.#deadlineUs - this.#deps.clock.monoUs()) / 1000
    return this.#ended ? 0 : Math.max(0, leftMs)
  }

  /** Returns the id to the service. Stop using it before. Never rejects. */
  async release(): Promise<void> {
    if (this.#ended) return
    this.#end(new FahaoError('SHUTDOWN', `worker id ${this.id} of '${this.#pool}' was released`))
    const request = returnWorkerRequest(this.#pool, this.#lease)
    await this.#deps.nodes.send(request, { timeoutMs: returnTimeoutMs }).catch(() => {})
  }

  /** Gives the id up at once, because another process may use it too. */
  drop(reason: string): void {
    this.#lose(new FahaoError('NOLEASE', `worker id ${this.id} of '${this.#pool}': ${reason}; lease another`))
  }

  #renewLater(delayMs: number, ttlMs: number): void {
    this.#timer = this.#deps.clock.timer(delayMs, () => void this.#renew(ttlMs))
  }

  async #renew(ttlMs: number): Promise<void> {
    const { clock, nodes } = this.#deps
    const sentUs = clock.monoUs()
    try {
      // Answers that come after a third of the time to live are worth less than another try.
      const timeoutMs = Math.max(1, Math.min(ttlMs / 3, this.validForMs()))
      const grant = await nodes.send(renewWorkerRequest(this.#pool, this.#lease), { timeoutMs })
      if (this.#ended) return
      this.#deadlineUs = Math.max(this.#deadlineUs, sentUs + grant.ttlMs * 1000)
      this.#renewLater(grant.ttlMs / 3, grant.ttlMs)
    } catch (cause) {
      if (this.#ended) return
      const error =
        cause instanceof FahaoError ? cause : new FahaoError('UNKNOWN', describe(cause), { cause })
      if (hasCode(error, 'NOLEASE') || this.validForMs() === 0) this.#lose(error)
      else this.#renewLater(Math.min(ttlMs / 10, this.validForMs()), ttlMs)
    }
  }

  #lose(error: FahaoError): void {
    if (this.#ended) return
    this.#end(error)
    this.#deps.onEvent({ type: 'worker-lost', pool: this.#pool, error })
  }

  #end(reason: FahaoError): void {
    this.#ended = true
    this.#timer?.cancel()
    this.#resolveLost(reason)
  }
}

function randomName(): string {
  return `fahao-client-${Array.from(secretBytes(8), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
