/**
 * A clock buffer whose ids have scatter bits. Below them the ids are those of a clock buffer, so its invariants hold for them;
 * the scatter is a function of these bits, so it makes no two ids equal.
 *
 * Invariants
 *  1. What leaves the buffer has its scatter; what it compares inside has none.
 *  2. Callers have no fast run, because each id gets its scatter as it leaves. The run that the clock buffer fills is taken from here.
 */
import { assert } from '../base/assert.ts'
import type { Layout } from '../ids/layout.ts'
import { type Run, ScatteredRun } from '../ids/run.ts'
import { scatter, scatterOf } from '../ids/scatter.ts'
import { ClockBuffer, type ClockBufferOptions } from './clock-buffer.ts'
import { FastRun, noFastRun } from './fast-runs.ts'

/**
 * The buffer that a layout needs. `fastRun` is called if the buffer has one; default: one of its own. Ids that wait for their genes do
 * not leave as they are, and have none.
 */
export function clockBuffer(
  options: Omit<ClockBufferOptions, 'fastRun'>,
  fastRun: () => FastRun = () => new FastRun(),
): ClockBuffer {
  return options.layout.scatterBits > 0
    ? new ScatteredClockBuffer(options)
    : new ClockBuffer({ ...options, fastRun: options.layout.geneBits > 0 ? noFastRun : fastRun() })
}

/** Gives each id its scatter as it leaves. */
export class ScatteredClockBuffer extends ClockBuffer {
  override readonly fastRun = noFastRun
  readonly #layout: Layout
  readonly #plain: FastRun

  constructor(options: Omit<ClockBufferOptions, 'fastRun'>) {
    const plain = new FastRun()
    super({ ...options, fastRun: plain })
    this.#layout = options.layout
    this.#plain = plain
  }

  /** One id at a time. */
  override take(_count: number, run: Run): number {
    if (this.#plain.take(1, run) === 0 && super.take(1, run) === 0) return 0
    scatter(run, this.#layout)
    return 1
  }

  override collect(count: number): Run[] | undefined {
    return super.collect(count)?.map((run) => {
      return run.count === 1
        ? this.#one(run)
        : new ScatteredRun(run.count, (index) => this.#whole(run.at(index)))
    })
  }

  /** In no order, so that only all of them can be sure to be. */
  override areSafe(): boolean {
    return this.#layout.totalBits <= 53
  }

  override lastIssued(): bigint | undefined {
    const last = super.lastIssued()
    return last === undefined ? undefined : this.#whole(last)
  }

  override assertInvariants(): void {
    super.assertInvariants()
    assert(this.fastRun.count === 0, 'what callers take at once holds no ids')
  }

  #one(run: Run): Run {
    scatter(run, this.#layout)
    return run
  }

  #whole(id: bigint): bigint {
    return id | scatterOf(this.#layout, id)
  }
}
