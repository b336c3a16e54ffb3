/**
 * The library: a node without transports, in this process.
 *
 * ```ts
 * await using fahao = await openFahao({ engine: 'sqlite:./ids.db' })
 * const order = await fahao.open('order', { kind: 'sequence' })
 * await order.next() // 1n
 * ```
 */
import { FahaoError, hasCode } from './base/errors.ts'
import type { Catalogue, Generator } from './catalogue/catalogue.ts'
import type { GeneratorInput } from './catalogue/options.ts'
import { type IdRange, Run, rangesOf } from './ids/run.ts'
import { type DrawOptions, type IssuerStats, isStrict, type Kind } from './issuing/issuer.ts'
import { loadConfig } from './node/config.ts'
import { hyphenated } from './node/config-schema.ts'
import type { FahaoNode } from './node/node.ts'
import { startNode } from './node/start.ts'

export { type ErrorCode, errorRegistry, FahaoError } from './base/errors.ts'
export type { GeneratorInput } from './catalogue/options.ts'
export type { IdRange } from './ids/run.ts'
export type { IssuerStats, Kind } from './issuing/issuer.ts'

/** How to open Fahao in process. Each option means what the setting of the same name means to the server. */
export type FahaoOptions = {
  /** Where bounds are kept: `sqlite:FILE` (default `sqlite:./data/fahao.db`) or `memory:`. */
  readonly engine?: string
  /** Where snowflakes get their node part from: `pool` (default), `static:N`, `env:NAME`, `hostname`, … */
  readonly workerId?: string
  /** What `{node}` shows in formats. */
  readonly nodeIndex?: number
  /** Generators to create when they are first asked for: `['order:*=sequence']`. */
  readonly autoCreate?: readonly string[]
  /** How far snowflakes reserve time ahead: `10m`. */
  readonly lead?: string
  /** A clock that jumps further ahead is followed only once it has stayed there for 5 s: `1h`. */
  readonly leadMax?: string
  /** How long a call to the engine may take: `5s`. */
  readonly callTimeout?: string
  /** How many callers of one generator may wait. */
  readonly waitersMax?: number
  /** Told what a log should say: claims of worker ids, failed refills, clock steps. */
  readonly onEvent?: (event: { readonly level: 'info' | 'warn' | 'error'; readonly message: string }) => void
}

/** How to wait for ids. */
export type WaitOptions = {
  /** Gives up waiting: rejects with ABORTED, and no id is lost. */
  readonly signal?: AbortSignal
}

/** How many ids a call can ask for. */
const countMax = 10 ** 12

/** Opens a node in this process. Rejects with CONFIG or ENGINE. */
export async function openFahao(options: FahaoOptions = {}): Promise<Fahao> {
  const { onEvent, ...settings } = options
  const flags = Object.entries(settings).map(([name, value]) => [hyphenated(name), flagValue(value)])
  const { config } = loadConfig({ flags: { resp: 'off', http: 'off', ...Object.fromEntries(flags) } })
  return new Fahao(await startNode(config, onEvent ? { onEvent } : {}))
}

/** An open node: the generators of one store. */
export class Fahao {
  readonly #node: FahaoNode

  /** @internal Use `openFahao`. */
  constructor(node: FahaoNode) {
    this.#node = node
  }

  /**
   * The generator of this name: created, or checked to be what `options` ask for (EXISTS when it differs).
   * Without options it must exist: NOGENERATOR.
   */
  async open(name: string, options?: GeneratorInput): Promise<FahaoGenerator> {
    const { catalogue } = this.#node
    const generator =
      options === undefined ? await catalogue.open(name) : await catalogue.create(name, options)
    return new FahaoGenerator(this.#node, generator)
  }

  /** Changes options. What is fixed starts a new incarnation, above every id of the old one. */
  async alter(name: string, changes: Partial<GeneratorInput>): Promise<FahaoGenerator> {
    return new FahaoGenerator(this.#node, await this.#node.catalogue.alter(name, changes))
  }

  /** Drops a generator; its name remembers what was issued. Resolves to whether there was one. */
  drop(name: string): Promise<boolean> {
    return this.#node.catalogue.drop(name)
  }

  /** Stops issuing, gives back what is in hand, and closes the store. */
  close(): Promise<void> {
    return this.#node.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** A loop that never yields looks again after so many ids, which take less than a microsecond. */
const coveredCalls = 64

/** A generator, as callers in this process use it. What a method returns never depends on how large ids are. */
export class FahaoGenerator {
  readonly name: string
  readonly #catalogue: Catalogue
  readonly #mayIssue: (() => boolean) | undefined
  /** How many calls of this callback the last look at the ownership of the store still covers. */
  #covered = 0
  readonly #run = new Run()
  #generator: Generator

  /** @internal Use `Fahao.open`. */
  constructor({ catalogue, mayIssue }: FahaoNode, generator: Generator) {
    this.name = generator.name
    this.#catalogue = catalogue
    this.#mayIssue = mayIssue
    this.#generator = generator
  }

  /** sequence, segment, timestamp or snowflake. */
  get kind(): Kind {
    return this.#generator.kind
  }

  /** The next id, if one is in hand; never waits. Undefined: ask `next`. */
  tryNext(): bigint | undefined {
    this.#heedOwner()
    if (this.#generator.take(1, this.#run) > 0 || this.#takeFromSuccessor()) return this.#run.first
    return undefined
  }

  /** The next id as a number, if one is in hand and at most 2^53−1; never waits, and uses up nothing otherwise. */
  tryNextNumber(): number | undefined {
    this.#heedOwner()
    let number = this.#generator.takeNumber()
    if (number >= 0) return number
    this.#follow()
    number = this.#generator.takeNumber()
    return number >= 0 ? number : undefined
  }

  /** The next id. Rejects with DRY, EXHAUSTED, NOGENERATOR, … after waiting for at most `issueTimeout`. */
  async next(options?: WaitOptions): Promise<bigint> {
    const id = options?.signal?.aborted ? undefined : this.tryNext()
    return id ?? (await this.#draw(1, options))[0]!.first
  }

  /** The next id as a number. Rejects with UNSAFE, and uses up nothing, when it could be past 2^53−1. */
  async nextNumber(options?: WaitOptions): Promise<number> {
    const id = options?.signal?.aborted ? undefined : this.tryNextNumber()
    return id ?? (await this.#draw(1, { ...options, safe: true }))[0]!.number
  }

  /** The next id with its format around it; decimal without one. */
  async nextText(options?: WaitOptions): Promise<string> {
    const id = await this.next(options)
    return this.#generator.text(id)
  }

  /** The next `count` ids, all or none. */
  async nextBatch(count: number, options?: WaitOptions): Promise<bigint[]> {
    checkCount(count)
    const ids: bigint[] = []
    for (const run of await this.#draw(count, options)) {
      for (let index = 0; index < run.count; index++) ids.push(run.at(index))
    }
    return ids
  }

  /** The next `count` ids as few half-open ranges. WRONGTYPE where ids are not counted one by one. */
  async range(count: number, options?: WaitOptions): Promise<IdRange[]> {
    checkCount(count)
    if (!this.#generator.contiguous) {
      throw new FahaoError('WRONGTYPE', `ids of '${this.name}' are not contiguous; use nextBatch`)
    }
    const runs = await this.#draw(count, options)
    return rangesOf(runs)
  }

  /** The newest id issued, here or by a predecessor; undefined when there is none. */
  lastIssued(): bigint | undefined {
    return this.#generator.lastIssued()
  }

  /** Figures since it was opened here. */
  stats(): IssuerStats {
    return this.#generator.stats()
  }

  /** The path for when nothing is in hand, and for when another set of options has taken this one's place. */
  async #draw(count: number, options?: DrawOptions): Promise<Run[]> {
    try {
      return await this.#generator.draw(count, options)
    } catch (error) {
      if (!hasCode(error, 'NOGENERATOR')) throw error
      // Dropped: there may be another of this name by now.
      this.#generator = await this.#catalogue.open(this.name)
      return this.#generator.draw(count, options)
    } finally {
      this.#follow()
    }
  }

  /** A strict kind that this process may not issue any more is stopped when this returns. Once in a callback is enough. */
  #heedOwner(): void {
    if (this.#mayIssue === undefined || this.#covered-- > 0 || !isStrict(this.#generator.kind)) return
    this.#covered = coveredCalls
    queueMicrotask(this.#endOfCallback)
    this.#mayIssue()
  }

  readonly #endOfCallback = () => {
    this.#covered = 0
  }

  /** From now on the generator that is in use under the name, which may have been altered elsewhere. */
  #follow(): void {
    this.#generator = this.#catalogue.find(this.name) ?? this.#generator
  }

  #takeFromSuccessor(): boolean {
    const before = this.#generator
    this.#follow()
    return this.#generator !== before && this.#generator.take(1, this.#run) > 0
  }
}

function checkCount(count: number): void {
  if (!Number.isSafeInteger(count) || count < 1 || count > countMax)
    throw new FahaoError('ERR', `count must be a whole number from 1 to ${countMax}, not ${count}`)
}

function flagValue(value: unknown): string | readonly string[] | undefined {
  if (value === undefined || Array.isArray(value)) return value
  return String(value)
}
