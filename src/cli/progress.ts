/** Progress of long work: one line on stderr that is written over, on a terminal alone. */
import { type Clock, systemClock } from '../base/clock.ts'
import { approximateDuration } from './generator-text.ts'
import { grouped } from './terminal.ts'

/** Where the line is written. */
type Shown = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>

/** The shortest time between two lines, in ms. */
const pauseMs = 250

/** Counts what is done of long work, and shows how fast it goes and how long it will take. */
export class Progress {
  readonly #what: string
  readonly #out: Shown
  readonly #clock: Clock
  readonly #startUs: number
  #shownUs = Number.NEGATIVE_INFINITY
  #done = 0

  /** @param what is counted, in the plural. */
  constructor(what: string, out: Shown = process.stderr, clock: Clock = systemClock) {
    this.#what = what
    this.#out = out
    this.#clock = clock
    this.#startUs = clock.monoUs()
  }

  /** Adds to the count of what is done. @param total of the whole work; undefined: it is not known. */
  add(more: number, total?: number): void {
    this.to(this.#done + more, total)
  }

  /** Sets the count of what is done. @param total of the whole work; undefined: it is not known. */
  to(done: number, total?: number): void {
    this.#done = done
    const nowUs = this.#clock.monoUs()
    if (!this.#out.isTTY || nowUs - this.#shownUs < pauseMs * 1000) return
    this.#shownUs = nowUs
    this.#out.write(`\r${progressText(this.#what, done, (nowUs - this.#startUs) / 1_000_000, total)}\x1b[K`)
  }

  /** Takes the line away. */
  end(): void {
    if (Number.isFinite(this.#shownUs)) this.#out.write('\r\x1b[K')
  }
}

/** `12,345 of 100,000 rows, 3,210 per second, 27s left` */
export function progressText(what: string, done: number, seconds: number, total?: number): string {
  const of = total === undefined ? '' : ` of ${grouped(total)}`
  const rate = seconds > 0 ? done / seconds : 0
  if (rate === 0) return `${grouped(done)}${of} ${what}`
  const left = total === undefined ? '' : `, ${approximateDuration(Math.max(0, total - done) / rate)} left`
  return `${grouped(done)}${of} ${what}, ${grouped(Math.round(rate))} per second${left}`
}
