/**
 * `fahao/ids`: what an id is, pure and synchronous; runs in a browser. Layouts and formats, taking ids apart,
 * and snowflakes without an engine.
 */
import { secretBytes, systemClock, systemRandom } from './base/clock.ts'
import { FahaoError } from './base/errors.ts'
import { Timeline } from './base/timeline.ts'
import type { ClockBuffer } from './buffers/clock-buffer.ts'
import type { FastRun } from './buffers/fast-runs.ts'
import { clockBuffer } from './buffers/scattered-clock-buffer.ts'
import type { Layout } from './ids/layout.ts'
import { parseLayout } from './ids/layout-text.ts'
import { Run } from './ids/run.ts'
import { WideFormat, wideSpecOf } from './ids/wide-format.ts'

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
export { type PeriodDefinition, type Periods, type PeriodUnit, periodsOf } from './ids/period.ts'
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
  return new LocalSnowflake(bufferOf(options))
}

/** How to make ids of 128 bits, or of 96, without an engine. */
export type WideSnowflakeOptions = SnowflakeOptions & {
  /** `uuidv7`, `uuidv8`, `ulid`, `typeid:PREFIX` or `objectid`. */
  readonly format: string
  /** 16 hexadecimal digits, the same where texts are to be read. Default: drawn by this call. */
  readonly key?: string
}

/** Makes ids of 128 bits, or of 96, synchronously. */
export interface WideSnowflake extends Snowflake {
  readonly key: string
  /** Writes the next id into `bytes` from `at` on, by default new ones: 16, or 12 of an ObjectId. Throws as `next` does. */
  nextBytes(bytes?: Uint8Array, at?: number): Uint8Array
  /** The raw id in a text of this format and key. Throws ERR for any other text. */
  parse(text: string): bigint
}

/** As `snowflake`, with texts and bytes in a wide format. Throws ERR for a layout that does not fit, too. */
export function wideSnowflake(options: WideSnowflakeOptions): WideSnowflake {
  const { format, key = hexOf(secretBytes(8)) } = options
  const spec = wideSpecOf(format)
  if (spec === undefined)
    throw new FahaoError(
      'ERR',
      `'${format}' is no format of bytes; use uuidv7, uuidv8, ulid, typeid:PREFIX or objectid`,
    )
  const wide = new WideFormat(format, spec, layoutOf(options), key)
  return new LocalWideSnowflake(bufferOf(options), wide, key)
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function layoutOf({ layout }: SnowflakeOptions): Layout {
  return typeof layout === 'string' ? parseLayout(layout) : layout
}

function bufferOf(options: SnowflakeOptions): ReturnType<typeof clockBuffer> {
  const layout = layoutOf(options)
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
  return buffer
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
    return this.take().first
  }

  nextText(): string {
    return this.take().toString()
  }

  /** The next id as a run, which the next call overwrites. */
  take(): Run {
    const run = this.#run
    if (this.#fastRun.take(1, run) === 0 && this.#buffer.take(1, run) === 0) throw this.#dry()
    return run
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

class LocalWideSnowflake extends LocalSnowflake implements WideSnowflake {
  readonly key: string
  readonly #wide: WideFormat

  constructor(buffer: ReturnType<typeof clockBuffer>, wide: WideFormat, key: string) {
    super(buffer)
    this.key = key
    this.#wide = wide
  }

  override nextText(): string {
    const { hi, lo } = this.take()
    return this.#wide.textOf(hi, lo)
  }

  nextBytes(bytes = new Uint8Array(this.#wide.size), at = 0): Uint8Array {
    this.#wide.checkRoom(bytes, at)
    const { hi, lo } = this.take()
    this.#wide.writeBytes(hi, lo, bytes, at)
    return bytes
  }

  parse(text: string): bigint {
    return this.#wide.parse(text)
  }
}
