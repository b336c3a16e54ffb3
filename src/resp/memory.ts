/**
 * The requests that a connection sends again and again: they are known by their bytes, and neither parsed nor
 * looked up twice.
 *
 * Invariants
 *  1. A remembered request's bytes and arguments are copies of its own.
 *  2. At most `framesMax` are remembered, each of at most `frameBytesMax` bytes.
 *  3. A connection that never repeats itself is remembered once in `patience` requests only.
 */
import type { Direct } from '../commands/command.ts'
import type { Resolved } from '../commands/table.ts'

const framesMax = 8
const frameBytesMax = 512
const patience = 64

/** A request of before. */
export type Frame = {
  readonly bytes: Uint8Array
  readonly resolved: Resolved
  /** Hands out the answers, if the command has such a thing. */
  direct: Direct | undefined
}

/** See the invariants at the top of the file. */
export class FrameMemory {
  readonly frames: Frame[] = []
  #oldest = 0
  #misses = 0

  /** Whether a request of so many bytes should be remembered. Asked once for each that was not. */
  wants(bytes: number): boolean {
    if (bytes > frameBytesMax) return false
    return this.#misses++ < framesMax * 2 || this.#misses % patience === 0
  }

  /** Remembers a request in place of the oldest. */
  add(frame: Frame): void {
    this.frames[this.#oldest] = frame
    this.#oldest = (this.#oldest + 1) % framesMax
  }

  /** One of them came again. */
  hit(): void {
    this.#misses = 0
  }

  /** Forgets everything: what the requests mean may have changed. */
  clear(): void {
    this.frames.length = 0
    this.#oldest = 0
  }
}
