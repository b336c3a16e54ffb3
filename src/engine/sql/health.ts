/**
 * How an engine does: what is wrong, told once, and looked after until it is right again.
 *
 * Invariants
 *  1. People are told when something begins to be wrong, and when nothing is any more; not of each failure.
 *  2. While something is wrong, one probe at a time tries a write, with pauses that grow and differ from node to node:
 *     a database that comes back meets no herd, and is noticed within about a second.
 */

import { type Clock, systemRandom, type Timer } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import type { LogEvent } from '../../base/events.ts'
import type { EngineStatus } from '../engine.ts'

/** What can be wrong: no connection, calls that fail, a history that is not to be trusted, settings that lose writes. */
type Trouble = 'connection' | 'read' | 'write' | 'history' | 'durability'

/** What health needs of its engine. */
export type EngineHealthOptions = {
  readonly clock: Clock
  readonly location: string
  readonly onEvent: (event: LogEvent) => void
}

const pauseMinMs = 50
const pauseMaxMs = 1000

/** See the invariants at the top of the file. */
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

  /** From now on, tries `probe` while something is wrong. */
  begin(probe: () => Promise<unknown>): void {
    this.#probe = probe
    this.#schedule()
  }

  /** Is told of a call that failed. */
  failed(trouble: 'read' | 'write', error: unknown): void {
    if (!(error instanceof FahaoError)) return
    if (error.code === 'REGRESSED') this.#set('history', error.message)
    else if (error.code === 'UNAVAILABLE' || error.code === 'UNKNOWN') this.#set(trouble, error.message)
  }

  /** Is told that no connection can be made. */
  disconnected(reason: string): void {
    this.#set('connection', reason)
  }

  /** Is told of a history that is not to be trusted. */
  regressed(reason: string): void {
    this.#set('history', reason)
  }

  /** Is told what the server's settings may lose; undefined: nothing. */
  durable(loss: string | undefined): void {
    if (loss !== undefined) this.#set('durability', loss)
    else if (this.#troubles.delete('durability')) this.#relieved()
  }

  /** Is told of a call that worked; a write that was carried out shows that the history is sound, too. */
  worked(trouble: 'read' | 'write', sound = false): void {
    if (this.#troubles.size === 0) return
    this.#troubles.delete('connection')
    this.#troubles.delete('read')
    if (trouble === 'write') this.#troubles.delete('write')
    if (sound) this.#troubles.delete('history')
    this.#relieved()
  }

  #relieved(): void {
    if (this.#troubles.size > 0) return
    this.#tries = 0
    this.#timer?.cancel()
    this.#timer = undefined
    this.#tell('info', `${this.#options.location} works again`)
  }

  /** Ends it. */
  close(): void {
    this.#closed = true
    this.#timer?.cancel()
  }

  get #reason(): string | undefined {
    const order: readonly Trouble[] = ['history', 'connection', 'write', 'read', 'durability']
    return order.map((trouble) => this.#troubles.get(trouble)).find((reason) => reason !== undefined)
  }

  #set(trouble: Trouble, reason: string): void {
    if (this.#closed) return
    const wasWell = this.#troubles.size === 0
    const isGrave = trouble === 'history' || trouble === 'durability'
    const isNews = wasWell || (isGrave && !this.#troubles.has(trouble))
    this.#troubles.set(trouble, reason)
    if (isNews) this.#tell('error', `${this.#options.location}: ${reason}`)
    this.#schedule()
  }

  #schedule(): void {
    const probe = this.#probe
    // A write that works says nothing about settings.
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

  #tell(level: LogEvent['level'], message: string): void {
    if (this.#probe !== undefined) this.#options.onEvent({ level, message })
  }
}
