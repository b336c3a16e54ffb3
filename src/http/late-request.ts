/** A request that has not come in time, on a connection that was not read meanwhile: its rest may be there. */
import type { IncomingMessage } from 'node:http'
import { systemClock, type Timer } from '../base/clock.ts'

/** What a late request needs of its connection. */
type LateRequestOptions = {
  /** How long the request may take to come, in ms. */
  readonly timeoutMs: number
  /** Whether bytes of the client may have come that were not read. */
  readonly isUnread: () => boolean
  /** Called when the request has not come after the connection was read for that long. */
  readonly refuse: () => void
}

/** A late request. */
export class LateRequest {
  #request: IncomingMessage | undefined
  /** Since when the connection is read, in monotonic µs. */
  #readSinceUs = systemClock.monoUs()
  #timer: Timer
  readonly #options: LateRequestOptions

  /** `request` undefined: its head has not come either, and it is the next one to begin. */
  constructor(request: IncomingMessage | undefined, options: LateRequestOptions) {
    this.#request = request
    this.#options = options
    this.#timer = this.#wait()
  }

  /** A request has begun. */
  received(request: IncomingMessage): void {
    this.#request ??= request
  }

  /** The connection is read again. */
  resumed(): void {
    this.#readSinceUs = systemClock.monoUs()
  }

  cancel(): void {
    this.#timer.cancel()
  }

  #wait(): Timer {
    const { timeoutMs, isUnread, refuse } = this.#options
    return systemClock.timer(timeoutMs, () => {
      if (this.#request?.complete) return
      const readUs = isUnread() ? 0 : systemClock.monoUs() - this.#readSinceUs
      if (readUs >= timeoutMs * 1000) refuse()
      else this.#timer = this.#wait()
    })
  }
}
