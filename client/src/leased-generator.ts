/**
 * A generator as callers of this process see it, whatever its kind and definition become.
 *
 * Invariants
 *  1. One source issues at a time: that of the definition that the service described last. The source before it has
 *     dropped its ids then, and its callers ask the new one.
 *  2. A text is made by the format of the definition that is known when the id is there.
 *  3. The definition of a generator whose every id is requested, since its ids come without one, is read again when it is
 *     older than the leases of the others become: a snowflake may be leased again.
 */
import { checkCount } from '../../src/base/check-count.ts'
import { FahaoError, hasCode } from '../../src/base/errors.ts'
import type { FastRun } from '../../src/buffers/fast-runs.ts'
import { type IdInput, takesAny } from '../../src/ids/gene.ts'
import { max53 } from '../../src/ids/limits.ts'
import { Run } from '../../src/ids/run.ts'
import { type Definition, definitionOf } from './definition.ts'
import type { BatchOptions, ClientGenerator, GeneratorStats, Kind, WaitOptions } from './generator.ts'
import type { DrawOptions, IdSource } from './id-source.ts'
import {
  type Changes,
  firstGrant,
  type GeneratorDeps,
  type Granted,
  makeSource,
  runsOf,
  ttlOf,
  withSpan,
} from './open-source.ts'
import { RequestSource, unsafe } from './request-source.ts'
import { nextRequest } from './requests.ts'

/** The most ids of one call: their array takes a tenth of a second and 50 MB. */
const countMax = 1_000_000
/** The most alterations in a row that one call follows. */
const changesMax = 10

/** Opens a generator: asks the service for its definition, and for its first ids where it is issued here. */
export async function openGenerator(name: string, deps: GeneratorDeps): Promise<LeasedGenerator> {
  return new LeasedGenerator(name, await firstGrant(name, deps), deps)
}

/** The generator of one name in one client. */
export class LeasedGenerator implements ClientGenerator {
  readonly name: string
  readonly #deps: GeneratorDeps
  readonly #run = new Run()
  #definition: Definition
  #source: IdSource
  #fastRun: FastRun
  /** When the definition was read, on the monotonic clock in µs. */
  #readUs: number
  #reading: Promise<void> | undefined
  #closed: Error | undefined
  /** Figures of the sources before this one. */
  #before: GeneratorStats | undefined

  /** @internal Use `openGenerator`. */
  constructor(name: string, granted: Granted, deps: GeneratorDeps) {
    this.name = name
    this.#deps = deps
    this.#definition = definitionOf(granted.grant)
    this.#source = makeSource(name, granted, deps, this.#changes)
    this.#fastRun = this.#source.fastRun
    this.#readUs = granted.sentUs
  }

  get kind(): Kind {
    return this.#definition.kind
  }

  get isFormatted(): boolean {
    return this.#definition.format !== undefined
  }

  tryNext(): bigint | undefined {
    return this.#fastRun.take(1, this.#run) > 0 || this.#source.take(1, this.#run) > 0
      ? this.#run.first
      : undefined
  }

  tryNextNumber(): number | undefined {
    const id = this.#fastRun.takeNumber()
    return id >= 0 ? id : this.#takeNumber()
  }

  tryNextText(): string | undefined {
    if (this.#definition.format?.needsNode) return undefined
    const id = this.tryNext()
    return id === undefined ? undefined : this.#text(id)
  }

  async next(options: WaitOptions = {}): Promise<bigint> {
    const id = takesAny(options) ? this.tryNext() : undefined
    return id ?? (await this.#draw(1, options))[0]!.first
  }

  async nextNumber(options: WaitOptions = {}): Promise<number> {
    const id = takesAny(options) ? this.tryNextNumber() : undefined
    return id ?? (await this.#draw(1, { ...options, safe: true }))[0]!.number
  }

  async nextText(options: WaitOptions = {}): Promise<string> {
    // The index of the node that issues it is part of such a text.
    if (this.#definition.format?.needsNode)
      return (await this.#deps.nodes.send(nextRequest(this.name, 1, options), options))[0]!
    return this.#text(await this.next(options))
  }

  async nextTexts(count: number, options: WaitOptions = {}): Promise<string[]> {
    if (!this.#definition.format?.needsNode)
      return (await this.nextBatch(count, options)).map((id) => this.#text(id))
    checkCount(count, countMax)
    return this.#deps.nodes.send(nextRequest(this.name, count, options), options)
  }

  async nextBytes(options: WaitOptions = {}): Promise<Uint8Array> {
    if (this.#definition.format?.bytes(0n) !== undefined) {
      const id = await this.next(options)
      const bytes = this.#definition.format.bytes(id)
      if (bytes !== undefined) return bytes
    }
    throw new FahaoError(
      'WRONGTYPE',
      `'${this.name}' has no format of bytes; use nextText, or give it the format uuidv7`,
    )
  }

  async nextBatch(count: number, options: BatchOptions = {}): Promise<bigint[]> {
    checkCount(count, countMax)
    const ids: bigint[] = []
    for (const run of await this.#draw(count, options))
      for (let index = 0; index < run.count; index++) ids.push(run.at(index))
    return ids
  }

  stats(): GeneratorStats {
    return sumOf(this.#before, this.#source.stats())
  }

  /** Throws where an invariant of what it holds is broken. */
  assertInvariants(): void {
    this.#source.assertInvariants()
  }

  /** Drops what a copy of this memory may hold too. */
  drop(): void {
    this.#source.drop()
  }

  /** Ends the generator: calls reject with `reason`, and what is left is returned. */
  async close(reason: Error): Promise<void> {
    this.#closed = reason
    await this.#source.close(reason)
  }

  #takeNumber(): number | undefined {
    if (this.#source.nextIsSafe() && this.#source.take(1, this.#run) > 0) return this.#run.number
    // What is low is refilled by a take; one of no ids takes none.
    this.#source.take(0, this.#run)
    return undefined
  }

  /** Asks the source for ids, and the source that replaces it meanwhile. */
  async #draw(count: number, options: DrawOptions & IdInput): Promise<Run[]> {
    if (!takesAny({ ...options, signal: undefined })) {
      this.#readAgain()
      return this.#drawByRequest(count, options)
    }
    for (let changes = 0; ; changes++) {
      this.#readAgain()
      const source = this.#source
      try {
        const contiguous = options.contiguous === true && this.#definition.isContiguous
        return await source.draw(count, { ...options, contiguous })
      } catch (error) {
        const isReplaced = hasCode(error, 'STALE') && source !== this.#source
        const isAltered = hasCode(error, 'WRONGTYPE')
        if (changes === changesMax || (!isReplaced && !isAltered)) throw error
        if (isAltered) await this.#read()
        if (source === this.#source) throw error
      }
    }
  }

  /** By a request of its own: what is buffered has no gene, and is not of the past. */
  async #drawByRequest(count: number, options: DrawOptions & IdInput): Promise<Run[]> {
    const { safe, signal, contiguous: _, ...input } = options
    const request = nextRequest(this.name, count, input, true)
    const runs = runsOf(await this.#deps.nodes.send(request, { signal }))
    const none = { buffered: 0, lastsMs: 0, failures: 0, waiting: 0 }
    this.#before = sumOf(this.#before, { ...none, issued: runs.length, requests: 1, waits: 1 })
    if (safe && runs.some((run) => run.first > max53)) throw unsafe()
    return runs
  }

  #readAgain(): void {
    const { clock, settings } = this.#deps
    if (!(this.#source instanceof RequestSource)) return
    if (clock.monoUs() - this.#readUs < ttlOf(settings) * 1000) return
    this.#readUs = clock.monoUs()
    this.#read().catch(() => {})
  }

  /** Reads the definition of the generator. */
  #read(): Promise<void> {
    this.#reading ??= firstGrant(this.name, this.#deps)
      .then((granted) => {
        const isByRequest = granted.grant.lease === undefined
        const isSame =
          definitionOf(granted.grant).identity === this.#definition.identity &&
          isByRequest === this.#source instanceof RequestSource
        if (!isSame && this.#closed === undefined) this.#change(granted)
      })
      .finally(() => {
        this.#reading = undefined
      })
    return this.#reading
  }

  #change(answer: Granted): void {
    if (this.#closed !== undefined) return
    const before = this.#source
    const granted = withSpan(this.name, answer, this.#deps)
    // Nothing is changed when one of these throws: the ids that are left have the earlier format.
    const definition = definitionOf(granted.grant)
    const source = makeSource(this.name, granted, this.#deps, this.#changes)
    this.#definition = definition
    this.#readUs = granted.sentUs
    this.#source = source
    this.#fastRun = this.#source.fastRun
    this.#before = sumOf(this.#before, before.stats())
    this.#deps.settings.onEvent({ type: 'generator-changed', generator: this.name })
    void before.close(new FahaoError('STALE', `generator '${this.name}' was altered; ask again`))
  }

  readonly #changes: Changes = {
    onChange: (granted) => this.#change(granted),
    onAltered: () => void this.#read().catch(() => {}),
  }

  #text(id: bigint): string {
    const { format } = this.#definition
    if (format === undefined) return String(id)
    return format.format(id, format.needsTime ? { unixUs: this.#deps.time.timeline.burstUs() } : {})
  }
}

function sumOf(before: GeneratorStats | undefined, now: GeneratorStats): GeneratorStats {
  if (before === undefined) return now
  return {
    issued: before.issued + now.issued,
    buffered: now.buffered,
    lastsMs: now.lastsMs,
    requests: before.requests + now.requests,
    failures: before.failures + now.failures,
    waits: before.waits + now.waits,
    waiting: now.waiting,
  }
}
