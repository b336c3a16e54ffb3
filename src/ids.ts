/**
 * `fahao/ids`: what an id is, pure and synchronous; runs in a browser. Layouts and formats, taking ids apart,
 * and snowflakes without an engine.
 */
import { systemClock, systemRandom } from './base/clock.ts'
import { FahaoError } from './base/errors.ts'
import { Timeline } from './base/timeline.ts'
import type { ClockBuffer } from './buffers/clock-buffer.ts'
import type { FastRun } from './buffers/fast-runs.ts'
import { clockBuffer } from './buffers/scattered-clock-buffer.ts'
import type { Layout } from './ids/layout.ts'
import { parseLayout } from './ids/layout-text.ts'
import { Run } from './ids/run.ts'

export { type ErrorCode, FahaoError } from './base/errors.ts'
export { compileFormat, type Format, type FormatOptions, type FormatValues } from './ids/format.ts'
export { geneOf } from './ids/gene.ts'
export { type DecodedId, decode, encode, type IdParts } from './ids/id-parts.ts'
export {
  defineLayout,
  type FieldSpec,
  type Layout,
  type LayoutField,
  type LayoutOptions,
  type LayoutSpec,
} from './ids/layout.ts'
export { formatLayout, parseLayout } from './ids/layout-text.ts'
export {
  type CounterLifetime,
  type CounterUse,
  counterLifetime,
  type LayoutLifetime,
  lifetime,
} from './ids/lifetime.ts'
export type { MomentInput } from './ids/moment.ts'
export { bounds, condition, type IdBounds, type SpanBounds } from './ids/moment-bounds.ts'
export { type Permutation, permutation } from './ids/permutation.ts'
export { type LayoutName, layouts } from './ids/presets.ts'

/** How to make snowflakes without an engine. */
export type SnowflakeOptions = {
  /** One of `layouts`, a layout of your own, or text such as `twitter` or `time:41,node:10,sequence:12`. */
  readonly layout: Layout | string
  /** The node part: no other process may use it at the same time. */
  readonly workerId: number
  /** Where the sequence starts in a fresh unit of time. Default random, which spreads ids over shards; zero where `borrowMaxMs` is 0. */
  readonly sequenceStart?: 'zero' | 'random'
  /** How far ids may run ahead of the clock in a burst, in ms. Default 10,000. */
  readonly borrowMaxMs?: number
}

/** Makes snowflakes, synchronously. */
export interface Snowflake {
  /** The next id. Throws CLOCK when a burst has borrowed `borrowMaxMs` from the future, EXHAUSTED at the end of time. */
  next(): bigint
  /** The next id in decimal. Throws as `next` does. */
  nextText(): string
}

/**
 * Snowflakes without an engine. Ids increase and never repeat within one call of this function, even if the clock jumps.
 * The caller has to guarantee that no other process uses the same `workerId`, and that the clock is not set back while
 * the process restarts; a Fahao node guarantees both. Throws ERR for a worker id or a layout that does not fit.
 */
export function snowflake(options: SnowflakeOptions): Snowflake {
  const layout = typeof options.layout === 'string' ? parseLayout(options.layout) : options.layout
  const { workerId } = options
  if (!layout.issues)
    throw new FahaoError('ERR', `no ids can be issued from this layout: ${layout.decodeOnlyReason}`)
  if (layout.geneBits > 0)
    throw new FahaoError(
      'ERR',
      'this layout has a gene, which callers give with each draw: draw from a generator',
    )
  if (!Number.isSafeInteger(workerId) || workerId < 0 || workerId >= 2 ** layout.nodeBits) {
    throw new FahaoError(
      'ERR',
      `worker id ${workerId} does not fit the layout’s ${layout.nodeBits} node bits; give 0 to ${2 ** layout.nodeBits - 1}`,
    )
  }
  const borrowMaxMs = options.borrowMaxMs ?? 10_000
  if (!(borrowMaxMs >= 0)) throw new FahaoError('ERR', `borrowMaxMs is ${borrowMaxMs}; give 0 or more`)
  const buffer = clockBuffer({
    layout,
    timeline: new Timeline(systemClock),
    random: systemRandom,
    borrowMaxUs: borrowMaxMs * 1000,
    sequenceStart: options.sequenceStart ?? (borrowMaxMs > 0 ? 'random' : 'zero'),
  })
  buffer.grant(workerId, 0, 2 ** Math.min(layout.timeBits, 53))
  return new LocalSnowflake(buffer)
}

class LocalSnowflake implements Snowflake {
  readonly #buffer: ClockBuffer
  readonly #fastRun: FastRun
  readonly #run = new Run()

  constructor(buffer: ClockBuffer) {
    this.#buffer = buffer
    this.#fastRun = buffer.fastRun
  }

  next(): bigint {
    this.#take()
    return this.#run.first
  }

  nextText(): string {
    this.#take()
    return this.#run.toString()
  }

  #take(): void {
    if (this.#fastRun.take(1, this.#run) === 0 && this.#buffer.take(1, this.#run) === 0) throw this.#dry()
  }

  #dry(): FahaoError {
    return this.#buffer.waitMs() === undefined
      ? new FahaoError('EXHAUSTED', 'the time field of this layout is full; use a layout with a later epoch')
      : new FahaoError(
          'CLOCK',
          'this burst has borrowed all of borrowMaxMs from the future; retry in a moment',
        )
  }
}
