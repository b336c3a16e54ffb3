/**
 * An engine whose calls fail, hang or lose their answers when a test says so. Everything else goes to the real
 * engine behind it.
 *
 *     const faulty = new FaultyEngine(engine)
 *     faulty.next('reserve', 'lose-reply')      // the next reserve is carried out and rejects with UNKNOWN
 *     faulty.always('any', 'unavailable')       // every call rejects with UNAVAILABLE, until heal()
 *     const held = faulty.hold('write')         // the next write waits: await held.arrived … held.letGo()
 */
import type { Clock } from '../../src/base/clock.ts'
import { FahaoError } from '../../src/base/errors.ts'
import type {
  Commit,
  Committed,
  Counter,
  Engine,
  EngineStatus,
  LookedUp,
  LookUp,
  RecordChange,
  Reservation,
  ReserveRequest,
  StoredRecord,
  StoreOwnership,
  Watch,
} from '../../src/engine/engine.ts'
import { lookUpEach } from '../../src/engine/look-ups.ts'

/** What can go wrong with a call. */
export type Fault =
  /** Never reaches the engine: UNKNOWN for a write, UNAVAILABLE for a read. */
  | 'lose-request'
  /** Is carried out, but its answer is lost: UNKNOWN for a write, UNAVAILABLE for a read. */
  | 'lose-reply'
  /** Rejects with UNKNOWN (a read: UNAVAILABLE) at once, and is carried out when `deliver` is called. */
  | 'late'
  /** Rejects with UNAVAILABLE; nothing was changed. */
  | 'unavailable'
  /** Rejects with this error; nothing was changed. */
  | FahaoError

/** The calls that can be made to fail. */
export type Method = Exclude<
  { [Name in keyof Engine]-?: Engine[Name] extends (...args: never) => unknown ? Name : never }[keyof Engine],
  'status' | 'close'
>

/** A call that waits. */
export type Held = {
  /** Resolves when the call has come. It has not reached the engine yet. */
  readonly arrived: Promise<void>
  /** Lets it go on; with a fault, that befalls it. */
  letGo(fault?: Fault): void
}

type Rule = { readonly method: Method | 'any'; readonly befall: () => Promise<Fault | undefined> }

const writes: ReadonlySet<string> = new Set([
  'reserve',
  'release',
  'advance',
  'write',
  'remove',
  'lookUp',
  'commit',
])

export class FaultyEngine implements Engine {
  readonly name: string
  readonly location: string
  readonly lastWriteUs: number | undefined
  readonly watchDelayMs: number
  /** Whether a look-up is one call that meets a fault. Otherwise it consists of reads and writes, each of which may meet one. */
  looksUpAtOnce = false
  /** Every call so far, as it came. */
  readonly calls: { readonly method: Method; readonly args: readonly unknown[] }[] = []
  readonly #engine: Engine
  #once: Rule[] = []
  #always: Rule[] = []
  #late: (() => Promise<unknown>)[] = []

  constructor(engine: Engine) {
    this.#engine = engine
    this.name = engine.name
    this.location = engine.location
    this.lastWriteUs = engine.lastWriteUs
    this.watchDelayMs = engine.watchDelayMs
  }

  get advances(): number {
    return this.#engine.advances
  }

  /** The next call of `method` meets `fault`; several of these befall several calls, in this order. */
  next(method: Method | 'any', fault: Fault, times = 1): void {
    for (let each = 0; each < times; each++) this.#once.push({ method, befall: () => Promise.resolve(fault) })
  }

  /** Every call of `method` meets `fault`, until `heal`. */
  always(method: Method | 'any', fault: Fault): void {
    this.#always.push({ method, befall: () => Promise.resolve(fault) })
  }

  /** The next call of `method` waits until it is let go. */
  hold(method: Method | 'any'): Held {
    const arrived = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<Fault | undefined>()
    this.#once.push({
      method,
      befall() {
        arrived.resolve()
        return gone.promise
      },
    })
    return { arrived: arrived.promise, letGo: (fault) => gone.resolve(fault) }
  }

  /** Every call of `method` takes `waitMs` longer, on the machine's clock or on this one, until `heal`. */
  slow(method: Method | 'any', waitMs: number, clock?: Clock): void {
    const befall = () =>
      new Promise<undefined>((done) => {
        if (clock === undefined) setTimeout(done, waitMs, undefined)
        else clock.timer(waitMs, () => done(undefined))
      })
    this.#always.push({ method, befall })
  }

  /** From now on nothing goes wrong any more, except for calls that are held already. */
  heal(): void {
    this.#once = []
    this.#always = []
  }

  /** Carries out what was `late`, in the order in which it was sent. Resolves to how many calls that were. */
  async deliver(): Promise<number> {
    const late = this.#late
    this.#late = []
    for (const call of late) await call().catch(() => {})
    return late.length
  }

  /** How often a method was called so far. */
  count(method: Method): number {
    return this.calls.filter((call) => call.method === method).length
  }

  reserve(counter: string, request: ReserveRequest): Promise<Reservation> {
    return this.#through('reserve', [counter, request], () => this.#engine.reserve(counter, request))
  }

  release(...args: Parameters<Engine['release']>): Promise<boolean> {
    return this.#through('release', args, () => this.#engine.release(...args))
  }

  transfer(counter: string, from: bigint): void {
    this.#engine.transfer(counter, from)
  }

  acquire(counter: string, end: bigint): void {
    this.#engine.acquire(counter, end)
  }

  counter(name: string): Promise<Counter> {
    return this.#through('counter', [name], () => this.#engine.counter(name))
  }

  advance(...args: Parameters<Engine['advance']>): Promise<number> {
    return this.#through('advance', args, () => this.#engine.advance(...args))
  }

  read(key: string): Promise<StoredRecord | undefined> {
    return this.#through('read', [key], () => this.#engine.read(key))
  }

  list(...args: Parameters<Engine['list']>): Promise<StoredRecord[]> {
    return this.#through('list', args, () => this.#engine.list(...args))
  }

  write(...args: Parameters<Engine['write']>): Promise<StoredRecord | undefined> {
    return this.#through('write', args, () => this.#engine.write(...args))
  }

  remove(key: string, expected: bigint): Promise<boolean> {
    return this.#through('remove', [key, expected], () => this.#engine.remove(key, expected))
  }

  lookUp(lookUps: readonly LookUp[]): Promise<readonly (LookedUp | FahaoError)[]> {
    if (!this.looksUpAtOnce) return lookUpEach(this, lookUps)
    return this.#through('lookUp', [lookUps], () => this.#engine.lookUp(lookUps))
  }

  commit(commit: Commit): Promise<Committed | undefined> {
    return this.#through('commit', [commit], () => this.#engine.commit(commit))
  }

  watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    return this.#through('watch', [prefix, listener], () => this.#engine.watch(prefix, listener))
  }

  ownership(): Promise<StoreOwnership> {
    return this.#through('ownership', [], () => this.#engine.ownership())
  }

  status(): EngineStatus {
    return this.#engine.status()
  }

  close(): Promise<void> {
    return this.#engine.close()
  }

  async #through<Value>(
    method: Method,
    args: readonly unknown[],
    call: () => Promise<Value>,
  ): Promise<Value> {
    this.calls.push({ method, args })
    const fault = await this.#ruleFor(method)?.befall()
    if (fault === undefined) return call()
    if (fault instanceof FahaoError) throw fault
    if (fault === 'unavailable') throw new FahaoError('UNAVAILABLE', `${method} was made to fail`)
    if (fault === 'late') this.#late.push(call)
    if (fault === 'lose-reply') await call()
    const code = writes.has(method) ? 'UNKNOWN' : 'UNAVAILABLE'
    throw new FahaoError(code, `the answer of ${method} was made to be lost`)
  }

  #ruleFor(method: Method): Rule | undefined {
    const fits = (rule: Rule) => rule.method === 'any' || rule.method === method
    const at = this.#once.findIndex(fits)
    return at < 0 ? this.#always.find(fits) : this.#once.splice(at, 1)[0]
  }
}
