/** A catalogue in memory: real definitions and runs, generators that count up, and whose every step a test can see and bend. */

import { FahaoError } from '../../../src/base/errors.ts'
import { Moved } from '../../../src/base/moved.ts'
import type { Parts } from '../../../src/base/turns.ts'
import { emptyRow, FastRuns } from '../../../src/buffers/fast-runs.ts'
import type {
  Catalogue,
  Generator,
  GeneratorChanges,
  GeneratorInfo,
  GeneratorRange,
  ListPart,
  PartOfList,
  Sample,
} from '../../../src/catalogue/catalogue.ts'
import { type Definition, define, differences } from '../../../src/catalogue/definition.ts'
import { formatIn } from '../../../src/catalogue/definition-formats.ts'
import { type EndedFigures, EndedGenerators } from '../../../src/catalogue/ended-figures.ts'
import type { MoveOptions } from '../../../src/catalogue/floor.ts'
import { type GeneratorInput, parseOptions } from '../../../src/catalogue/generator-options.ts'
import { checkName } from '../../../src/catalogue/name-rules.ts'
import type { DrawnOnce } from '../../../src/catalogue/once.ts'
import { sampleOf } from '../../../src/catalogue/survey.ts'
import { Run } from '../../../src/ids/run.ts'
import { noCallers } from '../../../src/issuing/caller-ids.ts'
import type { DrawOptions, IssuerStats } from '../../../src/issuing/issuer.ts'
import { RefillTimes } from '../../../src/issuing/refills.ts'
import { partOf } from './part-of.ts'

/** The time in which definitions are made, in Unix µs. */
export const nowUs = Date.UTC(2026, 10, 1) * 1000
const noStats: IssuerStats = {
  ...noCallers,
  issued: 0,
  ratePerSecond: 0,
  peakPerSecond: 0,
  inHand: 1000,
  inHandSeconds: Number.POSITIVE_INFINITY,
  reserved: 1000,
  released: 0,
  dropped: 0,
  lost: 0,
  refills: 1,
  refillFailures: 0,
  refillsFailing: 0,
  refillSeconds: 0.25,
  waits: 0,
  drySeconds: 0,
  waiting: 0,
}

/** A generator that counts up from `start`, by its increment. */
export class FakeGenerator implements Generator {
  readonly row = emptyRow
  readonly name: string
  definition: Definition
  readonly incarnation = 1n
  readonly mode = 'local'
  readonly issuesHere = true
  /** The next id. */
  next: bigint
  /** Whether the newest move was to go through whatever it gives up. */
  forced = false
  /** The floor of the newest alteration. */
  floor: bigint | undefined
  /** While true, `take` has nothing and `draw` waits for `wet` or its signal. */
  dry = false
  /** While true, `take` has nothing, as with an empty buffer; `draw` ends that. */
  empty = false
  /** How the newest `draw` was asked. */
  lastDraw: DrawOptions = {}
  /** How many ids were ever taken. */
  drawn = 0
  /** What `draw` rejects with, if set. */
  failure: Error | undefined
  /** Calls of `draw` that were aborted. */
  aborted = 0
  figures: Partial<IssuerStats> = {}
  /** Ids that callers have reported. */
  reported = 0
  /** Ids of ranges of other nodes that callers gave back here. */
  gaps = 0
  /** How many ids each range that was given back had. */
  readonly returned: number[] = []
  #last: bigint | undefined
  readonly #waiting = new Set<() => void>()

  constructor(name: string, definition: Definition) {
    this.name = name
    this.definition = definition
    this.next = definition.start ?? 1n
  }

  get kind() {
    return this.definition.kind
  }

  get stride(): number {
    return this.definition.increment ?? 1
  }

  get contiguous(): boolean {
    const { within, scramble } = this.definition
    return this.definition.increment === 1 && within === 'ordered' && scramble === false
  }

  /** How many ids there are from `start` to the next one. */
  get issued(): number {
    return Number(this.next - (this.definition.start ?? 1n)) / this.stride
  }

  ledger(): Promise<never> {
    return Promise.reject(new FahaoError('WRONGTYPE', 'it keeps no ledger'))
  }

  take(count: number, run: Run): number {
    if (this.dry || this.empty) return 0
    run.set(this.next, count, this.stride)
    this.#last = run.at(count - 1)
    this.next = this.#last + BigInt(this.stride)
    this.drawn += count
    return count
  }

  async draw(count: number, options: DrawOptions = {}): Promise<Run[]> {
    if (this.failure !== undefined) throw this.failure
    if (options.safe && !this.nextIsSafe()) throw new FahaoError('UNSAFE', 'past 2^53-1')
    options.signal?.throwIfAborted()
    this.lastDraw = options
    this.empty = false
    if (this.dry) await this.#wait(options.signal)
    const run = new Run()
    this.take(count, run)
    return [run]
  }

  /** Ends a drought: those who wait are served. */
  wet(): void {
    this.dry = false
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  takeNumber(): number {
    const run = new Run()
    return this.nextIsSafe() && this.take(1, run) > 0 ? run.number : -1
  }

  noteDrawn(ids: number): void {
    this.reported += ids
  }

  noteReturned(ids: number): void {
    this.gaps += ids
  }

  nextIsSafe(): boolean {
    return this.next <= BigInt(Number.MAX_SAFE_INTEGER)
  }

  lastIssued(): bigint | undefined {
    return this.#last ?? (this.issued === 0 ? undefined : this.next - BigInt(this.stride))
  }

  stats(): IssuerStats {
    return {
      ...noStats,
      drawn: this.reported,
      issued: this.issued,
      waiting: this.#waiting.size,
      ...this.figures,
    }
  }

  writer() {
    return formatIn(this.definition)?.texts()
  }

  text(id: bigint): string {
    return formatIn(this.definition)?.format(id) ?? String(id)
  }

  parse(text: string): bigint {
    const format = formatIn(this.definition)
    if (format !== undefined) return format.parse(text)
    if (/^\d+$/.test(text)) return BigInt(text)
    throw new FahaoError('ERR', `'${text}' is no id of '${this.name}'`)
  }

  /** Every request with a key is the first one. */
  async drawOnce(count: number, request: DrawOptions): Promise<DrawnOnce> {
    return { runs: await this.draw(count, request), text: this.writer(), isRepeat: false }
  }

  async leaseRange(ids: number): Promise<GeneratorRange> {
    if (this.failure !== undefined) throw this.failure
    if (this.kind !== 'segment') throw new FahaoError('WRONGTYPE', 'ranges are leased of kind segment only')
    const run = new Run()
    this.take(ids, run)
    const end = this.next
    const release = async (from: bigint) => {
      const unused = Number(end - from) / this.stride
      if (this.next !== end) return { ids: unused, isBack: false }
      this.next = from
      this.returned.push(unused)
      return { ids: unused, isBack: true }
    }
    const { incarnation, definition } = this
    return { start: run.first, end, ids, release, incarnation, definition, key: undefined }
  }

  async ledHere(): Promise<this> {
    return this
  }

  async skips(): Promise<number> {
    return 0
  }

  async moveTo(newest: bigint, { force = false }: MoveOptions = {}): Promise<void> {
    this.forced = force
    if (newest < (this.#last ?? 0n)) throw new FahaoError('ERR', 'ids above it may have been issued')
    this.#last = newest
    this.next = newest + BigInt(this.stride)
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(resolve)
      signal?.addEventListener('abort', () => {
        this.#waiting.delete(resolve)
        this.aborted++
        reject(signal.reason)
      })
    })
  }
}

/** The catalogue: a name that matches `auto-*` is created as a sequence when it is opened. */
export class FakeCatalogue implements Catalogue {
  readonly ended = new EndedGenerators().figures
  readonly refillTimes = new RefillTimes()
  readonly runs = new FastRuns()
  readonly generators = new Map<string, FakeGenerator>()
  /** Names defined but not in use: `find` does not know them until `open`. */
  readonly asleep = new Set<string>()
  /** How often a part of the list was asked for. */
  pages = 0

  /** Adds a generator. */
  add(name: string, options: GeneratorInput): FakeGenerator {
    const generator = new FakeGenerator(name, define(parseOptions(options), nowUs))
    this.generators.set(name, generator)
    return generator
  }

  /** How many ids all generators have issued. */
  get issued(): number {
    return [...this.generators.values()].reduce((sum, { issued }) => sum + issued, 0)
  }

  /** How many ids all generators ever handed out. */
  get drawn(): number {
    return [...this.generators.values()].reduce((sum, { drawn }) => sum + drawn, 0)
  }

  find(name: string): FakeGenerator | undefined {
    return this.asleep.has(name) ? undefined : this.generators.get(name)
  }

  async open(name: string): Promise<FakeGenerator> {
    checkName(name)
    this.asleep.delete(name)
    if (name.startsWith('auto-') && !this.generators.has(name)) return this.add(name, { kind: 'sequence' })
    return this.#existing(name)
  }

  async whenOpen<Result>(
    name: string,
    use: (generator: Generator) => Result | Promise<Result>,
  ): Promise<Result> {
    return use(this.find(name) ?? (await this.open(name)))
  }

  async exists(name: string): Promise<boolean> {
    checkName(name)
    return this.generators.has(name)
  }

  async create(name: string, options: GeneratorInput): Promise<FakeGenerator> {
    checkName(name)
    const wanted = define(parseOptions(options), nowUs)
    const old = this.generators.get(name)
    if (old === undefined) return this.add(name, options)
    if (differences(old.definition, wanted).length > 0)
      throw new FahaoError('EXISTS', `'${name}' exists with another definition`)
    return old
  }

  async createUnopened(name: string, options: GeneratorInput, onlyNew = false): Promise<boolean> {
    const isNew = !this.generators.has(name)
    if (!isNew && onlyNew) return false
    await this.create(name, options)
    if (isNew) this.asleep.add(name)
    return isNew
  }

  async alter(name: string, changes: GeneratorChanges): Promise<FakeGenerator> {
    const generator = this.#existing(name)
    const { floor, force = false, ...options } = changes
    const known = Object.entries(generator.definition).filter(([, value]) => value !== undefined)
    generator.definition = define(parseOptions({ ...Object.fromEntries(known), ...options }), nowUs)
    if (floor !== undefined) generator.next = generator.floor = BigInt(floor)
    generator.forced = force
    return generator
  }

  async drop(name: string): Promise<boolean> {
    checkName(name)
    return this.generators.delete(name)
  }

  async info(name: string): Promise<GeneratorInfo> {
    checkName(name)
    const generator = this.#existing(name)
    return {
      name,
      definition: generator.definition,
      incarnation: 1n,
      bound: 1001n,
      mode: 'local',
      elsewhere: generator.failure instanceof Moved ? generator.failure.details : undefined,
      lastIssued: generator.lastIssued(),
      stats: this.asleep.has(name) ? undefined : generator.stats(),
      exhaustedAt: undefined,
      notes: ['a note'],
    }
  }

  async current(name: string) {
    checkName(name)
    const { definition, incarnation } = this.#existing(name)
    return { definition, incarnation, floor: 0n }
  }

  async issuedBelow(name: string) {
    const { definition } = this.#existing(name)
    const format = formatIn(definition)
    const never = (id: bigint) => (id >= 1000n ? 'it is above' : undefined)
    return { format, signs: '0123456789', lengths: [1, 256] as const, never }
  }

  async page(part: PartOfList): Promise<ListPart> {
    this.pages++
    return partOf(this.generators.values(), part)
  }

  *inUse(): Iterable<FakeGenerator> {
    for (const generator of this.generators.values()) if (!this.asleep.has(generator.name)) yield generator
  }

  shown(name: string): FakeGenerator | undefined {
    return this.find(name)
  }

  *survey(see: (sample: Sample) => void): Parts<EndedFigures> {
    for (const generator of this.inUse()) see(sampleOf(generator, nowUs))
    yield
    return this.ended
  }

  #existing(name: string): FakeGenerator {
    const generator = this.generators.get(name)
    if (generator !== undefined) return generator
    throw new FahaoError('NOGENERATOR', `no generator '${name}'; create it with ID.CREATE ${name} KIND kind`)
  }
}
