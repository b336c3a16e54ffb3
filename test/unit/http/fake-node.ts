/** A node whose generators count up in memory, and whose every step a test can see and bend. */

import type { AccessControl } from '../../../src/auth/access-control.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { Moved } from '../../../src/base/moved.ts'
import type { Timeline } from '../../../src/base/timeline.ts'
import type {
  Catalogue,
  Generator,
  GeneratorInfo,
  ListPart,
  PartOfList,
  RangeLease,
} from '../../../src/catalogue/catalogue.ts'
import { type Definition, define, differences } from '../../../src/catalogue/definition.ts'
import { Meters } from '../../../src/catalogue/metered-generator.ts'
import { parseOptions } from '../../../src/catalogue/options.ts'
import { checkName } from '../../../src/catalogue/stored-generator.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { compileFormat } from '../../../src/ids/format.ts'
import { IdText } from '../../../src/ids/id-text.ts'
import { Run } from '../../../src/ids/run.ts'
import { noCallers } from '../../../src/issuing/caller-ids.ts'
import type { DrawOptions, IssuerStats } from '../../../src/issuing/issuer.ts'
import type { WorkerIdCount } from '../../../src/leasing/worker-id-usage.ts'
import { turns } from '../../../src/listening/turns.ts'
import { loadConfig } from '../../../src/node/config.ts'
import type { Config } from '../../../src/node/config-schema.ts'
import type { EngineCall } from '../../../src/node/engine-calls.ts'
import type { Health } from '../../../src/node/health.ts'
import type { FahaoNode } from '../../../src/node/node.ts'
import { Namespaces } from '../../../src/quotas/namespaces.ts'
import { Trail } from '../audit/trail.ts'
import { openAccess } from '../auth/open-access.ts'
import { partOf } from '../catalogue/part-of.ts'
import { leasingOf } from '../leasing/leasing.ts'

const nowUs = Date.UTC(2026, 10, 1) * 1000
const noStats: IssuerStats = {
  ...noCallers,
  issued: 0,
  ratePerSecond: 0,
  peakPerSecond: 0,
  inHand: 1000,
  inHandSeconds: Number.POSITIVE_INFINITY,
  reserved: 1000,
  released: 0,
  refills: 1,
  refillFailures: 0,
  refillSeconds: 0.25,
  waits: 0,
  drySeconds: 0,
  waiting: 0,
}

/** A generator that counts up from `start`. */
export class FakeGenerator implements Generator {
  readonly name: string
  definition: Definition
  readonly incarnation = 1n
  readonly mode = 'local'
  readonly issuesHere = true
  contiguous = true
  /** The next id. */
  next: bigint
  /** Whether the newest move was to go through whatever it gives up. */
  forced = false
  /** While true, `take` has nothing and `draw` waits for `wet` or its signal. */
  dry = false
  /** What `draw` rejects with, if set. */
  failure: Error | undefined
  /** Calls of `draw` that were aborted. */
  aborted = 0
  figures: Partial<IssuerStats> = {}
  readonly #waiting = new Set<() => void>()

  constructor(name: string, definition: Definition) {
    this.name = name
    this.definition = definition
    this.next = definition.start ?? 1n
  }

  get kind() {
    return this.definition.kind
  }

  get issued(): number {
    return Number(this.next - (this.definition.start ?? 1n))
  }

  take(count: number, run: Run): number {
    if (this.dry) return 0
    run.set(this.next, count, 1)
    this.next += BigInt(count)
    return count
  }

  async draw(count: number, { signal }: DrawOptions = {}): Promise<Run[]> {
    if (this.failure !== undefined) throw this.failure
    if (this.dry) await this.#wait(signal)
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

  /** Ids that callers have reported. */
  reported = 0
  /** Ids of ranges of other nodes that callers gave back here. */
  gaps = 0

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
    return true
  }

  lastIssued(): bigint | undefined {
    return this.issued === 0 ? undefined : this.next - 1n
  }

  stats(): IssuerStats {
    return { ...noStats, issued: this.issued, waiting: this.#waiting.size, ...this.figures }
  }

  writer() {
    const { format } = this.definition
    return format === undefined ? undefined : new IdText(compileFormat(format).shape())
  }

  text(id: bigint): string {
    const { format } = this.definition
    return format === undefined ? String(id) : compileFormat(format).format(id)
  }

  parse(text: string): bigint {
    const { format } = this.definition
    if (format !== undefined) return compileFormat(format).parse(text)
    if (/^\d+$/.test(text)) return BigInt(text)
    throw new FahaoError('ERR', `'${text}' is no id of ${this.name}`)
  }

  async leaseRange(ids: number): Promise<RangeLease> {
    if (this.failure !== undefined) throw this.failure
    if (this.kind !== 'segment') throw new FahaoError('WRONGTYPE', 'ranges are leased of kind segment only')
    const start = this.next
    this.next += BigInt(ids)
    const end = this.next
    const release = async (from: bigint) => {
      if (this.next !== end) return { ids: Number(end - from), isBack: false }
      this.next = from
      return { ids: Number(end - from), isBack: true }
    }
    const { incarnation, definition } = this
    return { start, end, ids, release, incarnation, definition, key: undefined }
  }

  async ledHere(): Promise<this> {
    return this
  }

  async moveTo(newest: bigint): Promise<void> {
    this.next = newest + 1n
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(resolve)
      signal?.addEventListener('abort', () => {
        this.#waiting.delete(resolve)
        this.aborted++
        reject(new FahaoError('ABORTED', 'gave up'))
      })
    })
  }
}

/** A catalogue over a Map. */
export class FakeCatalogue implements Catalogue {
  readonly generators = new Map<string, FakeGenerator>()
  /** Names defined but not in use: `find` does not know them until `open`. */
  readonly asleep = new Set<string>()

  /** Adds a generator. */
  add(name: string, options: Record<string, unknown>): FakeGenerator {
    const generator = new FakeGenerator(name, define(parseOptions(options), nowUs))
    this.generators.set(name, generator)
    return generator
  }

  /** How many ids all generators have issued. */
  get issued(): number {
    return [...this.generators.values()].reduce((sum, { issued }) => sum + issued, 0)
  }

  find(name: string): FakeGenerator | undefined {
    return this.asleep.has(name) ? undefined : this.generators.get(name)
  }

  async open(name: string): Promise<FakeGenerator> {
    checkName(name)
    this.asleep.delete(name)
    return this.#existing(name)
  }

  async exists(name: string): Promise<boolean> {
    checkName(name)
    return this.generators.has(name)
  }

  async create(name: string, options: Parameters<Catalogue['create']>[1]): Promise<FakeGenerator> {
    checkName(name)
    const wanted = define(parseOptions(options), nowUs)
    const old = this.generators.get(name)
    if (old === undefined) return this.add(name, options)
    if (differences(old.definition, wanted).length > 0) throw new FahaoError('EXISTS', `'${name}' differs`)
    return old
  }

  async alter(name: string, changes: Parameters<Catalogue['alter']>[1]): Promise<FakeGenerator> {
    const generator = this.#existing(name)
    const { floor, force = false, ...options } = changes
    const known = Object.entries(generator.definition).filter(([, value]) => value !== undefined)
    generator.definition = define(parseOptions({ ...Object.fromEntries(known), ...options }), nowUs)
    if (floor !== undefined) generator.next = BigInt(floor)
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
      notes: ['made for a test'],
    }
  }

  async current(name: string) {
    checkName(name)
    const { definition, incarnation } = this.#existing(name)
    return { definition, incarnation, floor: 0n }
  }

  async page(part: PartOfList): Promise<ListPart> {
    return partOf(this.generators.values(), part)
  }

  *inUse(): Iterable<FakeGenerator> {
    for (const generator of this.generators.values()) if (!this.asleep.has(generator.name)) yield generator
  }

  #existing(name: string): FakeGenerator {
    const generator = this.generators.get(name)
    if (generator === undefined) throw new FahaoError('NOGENERATOR', `no generator '${name}'`)
    return generator
  }
}

/** No users. */
const access = await openAccess()

/** A node, and what a test may bend. */
export type FakeNode = Omit<FahaoNode, 'catalogue' | 'regressions'> & {
  catalogue: FakeCatalogue
  healthNow: Health
  advancedBy: bigint[]
  regressions: number
  engineListeners: ((call: EngineCall) => void)[]
  trail: Trail
}

/** A healthy node without generators. `settings` replace those of the default configuration. */
export function fakeNode(settings: Partial<Config> = {}): FakeNode {
  const catalogue = new FakeCatalogue()
  const trail = new Trail()
  const advancedBy: bigint[] = []
  const engineListeners: ((call: EngineCall) => void)[] = []
  const timeline = { nowUs: () => nowUs, monoUs: () => 5_000_000 }
  const node = {
    config: { ...loadConfig({ flags: { engine: 'memory:' } }).config, ...settings },
    catalogue,
    advancedBy,
    healthNow: { state: 'ok', reason: undefined, inHandSeconds: undefined } as Health,
    trail,
    engine: {
      name: 'memory',
      location: 'memory:',
      status: () => ({ state: 'up' }),
      list: trail.engine.list.bind(trail.engine),
    },
    timeline,
    server: {
      version: '1.2.3',
      timeline,
      respPort: 7379 as number | undefined,
      countMax: 1000,
      incrByMax: 1_000_000n,
      startedMonoUs: 1_000_000,
      turns,
      sessions: () => [],
      // Opened by the tests that need namespaces.
      meters: new Meters(new Namespaces(new MemoryEngine(new MemoryStore())), () => nowUs),
      ...leasingOf(timeline as unknown as Timeline, catalogue, { all: () => [] }),
      audit: trail.audit,
      get access(): AccessControl {
        return node.access
      },
      get engine(): object {
        return node.engine
      },
      async advance(gap: bigint) {
        advancedBy.push(gap)
        return catalogue.generators.size
      },
    },
    access,
    workerId: 7,
    workerIds: () => undefined as WorkerIdCount | undefined,
    regressions: 0,
    onEngineCall: (listener: (call: EngineCall) => void) => void engineListeners.push(listener),
    engineListeners,
    mayIssue: () => true,
    health: () => node.healthNow,
  }
  return node as unknown as FakeNode
}
