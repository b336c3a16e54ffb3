/** Random sequences of calls, each compared with a reference that fits on a page. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { boundMax, type Counter, type Engine, type Reservation } from '../../src/engine/engine.ts'
import { assertDisjoint } from './counters.ts'
import type { Declare } from './describeEngine.ts'

/** One call: which of two openings of the store makes it, and what it is. A release is made by its holder. */
type Step = { readonly by: 0 | 1 } & (
  | {
      readonly call: 'reserve'
      readonly name: string
      readonly size: bigint
      readonly floor: bigint
      readonly max: bigint
      readonly fence: bigint
      readonly incarnation: bigint
    }
  | {
      readonly call: 'release'
      /** Which of the reservations so far, counted from the newest, and how much of it in tenths. */
      readonly back: number
      readonly tenths: bigint
      readonly fence: bigint
      readonly incarnation: bigint
    }
  | { readonly call: 'advance'; readonly gap: bigint }
  | { readonly call: 'write'; readonly name: string; readonly value: string; readonly right: boolean }
  | { readonly call: 'remove'; readonly name: string; readonly right: boolean }
)

const by = fc.constantFrom<(0 | 1)[]>(0, 1)
const name = fc.constantFrom('a', 'A', 'b')
const rarely = (value: bigint) => fc.oneof({ weight: 6, arbitrary: fc.constant(0n) }, fc.bigInt(1n, value))
const size = fc.oneof(
  { weight: 20, arbitrary: fc.bigInt(0n, 50n) },
  { weight: 1, arbitrary: fc.bigInt(0n, 2n ** 62n) },
)
const holder = { fence: rarely(3n), incarnation: fc.bigInt(1n, 3n) }
const reserve = fc.record({
  call: fc.constant('reserve' as const),
  by,
  name,
  size,
  floor: fc.oneof(rarely(200n), fc.constant(2n ** 62n)),
  max: fc.oneof(
    { weight: 5, arbitrary: fc.constant(boundMax) },
    { weight: 1, arbitrary: fc.bigInt(0n, 300n) },
  ),
  ...holder,
})
const release = fc.record({
  call: fc.constant('release' as const),
  by,
  back: fc.nat(2),
  tenths: fc.bigInt(0n, 10n),
  ...holder,
})
const advance = fc.record({ call: fc.constant('advance' as const), by, gap: fc.bigInt(0n, 100n) })
const write = fc.record({
  call: fc.constant('write' as const),
  by,
  name,
  value: fc.string({ maxLength: 3 }),
  right: fc.boolean(),
})
const remove = fc.record({ call: fc.constant('remove' as const), by, name, right: fc.boolean() })
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: reserve },
    { weight: 4, arbitrary: release },
    { weight: 1, arbitrary: advance },
    { weight: 3, arbitrary: write },
    { weight: 2, arbitrary: remove },
  ),
  { maxLength: 25 },
)

/** A counter without its version, which only has to grow. */
type Bare = Omit<Counter, 'version'>

/** What an engine remembers, without any engine. */
class Reference {
  readonly counters = new Map<string, Bare>()
  readonly records = new Map<string, string>()
  /** The newest reservation of a counter, while it is the last thing that happened to it. */
  readonly newest = new Map<string, Reservation>()

  counter(name: string): Bare {
    return this.counters.get(name) ?? { bound: 0n, fence: 0n, incarnation: 0n }
  }

  /** What a reserve comes to: a range, or the word of its refusal. */
  reserve({ name, size, floor, max, fence, incarnation }: Extract<Step, { call: 'reserve' }>) {
    const { bound, ...seen } = this.counter(name)
    if (fence < seen.fence || incarnation < seen.incarnation) return 'STALE'
    const start = bound > floor ? bound : floor
    const end = start + size
    if (end > max) return 'EXHAUSTED'
    this.counters.set(name, { bound: end, fence, incarnation })
    return { start, end }
  }

  release(name: string, reservation: Reservation, from: bigint, fence: bigint, incarnation: bigint): boolean {
    const seen = this.counter(name)
    if (this.newest.get(name) !== reservation) return false
    if (fence < seen.fence || incarnation < seen.incarnation) return false
    this.counters.set(name, { ...seen, bound: from })
    this.newest.delete(name)
    return true
  }

  advance(gap: bigint): number {
    this.newest.clear()
    for (const [name, seen] of this.counters)
      this.counters.set(name, { ...seen, bound: seen.bound + gap > boundMax ? boundMax : seen.bound + gap })
    return this.counters.size
  }
}

/** Runs a sequence against engine and reference; counters and keys of this round begin with `prefix`. */
class Round {
  readonly #engines: readonly Engine[]
  readonly #prefix: string
  readonly #reference = new Reference()
  readonly #reservations: { name: string; by: 0 | 1; reservation: Reservation }[] = []
  readonly #versions = new Map<string, bigint>()

  constructor(engines: readonly Engine[], prefix: string) {
    this.#engines = engines
    this.#prefix = prefix
  }

  async run(sequence: readonly Step[]): Promise<void> {
    for (const step of sequence) await this.#take(step)
    for (const engine of this.#engines) await this.#compare(engine)
  }

  async #take(step: Step): Promise<void> {
    const engine = this.#engines[step.by]!
    switch (step.call) {
      case 'reserve':
        return this.#reserve(engine, step)
      case 'release':
        return this.#release(step)
      case 'advance':
        // Other rounds have left counters in the same store.
        assert.ok((await engine.advance(step.gap)) >= this.#reference.advance(step.gap))
        return
      case 'write':
        return this.#write(engine, step)
      case 'remove':
        return this.#remove(engine, step)
    }
  }

  async #reserve(engine: Engine, step: Extract<Step, { call: 'reserve' }>): Promise<void> {
    const wanted = this.#reference.reserve(step)
    const { size, floor, max, fence, incarnation } = step
    const request = { size, floor, max, incarnation, ...(fence > 0n && { fence }) }
    const got = engine.reserve(this.#prefix + step.name, request)
    if (typeof wanted === 'string') return assert.rejects(got, { code: wanted })
    const reservation = await got
    assert.deepEqual({ start: reservation.start, end: reservation.end }, wanted)
    this.#grows(`counter ${step.name}`, reservation.version)
    this.#reference.newest.set(step.name, reservation)
    this.#reservations.unshift({ name: step.name, by: step.by, reservation })
  }

  async #release(step: Extract<Step, { call: 'release' }>): Promise<void> {
    const found = this.#reservations[step.back]
    if (found === undefined) return
    const { name, by, reservation } = found
    const from = reservation.start + ((reservation.end - reservation.start) * step.tenths) / 10n
    const { fence, incarnation } = step
    const wanted = this.#reference.release(name, reservation, from, fence, incarnation)
    const holder = { incarnation, ...(fence > 0n && { fence }) }
    assert.equal(await this.#engines[by]!.release(this.#prefix + name, reservation, from, holder), wanted)
  }

  async #write(engine: Engine, step: Extract<Step, { call: 'write' }>): Promise<void> {
    const key = this.#prefix + step.name
    const expected = await this.#expected(engine, key, step.right)
    const written = await engine.write(key, step.value, expected)
    assert.equal(written !== undefined, step.right)
    if (written === undefined) return
    assert.equal(written.value, step.value)
    this.#grows(`record ${step.name}`, written.version)
    this.#reference.records.set(key, step.value)
  }

  async #remove(engine: Engine, step: Extract<Step, { call: 'remove' }>): Promise<void> {
    const key = this.#prefix + step.name
    const expected = await this.#expected(engine, key, step.right)
    if (expected === undefined) return
    const there = this.#reference.records.has(key)
    assert.equal(await engine.remove(key, expected), there && step.right)
    if (step.right) this.#reference.records.delete(key)
  }

  /** The version of a record as it is, or, when the call is to fail, one that it never had. */
  async #expected(engine: Engine, key: string, right: boolean): Promise<bigint | undefined> {
    const record = await engine.read(key)
    assert.equal(record?.value, this.#reference.records.get(key))
    if (right) return record?.version
    return (record?.version ?? 0n) + 1n
  }

  #grows(what: string, version: bigint): void {
    assert.ok(version > (this.#versions.get(what) ?? 0n), `the version of ${what} did not grow`)
    this.#versions.set(what, version)
  }

  async #compare(engine: Engine): Promise<void> {
    for (const [name, wanted] of this.#reference.counters) {
      const { version: _, ...counter } = await engine.counter(this.#prefix + name)
      assert.deepEqual(counter, wanted)
    }
    const records = (await engine.list(this.#prefix)).map(({ key, value }) => [key, value])
    assert.deepEqual(new Map(records as [string, string][]), this.#reference.records)
  }
}

/** Declares the tests with random sequences. */
export function modelTests(declare: Declare): void {
  declare('it answers like a reference model, call by call', async ({ open }) => {
    const engines = [await open(), await open()]
    let round = 0
    await fc.assert(
      fc.asyncProperty(steps, (sequence) => new Round(engines, `${round++}/`).run(sequence)),
      { numRuns: 30 },
    )
  })

  declare('ranges that are kept never overlap, whatever calls run at once', async ({ open }) => {
    const engines = [await open(), await open()]
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(by, fc.bigInt(0n, 9n), fc.boolean()), { maxLength: 40 }), (calls) =>
        keepsApart(engines, `c${round++}`, calls),
      ),
      { numRuns: 15 },
    )
  })
}

/** Reserves at once, gives some back at once, reserves again: what was kept and what came later stay apart. */
async function keepsApart(
  engines: readonly Engine[],
  counter: string,
  calls: readonly (readonly [0 | 1, bigint, boolean])[],
): Promise<void> {
  const mine = { incarnation: 1n }
  const kept = await Promise.all(
    calls.map(async ([by, size, givesBack]) => {
      const engine = engines[by]!
      const range = await engine.reserve(counter, { size, ...mine })
      if (!givesBack) return range
      const from = range.start + size / 2n
      // Whether or not it goes back, its second half has left our hands.
      await engine.release(counter, range, from, mine)
      return { start: range.start, end: from }
    }),
  )
  const later = await Promise.all(
    calls.map(([by, size]) => engines[1 - by]!.reserve(counter, { size, ...mine })),
  )
  assertDisjoint([...kept, ...later])
}
