/**
 * The health of an engine: its present troubles, each logged once, and a probe that runs until they are over.
 *
 * Invariants
 *  1. The log receives the beginning of trouble and the end of all trouble, not each failure.
 *  2. During trouble, one probe at a time tries a write, after random pauses with exponential backoff: a database that
 *     works again meets no thundering herd, and is noticed within about a second.
 */

import { systemRandom, type Timer } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import type { LogEvent } from '../../base/events.ts'
import type { EngineStatus } from '../engine.ts'
import type { EngineOptions } from '../engine-options.ts'

/** No connection, calls that fail, lost writes, settings that may lose writes. */
type Trouble = 'connection' | 'read' | 'write' | 'history' | 'durability'

/** The clock, the name and the log of the engine. */
export type EngineHealthOptions = Pick<EngineOptions, 'clock' | 'onEvent'> & { readonly location: string }

const pauseMinMs = 50
const pauseMaxMs = 1000

/** The health of one engine. */
export class EngineHealth {
  readonly #options: EngineHealthOptions
  readonly #troubles = new Map<Trouble, string>()
  #probe: (() => Promise<unknown>) | undefined
  #timer: Timer | undefined
  #tries = 0
  #closed = false

  constructor(options: EngineHealthOptions) {
    this.#options = options
  }

  /** See `Engine.status`. */
  get status(): EngineStatus {
    const reason = this.#closed ? 'closed' : this.#reason
    return reason === undefined ? { state: 'up' } : { state: 'down', reason }
  }

  /** From now on, runs `probe` during trouble. */
  begin(probe: () => Promise<unknown>): void {
    this.#probe = probe
    this.#schedule()
  }

  /** Records the failure of a call. */
  failed(trouble: 'read' | 'write', error: unknown): void {
    if (!(error instanceof FahaoError)) return
    if (error.code === 'REGRESSED') this.troubled('history', error.message)
    else if (error.code === 'UNAVAILABLE' || error.code === 'UNKNOWN') this.troubled(trouble, error.message)
  }

  /** Records a trouble. */
  troubled(trouble: Trouble, reason: string): void {
    if (this.#closed) return
    const wasWell = this.#troubles.size === 0
    const isGrave = trouble === 'history' || trouble === 'durability'
    const isNews = wasWell || (isGrave && !this.#troubles.has(trouble))
    this.#troubles.set(trouble, reason)
    if (isNews) this.#log('error', `${this.#options.location}: ${reason}`)
    this.#schedule()
  }

  /** Records the losses that the server's settings allow; undefined: none. */
  durable(loss: string | undefined): void {
    if (loss !== undefined) this.troubled('durability', loss)
    else if (this.#troubles.delete('durability')) this.#recovered()
  }

  /** Records that a call worked. A write that was carried out shows that the database has lost no writes. */
  worked(call: 'read' | 'write'): void {
    if (this.#troubles.size === 0) return
    this.#troubles.delete('connection')
    this.#troubles.delete('read')
    if (call === 'write') {
      this.#troubles.delete('write')
      this.#troubles.delete('history')
    }
    this.#recovered()
  }

  #recovered(): void {
    if (this.#troubles.size > 0) return
    this.#tries = 0
    this.#timer?.cancel()
    this.#timer = undefined
    this.#log('info', `${this.#options.location} works again`)
  }

  /** Ends the probe. */
  close(): void {
    this.#closed = true
    this.#timer?.cancel()
  }

  get #reason(): string | undefined {
    const order: readonly Trouble[] = ['history', 'connection', 'write', 'read', 'durability']
    return order.map((trouble) => this.#troubles.get(trouble)).find((reason) => reason !== undefined)
  }

  #schedule(): void {
    const probe = this.#probe
    // A write that works shows nothing about settings.
    const isWell = this.#troubles.size === (this.#troubles.has('durability') ? 1 : 0)
    if (this.#timer !== undefined || probe === undefined || isWell || this.#closed) return
    const pauseMs = Math.min(pauseMaxMs, pauseMinMs * 2 ** Math.min(this.#tries++, 10))
    this.#timer = this.#options.clock.timer(pauseMs * (0.5 + systemRandom() / 2), () => {
      probe()
        .catch(() => {})
        .finally(() => {
          this.#timer = undefined
          this.#schedule()
        })
    })
  }

  #log(level: LogEvent['level'], message: string): void {
    if (this.#probe !== undefined) this.#options.onEvent({ level, message })
  }
}
