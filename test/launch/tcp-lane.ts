/**
 * One direction of a connection through the proxy.
 *
 * Invariants
 *  1. What came in goes out in the same order, the end included, and nothing of it twice.
 *  2. While the lane is stalled nothing goes out: no bytes, no end, no reset.
 *  3. It holds no more than a mebibyte and one chunk; the sender feels that as a full window.
 */
import type { Socket } from 'node:net'

type Parcel = { readonly dueMs: number; readonly byteCount: number; readonly deliver: () => void }

const heldBytesMax = 2 ** 20

/** Carries what `source` sends to `sink`; its creator forwards the chunks with `carry`. */
export class Lane {
  readonly #source: Socket
  readonly #sink: Socket
  readonly #parcels: Parcel[] = []
  #heldBytes = 0
  #stalled: boolean
  #timer: NodeJS.Timeout | undefined

  constructor(source: Socket, sink: Socket, stalled: boolean) {
    this.#source = source
    this.#sink = sink
    this.#stalled = stalled
    sink.on('drain', () => this.#flow())
    this.#flow()
  }

  /** Sends bytes on, after a delay. */
  carry(chunk: Buffer, delayMs: number): void {
    this.#add(chunk.length, delayMs, () => this.#sink.write(chunk))
  }

  /** Tells the sink that the source has ended, after everything before it. */
  carryEnd(delayMs: number): void {
    this.#add(0, delayMs, () => this.#sink.end())
  }

  /** Resets the sink's connection, after everything before it. */
  carryReset(delayMs: number): void {
    this.#add(0, delayMs, () => resetSocket(this.#sink))
  }

  /** Holds everything back from now on, or lets it go. */
  setStalled(stalled: boolean): void {
    this.#stalled = stalled
    this.#pump()
  }

  #add(byteCount: number, delayMs: number, deliver: () => void): void {
    this.#parcels.push({ dueMs: performance.now() + delayMs, byteCount, deliver })
    this.#heldBytes += byteCount
    this.#pump()
  }

  #pump(): void {
    clearTimeout(this.#timer)
    while (!this.#stalled) {
      const first = this.#parcels[0]
      if (!first) break
      const waitMs = first.dueMs - performance.now()
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#pump(), waitMs)
        break
      }
      this.#parcels.shift()
      this.#heldBytes -= first.byteCount
      if (!this.#sink.destroyed) first.deliver()
    }
    this.#flow()
  }

  #flow(): void {
    if (this.#stalled || this.#heldBytes > heldBytesMax || this.#sink.writableNeedDrain) this.#source.pause()
    else this.#source.resume()
  }
}

/**
 * Breaks a connection as a crash does. One that is saying goodbye already is just closed: Node never lets go of a
 * socket that is reset in the middle of it, and then the process cannot end.
 */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
