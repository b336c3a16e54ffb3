/** A generator as callers of this process see it, whatever its kind. */
import { FahaoError } from '../../src/base/errors.ts'
import { Timeline } from '../../src/base/timeline.ts'
import type { FastRun } from '../../src/ids/fast-run.ts'
import type { Format } from '../../src/ids/format.ts'
import { Run } from '../../src/ids/run.ts'
import { type Definition, definitionOf } from './definition.ts'
import type { ClientGenerator, GeneratorStats, Kind, WaitOptions } from './generator.ts'
import type { IdSource } from './id-source.ts'
import { type GeneratorDeps, openSource } from './open-source.ts'
import { describeRequest, nextRequest } from './requests.ts'

/** The most ids of one call. */
const countMax = 1_000_000_000

/** Opens a generator: asks the service for its definition, and for its first ids where it can issue them here. */
export async function openGenerator(name: string, deps: GeneratorDeps): Promise<LeasedGenerator> {
  const definition = definitionOf(await deps.nodes.send(describeRequest(name)))
  const source = await openSource(name, definition, deps)
  return new LeasedGenerator(name, definition, source, deps)
}

/** The generator of one name in one client. */
export class LeasedGenerator implements ClientGenerator {
  readonly name: string
  readonly #deps: GeneratorDeps
  readonly #definition: Definition
  readonly #source: IdSource
  readonly #fastRun: FastRun
  readonly #run = new Run()
  readonly #timeline: Timeline

  /** @internal Use `openGenerator`. */
  constructor(name: string, definition: Definition, source: IdSource, deps: GeneratorDeps) {
    this.name = name
    this.#deps = deps
    this.#definition = definition
    this.#source = source
    this.#fastRun = source.fastRun
    this.#timeline = new Timeline(deps.clock)
  }

  get kind(): Kind {
    return this.#definition.kind
  }

  tryNext(): bigint | undefined {
    return this.#fastRun.take(1, this.#run) > 0 || this.#source.take(1, this.#run) > 0
      ? this.#run.first
      : undefined
  }

  tryNextNumber(): number | undefined {
    const id = this.#fastRun.takeNumber()
    if (id >= 0) return id
    if (!this.#source.nextIsSafe() || this.#source.take(1, this.#run) === 0) return undefined
    return this.#run.number
  }

  tryNextText(): string | undefined {
    if (this.#definition.format?.needsNode) return undefined
    const id = this.tryNext()
    return id === undefined ? undefined : this.#text(id, this.#definition.format)
  }

  async next(options: WaitOptions = {}): Promise<bigint> {
    const id = options.signal?.aborted ? undefined : this.tryNext()
    return id ?? (await this.#source.draw(1, options))[0]!.first
  }

  async nextNumber(options: WaitOptions = {}): Promise<number> {
    const id = options.signal?.aborted ? undefined : this.tryNextNumber()
    return id ?? (await this.#source.draw(1, { ...options, safe: true }))[0]!.number
  }

  async nextText(options: WaitOptions = {}): Promise<string> {
    const { format } = this.#definition
    // The index of the node that issues it is part of such a text.
    if (format?.needsNode) return (await this.#deps.nodes.send(nextRequest(this.name, 1), options.signal))[0]!
    return this.#text(await this.next(options), format)
  }

  async nextBatch(count: number, options: WaitOptions = {}): Promise<bigint[]> {
    if (!Number.isSafeInteger(count) || count < 1 || count > countMax)
      throw new FahaoError('ERR', `count must be a whole number from 1 to ${countMax}, not ${count}`)
    const ids: bigint[] = []
    for (const run of await this.#source.draw(count, options))
      for (let index = 0; index < run.count; index++) ids.push(run.at(index))
    return ids
  }

  stats(): GeneratorStats {
    return this.#source.stats()
  }

  /** Ends it: calls reject with `reason`. */
  close(reason: Error): Promise<void> {
    return this.#source.close(reason)
  }

  #text(id: bigint, format: Format | undefined): string {
    if (format === undefined) return String(id)
    return format.format(id, format.needsTime ? { unixUs: this.#timeline.burstUs() } : {})
  }
}
