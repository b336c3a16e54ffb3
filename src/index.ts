/**
 * The library: a node without transports, in this process.
 *
 * ```ts
 * await using fahao = await openFahao({ engine: 'sqlite:./ids.db' })
 * const order = await fahao.open('order', { kind: 'sequence' })
 * await order.next() // 1n
 * ```
 */
import { everything } from './auth/access.ts'
import { calls, inWordsOf } from './base/advice.ts'
import { checkCount } from './base/check-count.ts'
import { atEndOfCallback } from './base/clock.ts'
import { FahaoError, hasCode } from './base/errors.ts'
import { globMatcher } from './base/glob.ts'
import { emptyRow, type FastRuns } from './buffers/fast-runs.ts'
import type { Catalogue, Generator, GeneratorChanges } from './catalogue/catalogue.ts'
import { definitionText } from './catalogue/definition.ts'
import type { GeneratorInput } from './catalogue/generator-options.ts'
import { type FahaoOptions, libraryConfig } from './config/library-options.ts'
import { DecimalTexts } from './ids/decimal-texts.ts'
import { type IdInput, takesAny } from './ids/gene.ts'
import type { GeneratorDescription, ListedGenerator, ListOptions } from './ids/generator-description.ts'
import { decimalText } from './ids/id-text.ts'
import type { MomentInput } from './ids/moment.ts'
import type { GeneratorBounds } from './ids/moment-bounds.ts'
import { type Range as IdRange, Run, rangesOf } from './ids/run.ts'
import { WideFormat } from './ids/wide-format.ts'
import type { DrawOptions, IssuerStats, Kind } from './issuing/issuer.ts'
import type { FahaoNode } from './node/node.ts'
import { startNode } from './node/start.ts'
import { type Drawn, drawFor, existing } from './operations/drawing.ts'
import { generatorBounds, smallestIdAt } from './operations/moments.ts'

export { errorRegistry } from './base/error-texts.ts'
export { type ErrorCode, FahaoError } from './base/errors.ts'
export type { LogEvent } from './base/events.ts'
export type { GeneratorInput } from './catalogue/generator-options.ts'
export type { FahaoOptions } from './config/library-options.ts'
export type { GeneInput, IdInput } from './ids/gene.ts'
export type { GeneratorDescription, ListedGenerator, ListOptions } from './ids/generator-description.ts'
export type { MomentInput } from './ids/moment.ts'
export type { GeneratorBounds, IdBounds } from './ids/moment-bounds.ts'
export type { Range as IdRange } from './ids/run.ts'
export type { IssuerStats, Kind } from './issuing/issuer.ts'

/** Options of a call that may wait, and what it gives for its ids: genes, a moment; with a `key` a repeated call gets the same ids. */
export type WaitOptions = IdInput & {
  /** Ends the wait: the call rejects with the reason of the signal, an AbortError or a TimeoutError unless it was given one. No id is lost. */
  readonly signal?: AbortSignal
}

/** The most ids of one call. */
const countMax = 10 ** 12
/** The most ids of one array, as of fahao-client. */
const batchMax = 1_000_000
/** At how many names a page of a list looks. */
const pageLooks = 1000

/** Opens a node in this process. Rejects with CONFIG or ENGINE. */
export async function openFahao(options: FahaoOptions = {}): Promise<Fahao> {
  const { onEvent } = options
  return new Fahao(await startNode(libraryConfig(options), onEvent ? { onEvent } : {}))
}

/** An open node: the generators of one store. */
export class Fahao {
  readonly #node: FahaoNode

  /** @internal Use `openFahao`. */
  constructor(node: FahaoNode) {
    this.#node = node
  }

  /**
   * Opens the generator of this name. With `options` it is created if it does not exist; EXISTS if it exists and
   * differs. Without options it must exist: NOGENERATOR.
   */
  async open(name: string, options?: GeneratorInput): Promise<FahaoGenerator> {
    const { catalogue } = this.#node
    const opening = options === undefined ? catalogue.open(name) : catalogue.create(name, options)
    return new FahaoGenerator(this.#node, await inOwnWords(opening))
  }

  /**
   * Changes options. A change of a fixed option starts a new incarnation, above every id of the old one. `floor`, of a sequence
   * or segment: ids from there on; with `now`, also where other nodes have buffered some below.
   */
  async alter(name: string, changes: GeneratorChanges): Promise<FahaoGenerator> {
    return new FahaoGenerator(this.#node, await inOwnWords(this.#node.catalogue.alter(name, changes)))
  }

  /** Drops a generator; the store keeps its bound. Resolves to whether the generator existed. */
  drop(name: string): Promise<boolean> {
    return this.#node.catalogue.drop(name)
  }

  /** What the store and this node know of a generator, in use or not. NOGENERATOR if there is none. */
  async describe(name: string): Promise<GeneratorDescription> {
    const { catalogue } = this.#node
    const { definition, incarnation, mode, leader, bound, lastIssued, exhaustedAt, notes, present } =
      await inOwnWords(catalogue.info(name))
    const options = Object.fromEntries(definitionText(definition))
    const { kind } = definition
    const period = present && {
      presentPeriod: present.label,
      periodEnds: present.ends,
      leftInPeriod: present.left,
    }
    return {
      name,
      kind,
      options,
      incarnation,
      mode,
      leader,
      bound,
      lastIssued,
      ...period,
      exhaustedAt,
      notes,
    }
  }

  /**
   * The ranges of the ids of the moments from `from` up to, and without, `to`; without `to` of all later moments too. NOGENERATOR if
   * there is no such generator, WRONGTYPE if it is made of a counter.
   */
  async bounds(name: string, from: MomentInput, to?: MomentInput): Promise<GeneratorBounds> {
    return generatorBounds(await this.#existing(name), from, to)
  }

  /** The smallest id of a moment. Rejects as `bounds`, with ERR before the epoch of the layout, and EXHAUSTED past its end. */
  async smallestIdAt(name: string, moment: MomentInput): Promise<bigint> {
    return smallestIdAt(await this.#existing(name), moment)
  }

  #existing(name: string): Promise<Generator> {
    return inOwnWords(existing(this.#node.catalogue, name))
  }

  /** The generators of the store, in byte order of their names; read page by page. */
  async *list({ match = '*' }: ListOptions = {}): AsyncGenerator<ListedGenerator> {
    const wanted = globMatcher(match)
    let after: string | undefined
    do {
      const { found, next } = await this.#node.catalogue.page({ after, looks: pageLooks, wanted })
      for (const { name, definition } of found) yield { name, kind: definition.kind }
      after = next
    } while (after !== undefined)
  }

  /** Stops issuing, releases buffered ids, and closes the store. */
  close(): Promise<void> {
    return this.#node.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** A loop that never yields checks again after this many ids. What else it does meanwhile may take long, so it is not more. */
const coveredCalls = 128

/** A generator for callers in this process. The type that a method returns never depends on the size of ids. */
export class FahaoGenerator {
  readonly name: string
  readonly #catalogue: Catalogue
  readonly #mayIssue: () => boolean
  /** Calls in this callback that the last check still covers. */
  #covered = 0
  readonly #run = new Run()
  readonly #runs: FastRuns
  readonly #decimals = new DecimalTexts()
  #generator: Generator
  /** The generator's row, and its generation: of a row that was freed it is another one. */
  #row = emptyRow
  #generation = 0
  /** `FastRuns.freed` when the generation was compared. */
  #freed = 0
  #isDecimal = true
  #wide: WideFormat | undefined

  /** @internal Use `Fahao.open`. */
  constructor({ catalogue, mayIssue }: FahaoNode, generator: Generator) {
    this.name = generator.name
    this.#catalogue = catalogue
    this.#mayIssue = mayIssue
    this.#runs = catalogue.runs
    this.#generator = generator
    this.#use(generator)
  }

  /** sequence, segment, timestamp or snowflake. */
  get kind(): Kind {
    return this.#generator.kind
  }

  /** The next id if one is buffered; never waits. Undefined: call `next`. */
  tryNext(): bigint | undefined {
    this.#check()
    return this.#take() ? this.#run.first : undefined
  }

  /** The next id as a number if one is buffered and at most 2^53−1; never waits. Otherwise it uses no id. */
  tryNextNumber(): number | undefined {
    this.#check()
    if (this.#hasRow) {
      const number = this.#runs.takeNumber(this.#row)
      if (number >= 0) return number
    }
    return this.#takeNumber()
  }

  /** The next id as text, as of `nextText`, if one is buffered; never waits. Undefined: call `nextText`. */
  tryNextText(): string | undefined {
    this.#check()
    if (!this.#take()) return undefined
    const { hi, lo } = this.#run
    if (this.#isDecimal) return this.#decimals.of(hi, lo)
    return this.#wide === undefined ? this.#generator.text(this.#run.first) : this.#wide.textOf(hi, lo)
  }

  /**
   * Writes the next id into `bytes` from `at` on, 16 bytes as its UUID or ULID has them, 12 of an ObjectId, if one is buffered;
   * never waits. False: call `nextBytes`. Throws WRONGTYPE if the generator has no such format.
   */
  tryNextBytes(bytes: Uint8Array, at = 0): boolean {
    this.#wideFormat().checkRoom(bytes, at)
    this.#check()
    if (!this.#take()) return false
    this.#wideFormat().writeBytes(this.#run.hi, this.#run.lo, bytes, at)
    return true
  }

  /** The next id. Rejects with DRY, EXHAUSTED, NOGENERATOR, … after waiting for at most `issueTimeout`. */
  async next(options?: WaitOptions): Promise<bigint> {
    const id = takesAny(options) ? this.tryNext() : undefined
    return id ?? (await this.#draw(1, options)).runs[0]!.first
  }

  /** The next id as a number. Rejects with UNSAFE, and uses no id, when the id could exceed 2^53−1. */
  async nextNumber(options?: WaitOptions): Promise<number> {
    const id = takesAny(options) ? this.tryNextNumber() : undefined
    return id ?? (await this.#draw(1, { ...options, safe: true })).runs[0]!.number
  }

  /** The next id as text in the generator's format; decimal if it has none. */
  async nextText(options?: WaitOptions): Promise<string> {
    const text = takesAny(options) ? this.tryNextText() : undefined
    return text ?? (await this.nextTexts(1, options))[0]!
  }

  /** The next id as bytes: 16 as its UUID or ULID has them, 12 of an ObjectId. WRONGTYPE if the generator has no such format. */
  async nextBytes(options?: WaitOptions): Promise<Uint8Array> {
    const bytes = new Uint8Array(this.#wideFormat().size)
    if (takesAny(options) && this.tryNextBytes(bytes)) return bytes
    const run = (await this.#draw(1, options)).runs[0]!
    this.#wideFormat().writeBytes(run.hi, run.lo, bytes, 0)
    return bytes
  }

  /** The next `count` ids, at most 1,000,000, all or none. */
  async nextBatch(count: number, options?: WaitOptions): Promise<bigint[]> {
    checkCount(count, batchMax)
    const ids: bigint[] = []
    for (const run of (await this.#draw(count, options)).runs) {
      for (let index = 0; index < run.count; index++) ids.push(run.at(index))
    }
    return ids
  }

  /** The next `count` ids as few half-open ranges. WRONGTYPE where ids are not contiguous. */
  async range(count: number, options?: WaitOptions): Promise<IdRange[]> {
    checkCount(count, countMax)
    if (!this.#generator.contiguous) {
      throw new FahaoError('WRONGTYPE', `ids of '${this.name}' are not contiguous; use nextBatch`)
    }
    return rangesOf((await this.#draw(count, options)).runs)
  }

  /** The next `count` ids as texts, at most 1,000,000, all or none. */
  async nextTexts(count: number, options?: WaitOptions): Promise<string[]> {
    checkCount(count, batchMax)
    const { runs, text = decimalText } = await this.#draw(count, options)
    return runs.flatMap((run) => Array.from({ length: run.count }, (_, at) => text.text(run.at(at))))
  }

  /** The newest id that this node or a predecessor has issued; undefined if none. */
  lastIssued(): bigint | undefined {
    return this.#generator.lastIssued()
  }

  /** Figures since this process opened the generator. */
  stats(): IssuerStats {
    return this.#generator.stats()
  }

  #draw(count: number, options?: DrawOptions): Promise<Drawn> {
    return inOwnWords(this.#drawFrom(count, options))
  }

  /** The path when no id is buffered, and after the generator was altered or dropped. */
  async #drawFrom(count: number, options: DrawOptions = {}): Promise<Drawn> {
    try {
      return await drawFor(this.#generator, count, options, everything.user)
    } catch (error) {
      if (!hasCode(error, 'NOGENERATOR')) throw error
      // The generator was dropped; another one of this name may exist by now.
      this.#use(await this.#catalogue.open(this.name))
      return drawFor(this.#generator, count, options, everything.user)
    } finally {
      this.#follow()
    }
  }

  /**
   * Stops a strict kind if this process may no longer issue it, and drops what a copy of this memory may hold. One check
   * per callback is enough.
   */
  #check(): void {
    if (this.#covered-- > 0) return
    this.#covered = coveredCalls
    this.#endCoverSoon()
    this.#mayIssue()
  }

  readonly #endCoverSoon = atEndOfCallback(() => {
    this.#covered = 0
  })

  /** Whether the row is still the generator's. */
  get #hasRow(): boolean {
    return this.#runs.freed === this.#freed || this.#stillHasRow()
  }

  #stillHasRow(): boolean {
    if (this.#runs.generation(this.#row) !== this.#generation) return false
    this.#freed = this.#runs.freed
    return true
  }

  /** Takes one id into `#run`, if one is buffered. */
  #take(): boolean {
    if (this.#hasRow && this.#runs.take(this.#row, 1, this.#run) > 0) return true
    return this.#generator.take(1, this.#run) > 0 || this.#takeFromSuccessor()
  }

  /** The path of `tryNextNumber` when the row has no id for it. */
  #takeNumber(): number | undefined {
    let number = this.#generator.takeNumber()
    if (number >= 0) return number
    this.#follow()
    number = this.#generator.takeNumber()
    return number >= 0 ? number : undefined
  }

  /** Uses the generator that is open under the name, which another caller may have altered. */
  #follow(): void {
    const generator = this.#catalogue.find(this.name)
    if (generator !== undefined) this.#use(generator)
  }

  #use(generator: Generator): void {
    this.#generator = generator
    this.#row = generator.row
    this.#generation = this.#runs.generation(this.#row)
    this.#freed = this.#runs.freed
    this.#isDecimal = generator.definition.format === undefined
    this.#wide = generator.format instanceof WideFormat ? generator.format : undefined
  }

  #wideFormat(): WideFormat {
    if (this.#wide !== undefined) return this.#wide
    throw new FahaoError(
      'WRONGTYPE',
      `'${this.name}' has no format of bytes; use nextText, or give it the format uuidv7`,
    )
  }

  #takeFromSuccessor(): boolean {
    const before = this.#generator
    this.#follow()
    return this.#generator !== before && this.#generator.take(1, this.#run) > 0
  }
}

const say = calls('fahao.open')

/** Settles as `result` does; errors advise in the words of this library. */
async function inOwnWords<Result>(result: Promise<Result>): Promise<Result> {
  try {
    return await result
  } catch (error) {
    throw inWordsOf(say, error)
  }
}
