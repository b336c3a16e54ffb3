/**
 * A catalogue in memory, for testing commands alone: real definitions and runs, counters that count. What
 * counts here is `drawn`: the proof that a refused request used up no id.
 */
import { FahaoError } from '../../../src/base/errors.ts'
import type {
  Catalogue,
  Generator,
  GeneratorChanges,
  GeneratorInfo,
  ListPart,
  PartOfList,
  RangeLease,
} from '../../../src/catalogue/catalogue.ts'
import { type Definition, define, definitionText } from '../../../src/catalogue/definition.ts'
import type { MoveOptions } from '../../../src/catalogue/floor.ts'
import { type GeneratorInput, parseOptions } from '../../../src/catalogue/options.ts'
import { compileFormat } from '../../../src/ids/format.ts'
import { IdText } from '../../../src/ids/id-text.ts'
import type { Run } from '../../../src/ids/run.ts'
import { Run as IdRun } from '../../../src/ids/run.ts'
import { noCallers } from '../../../src/issuing/caller-ids.ts'
import type { DrawOptions, IssuerStats } from '../../../src/issuing/issuer.ts'
import { partOf } from '../catalogue/part-of.ts'

/** 2026-01-01T00:00:00Z in µs. */
const nowUs = 1_767_225_600_000_000
const safeMax = BigInt(Number.MAX_SAFE_INTEGER)

/** One generator of the fake. */
export class FakeGenerator implements Generator {
  readonly name: string
  readonly definition: Definition
  readonly incarnation = 1n
  readonly mode = 'local'
  readonly issuesHere = true
  /** How many ids were ever taken. */
  drawn = 0
  /** While true, `take` finds an empty buffer and `draw` has to be called. */
  dry = false
  /** How the newest `draw` was asked. */
  lastDraw: DrawOptions = {}
  next: bigint
  floor = 0n
  /** Whether the newest move was to go through whatever it gives up. */
  forced = false
  #last: bigint | undefined

  constructor(name: string, definition: Definition) {
    this.name = name
    this.definition = definition
    this.next = definition.start ?? 7_000_000_000_000_000_000n
  }

  get kind() {
    return this.definition.kind
  }

  get contiguous(): boolean {
    const { increment, within, scramble } = this.definition
    return increment === 1 && within === 'ordered' && scramble === false
  }

  /** Ids that callers have reported. */
  reported = 0
  /** Ids of ranges of other nodes that callers gave back here. */
  gaps = 0

  take(count: number, run: Run): number {
    if (this.dry) return 0
    const stride = this.definition.increment ?? 1
    run.set(this.next, count, stride)
    this.#last = run.at(count - 1)
    this.next = this.#last + BigInt(stride)
    this.drawn += count
    return count
  }

  async draw(count: number, options: DrawOptions = {}): Promise<Run[]> {
    if (options.safe && !this.nextIsSafe()) throw new FahaoError('UNSAFE', 'past 2^53-1')
    if (options.signal?.aborted) throw new FahaoError('ABORTED', 'the caller has gone')
    this.lastDraw = options
    this.dry = false
    const run = new IdRun()
    this.take(count, run)
    return [run]
  }

  takeNumber(): number {
    const run = new IdRun()
    return this.nextIsSafe() && this.take(1, run) > 0 ? run.number : -1
  }

  noteDrawn(ids: number): void {
    this.reported += ids
  }

  noteReturned(ids: number): void {
    this.gaps += ids
  }

  nextIsSafe(): boolean {
    return this.next <= safeMax
  }

  lastIssued(): bigint | undefined {
    return this.#last
  }

  stats(): IssuerStats {
    return {
      ...noCallers,
      drawn: this.reported,
      issued: this.drawn,
      ratePerSecond: 2.5,
      peakPerSecond: 3,
      inHand: 10,
      inHandSeconds: Number.POSITIVE_INFINITY,
      reserved: 10,
      released: 0,
      refills: 1,
      refillFailures: 0,
      refillSeconds: 0.25,
      waits: 0,
      drySeconds: 0,
      waiting: 0,
    }
  }

  writer() {
    const { format } = this.definition
    return format === undefined ? undefined : new IdText(compileFormat(format).shape())
  }

  text(id: bigint): string {
    return (this.definition.format ?? '{id}').replace('{id}', String(id))
  }

  parse(text: string): bigint {
    const [before = '', after = ''] = (this.definition.format ?? '{id}').split('{id}')
    const digits = text.slice(before.length, text.length - after.length)
    if (!text.startsWith(before) || !text.endsWith(after) || !/^\d+$/.test(digits)) {
      throw new FahaoError('ERR', `'${text}' is no id of '${this.name}'`)
    }
    return BigInt(digits)
  }

  /** How many ids each range that was given back had. */
  readonly returned: number[] = []

  async leaseRange(ids: number): Promise<RangeLease> {
    if (this.kind !== 'segment') throw new FahaoError('WRONGTYPE', 'ranges are leased of kind segment only')
    const run = new IdRun()
    this.take(ids, run)
    const end = this.next
    const release = async (from: bigint) => {
      const unused = Number(end - from) / (this.definition.increment ?? 1)
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

  async moveTo(newest: bigint, { force = false }: MoveOptions = {}): Promise<void> {
    this.forced = force
    if (newest < (this.#last ?? 0n)) throw new FahaoError('ERR', 'ids above it may have been issued')
    this.#last = newest
    this.next = newest + BigInt(this.definition.increment ?? 1)
  }
}

/** The fake catalogue: names matching `auto-*` are created as sequences when they are opened. */
export class FakeCatalogue implements Catalogue {
  readonly generators = new Map<string, FakeGenerator>()
  /** Defined, but not in use here until opened. */
  readonly resting = new Map<string, FakeGenerator>()
  /** How often a page of names was asked for. */
  pages = 0

  /** Makes a generator that is in use. */
  make(name: string, options: GeneratorInput): FakeGenerator {
    const generator = new FakeGenerator(name, define(parseOptions(options), nowUs))
    this.generators.set(name, generator)
    return generator
  }

  /** How many ids all generators ever handed out. */
  get drawn(): number {
    return [...this.generators.values()].reduce((sum, { drawn }) => sum + drawn, 0)
  }

  find(name: string): FakeGenerator | undefined {
    return this.generators.get(name)
  }

  async open(name: string): Promise<FakeGenerator> {
    const known = this.find(name) ?? this.resting.get(name)
    if (known === undefined) {
      if (!name.startsWith('auto-')) throw unknown(name)
      return this.make(name, { kind: 'sequence' })
    }
    this.generators.set(name, known)
    this.resting.delete(name)
    return known
  }

  async exists(name: string): Promise<boolean> {
    return this.generators.has(name) || this.resting.has(name)
  }

  async create(name: string, options: GeneratorInput): Promise<FakeGenerator> {
    const definition = define(parseOptions(options), nowUs)
    const known = this.find(name)
    if (known === undefined) return this.make(name, options)
    if (String(definitionText(definition)) === String(definitionText(known.definition))) return known
    throw new FahaoError('EXISTS', `'${name}' exists with another definition`)
  }

  async alter(name: string, { floor, force = false, ...changes }: GeneratorChanges): Promise<FakeGenerator> {
    const known = this.find(name)
    if (known === undefined) throw unknown(name)
    const kept = Object.fromEntries(definitionText(known.definition)) as unknown as GeneratorInput
    const altered = this.make(name, { ...kept, ...changes })
    if (floor !== undefined) altered.floor = BigInt(floor)
    altered.forced = force
    return altered
  }

  async drop(name: string): Promise<boolean> {
    return this.generators.delete(name) || this.resting.delete(name)
  }

  async info(name: string): Promise<GeneratorInfo> {
    const known = this.find(name)
    const generator = known ?? this.resting.get(name)
    if (generator === undefined) throw unknown(name)
    return {
      name,
      definition: generator.definition,
      incarnation: 1n,
      bound: 1001n,
      mode: 'local',
      lastIssued: generator.lastIssued(),
      stats: known?.stats(),
      exhaustedAt: undefined,
      notes: ['a note'],
    }
  }

  async current(name: string) {
    const generator = this.find(name) ?? this.resting.get(name)
    if (generator === undefined) throw unknown(name)
    const { definition, incarnation } = generator
    return { definition, incarnation, floor: 0n }
  }

  async page(part: PartOfList): Promise<ListPart> {
    this.pages++
    return partOf([...this.generators.values(), ...this.resting.values()], part)
  }

  inUse(): Iterable<Generator> {
    return this.generators.values()
  }
}

function unknown(name: string): FahaoError {
  return new FahaoError('NOGENERATOR', `no generator '${name}'; create it with ID.CREATE ${name} KIND kind`)
}
