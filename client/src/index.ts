/**
 * `fahao-client`: ids of a Fahao service in this process.
 *
 * ```ts
 * await using client = await connect('redis://127.0.0.1:7379')
 * const order = await client.generator('order')
 * await order.next() // 1n
 * ```
 */
export { type ErrorCode, FahaoError } from '../../src/base/errors.ts'
export type { GeneInput, IdInput } from '../../src/ids/gene.ts'
export type {
  GeneratorDescription,
  ListedGenerator,
  ListOptions,
} from '../../src/ids/generator-description.ts'
export type { MomentInput } from '../../src/ids/moment.ts'
export type { GeneratorBounds, IdBounds } from '../../src/ids/moment-bounds.ts'
export type { GeneratorChanges, GeneratorOptions } from './administration.ts'
export { connect, type FahaoClient } from './client.ts'
export type { ClientEvent } from './events.ts'
export type { BatchOptions, ClientGenerator, GeneratorStats, Kind, WaitOptions } from './generator.ts'
export type { Metric } from './metrics.ts'
export type { ClientOptions } from './options.ts'
export type { LeasedWorker, WorkerOptions } from './plain-worker.ts'
