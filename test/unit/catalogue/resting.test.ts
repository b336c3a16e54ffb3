/** Generators at rest: what their rows issue, what wakes them, and that nothing is lost or issued twice on the way. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { rowLo, rowStride, rowWords } from '../../../src/buffers/fast-runs.ts'
import type { EngineCatalogue } from '../../../src/catalogue/engine-catalogue.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import type { OpenGenerator } from '../../../src/catalogue/open-generator.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { Dice } from '../dice.ts'
import { settled } from '../fake-clock.ts'
import { draw, type Node, type NodeOptions, SharedEngine, startNode, tryNext } from './node.ts'

const restAfterMs = 1000
const kinds = {
  sequence: { kind: 'sequence', step: 10 },
  'adaptive sequence': { kind: 'sequence', step: 'adaptive' },
  segment: { kind: 'segment', step: 10, increment: 3, offset: 2 },
} as const satisfies Record<string, GeneratorInput>

async function started(options: GeneratorInput = kinds.sequence): Promise<Node> {
  return startNode({ restAfterMs, generators: { g: options } })
}

function isAtRest({ names }: EngineCatalogue, name = 'g'): boolean {
  const entry = names.entryNamed(name)
  return entry !== 0 && names.awakeAt(entry) === undefined
}

/** The next id of a row, as transports take it, without a look at the generator. */
function takeInPlace({ names }: EngineCatalogue, name = 'g'): bigint | undefined {
  const { runs } = names
  const row = names.entryNamed(name)
  if (!runs.isOpen(row) || runs.count(row) < 1) return undefined
  const next = runs.next(row)
  runs.words[row * rowWords + rowLo]! += runs.words[row * rowWords + rowStride]!
  return BigInt(next)
}

/** As `takeInPlace`, with what is left below the low mark. */
function takeAtRest(catalogue: EngineCatalogue, name = 'g'): bigint | undefined {
  const { names } = catalogue
  return (
    takeInPlace(catalogue, name) ??
    (names.extend(names.entryNamed(name)) ? takeInPlace(catalogue, name) : undefined)
  )
}

/** What a call resolves to, for which time has to pass: what has failed is repeated after a pause. */
async function passing<Result>({ clock }: Node, call: Promise<Result>): Promise<Result> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  call.then(over, over)
  for (let passes = 0; passes < 1000 && !isOver; passes++) await clock.pass(20)
  assert.ok(isOver, 'the call ends')
  return call
}

/** What must be the same whether a generator was at rest or not. */
function figures(generator: Pick<OpenGenerator, 'stats' | 'lastIssued'>): unknown {
  const { issued, reserved, refills, refillFailures, waits, inHand } = generator.stats()
  return { issued, reserved, refills, refillFailures, waits, inHand, last: generator.lastIssued() }
}

describe('a generator that nothing is asked of', () => {
  test('reserves nothing when it is woken, if none of its ids was ever wanted here', async () => {
    const node = await started(kinds.segment)
    await node.catalogue.open('g')
    await node.clock.pass(3 * restAfterMs)
    assert.ok(isAtRest(node.catalogue))
    node.catalogue.find('g')
    await node.clock.pass(restAfterMs / 2)
    assert.equal(node.engine.count('reserve'), 0)
  })

  for (const [what, options] of Object.entries(kinds))
    test(`is put to rest and woken as it was: ${what}`, async () => {
      const { catalogue, clock } = await started(options)
      const before = catalogue.find('g') as OpenGenerator
      const [id] = await draw(before, 3)
      await clock.pass(2 * restAfterMs)
      const known = figures(before)
      await clock.pass(2 * restAfterMs)
      assert.ok(isAtRest(catalogue))
      const [shown] = catalogue.inUse()
      assert.deepEqual(figures(shown as never), known)
      assert.ok(isAtRest(catalogue))
      const woken = catalogue.find('g') as OpenGenerator
      assert.notEqual(woken, before)
      assert.deepEqual(figures(woken), known)
      const stride = BigInt(before.definition.increment!)
      assert.deepEqual(await draw(woken, 2), [id! + 3n * stride, id! + 4n * stride])
      catalogue.assertInvariants()
    })

  test('issues what its row holds while it is at rest, and is not woken by that', async () => {
    const { catalogue, clock } = await started({ kind: 'sequence', step: 100 })
    await draw(catalogue.find('g')!)
    await clock.pass(3 * restAfterMs)
    for (let id = 2n; id <= 40n; id++) assert.equal(takeInPlace(catalogue), id)
    assert.ok(isAtRest(catalogue))
    assert.equal([...catalogue.inUse()][0]!.stats().issued, 40)
    assert.equal(catalogue.find('g')!.stats().issued, 40)
    assert.equal(catalogue.find('g')!.lastIssued(), 40n)
  })

  for (const [what, restMs] of [
    ['at rest', restAfterMs],
    ['awake', undefined],
  ] as const)
    test(`shows the rate of now after an hour without a request: ${what}`, async () => {
      const node = await startNode({ ...(restMs && { restAfterMs: restMs }), idleAfterMs: 86_400_000 })
      const { catalogue, clock } = node
      const g = await catalogue.create('g', { kind: 'sequence', step: 100_000 })
      await draw(g, 3)
      await clock.pass(3 * restAfterMs)
      await clock.pass(3_600_000)
      assert.equal(isAtRest(catalogue), restMs !== undefined)
      let rate = 0
      for (let second = 0; second < 40; second++) {
        if (restMs === undefined) await draw(g, 10)
        else for (let id = 0; id < 10; id++) takeInPlace(catalogue)
        await clock.pass(1000)
        rate = [...catalogue.inUse()][0]!.stats().ratePerSecond
      }
      assert.ok(rate > 8 && rate < 11, `${rate}`)
    })

  test('rests where versions of records are above 2^53, as those of etcd are, and ends when its record changes', async () => {
    const store = new MemoryStore()
    store.revision = 1_700_000_000n << 40n
    const reach = (shared: MemoryStore) => new SharedEngine(shared)
    const node = await startNode({ restAfterMs, store, reach, generators: { g: kinds.segment } })
    const other = await startNode({ store, reach })
    await draw(node.catalogue.find('g')!)
    await node.clock.pass(3 * restAfterMs)
    assert.ok(isAtRest(node.catalogue))
    assert.equal(takeInPlace(node.catalogue), 5n)
    await other.catalogue.alter('g', { issueTimeout: '9s' })
    await settled()
    assert.equal(takeInPlace(node.catalogue), undefined)
  })

  test('issues nothing any more by the object that those have who used it before', async () => {
    const { catalogue, clock } = await started()
    const before = catalogue.find('g')!
    await draw(before)
    await clock.pass(3 * restAfterMs)
    assert.equal(tryNext(before), undefined)
    assert.equal(before.takeNumber(), -1)
    assert.ok(isAtRest(catalogue))
    assert.equal(before.lastIssued(), 1n)
    assert.equal(takeInPlace(catalogue), 2n)
    assert.deepEqual(await draw(before), [3n])
    assert.equal(tryNext(catalogue.find('g')!), 4n)
    await before.moveTo(100n)
    assert.deepEqual(await draw(catalogue.find('g')!), [101n])
  })

  test('stays awake while a caller waits, and after a refill that has failed', async () => {
    const { catalogue, clock, engine } = await started({ kind: 'sequence', step: 10, issueTimeout: '1h' })
    const generator = catalogue.find('g')!
    const held = engine.hold('reserve')
    const waiting = draw(generator)
    await held.arrived
    await clock.pass(5 * restAfterMs)
    assert.equal(catalogue.find('g'), generator)
    held.letGo('lose-reply')
    await settled()
    await clock.pass(5 * restAfterMs)
    assert.equal((await waiting).length, 1)
  })

  test('stays awake while its first range for a caller is reserved', async () => {
    const { catalogue, clock, engine } = await started(kinds.segment)
    const generator = catalogue.find('g')!
    const held = engine.hold('reserve')
    const leasing = generator.leaseRange(10)
    await held.arrived
    await clock.pass(5 * restAfterMs)
    assert.equal(catalogue.find('g'), generator)
    held.letGo()
    assert.equal((await leasing).start, 1n)
    assert.equal(engine.count('reserve'), 1)
  })

  test('gives back what it holds when the node stops', async () => {
    const node = await started()
    const { catalogue, clock, engine } = node
    await draw(catalogue.find('g')!)
    await clock.pass(3 * restAfterMs)
    takeInPlace(catalogue)
    assert.ok(isAtRest(catalogue))
    await catalogue.close()
    assert.equal((await engine.counter('generators/g')).bound, 3n)
    assert.equal(takeInPlace(catalogue), undefined)
  })

  test('gives back what it holds once, also if it is woken meanwhile', async () => {
    const names = ['a', 'b'] as const
    const generators = { a: kinds.sequence, b: kinds.sequence }
    const { catalogue, clock, engine } = await startNode({ restAfterMs, generators })
    for (const name of names) await draw(catalogue.find(name)!)
    await clock.pass(3 * restAfterMs)
    for (const name of names) assert.ok(isAtRest(catalogue, name))
    const released: string[] = []
    const release = engine.release.bind(engine)
    engine.release = (counter, ...rest) => {
      released.push(counter)
      for (const name of names) if (!released.includes(`generators/${name}`)) catalogue.find(name)
      return release(counter, ...rest)
    }
    await catalogue.close()
    assert.deepEqual(released.sort(), ['generators/a', 'generators/b'])
    for (const name of names) assert.equal((await engine.counter(`generators/${name}`)).bound, 2n)
  })

  test('issues nothing after the end of its right, not even what its row holds', async () => {
    const { catalogue, clock } = await started()
    await draw(catalogue.find('g')!)
    await clock.pass(3 * restAfterMs)
    catalogue.disown()
    assert.equal(takeInPlace(catalogue), undefined)
    assert.equal(catalogue.find('g'), undefined)
    await settled()
    const [id] = await draw(await catalogue.open('g'))
    assert.equal(id, 2n)
  })

  test('gives nothing back after a copy of the memory was noticed', async () => {
    const { catalogue, clock, engine } = await started()
    await draw(catalogue.find('g')!)
    await clock.pass(3 * restAfterMs)
    const { bound } = await engine.counter('generators/g')
    catalogue.abandonAll()
    assert.equal(takeInPlace(catalogue), undefined)
    assert.deepEqual(await draw(await catalogue.open('g')), [bound])
  })

  for (const change of ['alter', 'drop'] as const)
    test(`ends when it is changed elsewhere: ${change}`, async () => {
      const node = await startNode({ restAfterMs, generators: { g: { kind: 'segment', step: 10 } } })
      const { catalogue, clock, store } = node
      await draw(catalogue.find('g')!)
      await clock.pass(3 * restAfterMs)
      assert.ok(isAtRest(catalogue))
      const other = await startNode({ store, clock })
      if (change === 'drop') await other.catalogue.drop('g')
      else await other.catalogue.alter('g', { increment: 5 })
      await settled()
      assert.equal(takeInPlace(catalogue) ?? 'none', 'none')
      if (change === 'drop') await assert.rejects(catalogue.open('g'), { code: 'NOGENERATOR' })
      else assert.equal((await catalogue.open('g')).definition.increment, 5)
      await other.stop()
    })

  test('is refilled, and rests on, when more is taken from its row than its ids would last for', async () => {
    const { catalogue, clock } = await started({ kind: 'sequence', step: 1000 })
    await draw(catalogue.find('g')!)
    await clock.pass(3 * restAfterMs)
    const [shown] = catalogue.inUse()
    const { inHand } = shown!.stats()
    // Less than its row holds above the low mark.
    for (let second = 0; second < 30; second++) {
      for (let id = 0; id < 3; id++) assert.ok(takeInPlace(catalogue) ?? tryNext(catalogue.find('g')!))
      await clock.pass(1000)
    }
    assert.ok(isAtRest(catalogue))
    assert.ok(catalogue.find('g')!.stats().inHand > inHand)
  })

  test('frees its row, and what it shared, when it leaves', async () => {
    const { catalogue, clock } = await started()
    for (let round = 0; round < 20; round++) {
      await draw(await catalogue.open('g'))
      await clock.pass(3 * restAfterMs)
      assert.ok(isAtRest(catalogue))
      assert.ok(catalogue.names.entryNamed('g') <= 2)
      await catalogue.alter('g', { step: 10 + round })
    }
  })
})

describe('a generator at rest that is used', () => {
  const step = 10

  /** One at rest whose row is empty: it has issued `last`, and holds what follows, to `end`. */
  async function restingAtMark(
    options: GeneratorInput = { kind: 'segment', step },
    reach?: NodeOptions['reach'],
  ) {
    const node = await startNode({ restAfterMs, generators: { g: options }, ...(reach && { reach }) })
    await draw(node.catalogue.find('g')!)
    await node.clock.pass(3 * restAfterMs)
    assert.ok(isAtRest(node.catalogue))
    while (takeInPlace(node.catalogue) !== undefined);
    const [shown] = node.catalogue.inUse()
    const { bound } = await node.engine.counter('generators/g')
    const reserves = node.engine.count('reserve')
    return { ...node, last: shown!.lastIssued()!, end: bound - 1n, reserves }
  }

  test('is refilled without being woken, and issues meanwhile what it holds', async () => {
    const { catalogue, engine, last, end, reserves } = await restingAtMark()
    const held = engine.hold('reserve')
    const [before] = catalogue.inUse()
    const known = before!.stats()
    let next = last
    assert.equal(takeAtRest(catalogue), ++next)
    await held.arrived
    for (let id = takeAtRest(catalogue); id !== undefined; id = takeAtRest(catalogue))
      assert.equal(id, ++next)
    assert.equal(next, end)
    assert.ok(isAtRest(catalogue))
    held.letGo()
    await settled()
    assert.equal(takeInPlace(catalogue), ++next)
    assert.ok(isAtRest(catalogue))
    assert.equal(engine.count('reserve'), reserves + 1)
    const { issued, refills, reserved } = [...catalogue.inUse()][0]!.stats()
    assert.deepEqual([issued, refills], [known.issued + Number(next - last), known.refills + 1])
    assert.equal(BigInt(reserved), (await engine.counter('generators/g')).bound - 1n)
    catalogue.assertInvariants()
  })

  test('goes on with the refill that is under way when it is woken', async () => {
    const { catalogue, clock, engine, last, end, reserves } = await restingAtMark()
    const held = engine.hold('reserve')
    const { refillSeconds } = [...catalogue.inUse()][0]!.stats()
    assert.equal(takeAtRest(catalogue), last + 1n)
    await held.arrived
    clock.mono += 700_000
    const count = Number(end - last) + 5
    const woken = catalogue.find('g')!
    const drawn = draw(woken, count)
    await settled()
    assert.ok(!isAtRest(catalogue))
    assert.equal(engine.count('reserve'), reserves + 1)
    clock.mono += 100_000
    held.letGo()
    await drawn
    // It is timed from where it began, not from where the generator was woken.
    assert.equal(woken.stats().refillSeconds - refillSeconds, 0.8)
    assert.deepEqual(
      await drawn,
      Array.from({ length: count }, (_, at) => last + 2n + BigInt(at)),
    )
    catalogue.assertInvariants()
  })

  test('goes on with the refill that its waiting turn had not begun when it is woken', async () => {
    const { catalogue, engine, last, reserves } = await restingAtMark()
    assert.equal(takeAtRest(catalogue), last + 1n)
    assert.deepEqual(await draw(catalogue.find('g')!, 3), [last + 2n, last + 3n, last + 4n])
    await settled()
    assert.equal(engine.count('reserve'), reserves + 1)
  })

  for (const fault of ['lose-reply', 'lose-request'] as const)
    test(`is woken by a refill that fails, and loses at most what was reserved: ${fault}`, async () => {
      const { catalogue, engine, clock, last, end } = await restingAtMark()
      engine.next('reserve', fault)
      assert.equal(takeAtRest(catalogue), last + 1n)
      await settled()
      assert.ok(!isAtRest(catalogue))
      await clock.pass(10_000)
      const ids = await draw(catalogue.find('g')!, Number(end - last) + 5)
      assert.ok(ids.every((id, at) => id > (ids[at - 1] ?? last + 1n)))
      assert.equal(ids[Number(end - last) - 2], end)
      catalogue.assertInvariants()
    })

  for (const left of ['some', 'none'] as const)
    test(`issues each id once where another process has reserved in between, with ${left} of its own ids left`, async () => {
      const { catalogue, engine, store, last, end } = await restingAtMark(
        { kind: 'segment', step },
        (reached) => new SharedEngine(reached),
      )
      const other = await startNode({ store, reach: (reached) => new SharedEngine(reached) })
      assert.deepEqual(await draw(await other.catalogue.open('g')), [end + 1n])
      const held = engine.hold('reserve')
      assert.equal(takeAtRest(catalogue), last + 1n)
      await held.arrived
      let next = last + 1n
      if (left === 'none') while (next < end) assert.equal(takeAtRest(catalogue), ++next)
      held.letGo()
      await settled()
      assert.equal(isAtRest(catalogue), left === 'none')
      const ids = await draw(catalogue.find('g')!, Number(end - next) + 1)
      const { bound } = await engine.counter('generators/g')
      assert.deepEqual(
        ids.slice(0, -1),
        Array.from({ length: Number(end - next) }, (_, at) => next + 1n + BigInt(at)),
      )
      assert.ok(ids.at(-1)! > end + 1n && ids.at(-1)! < bound)
      catalogue.assertInvariants()
      await other.stop()
    })

  test('gives back at a stop what a refill under way has reserved', async () => {
    const { catalogue, engine, last } = await restingAtMark()
    const held = engine.hold('reserve')
    assert.equal(takeAtRest(catalogue), last + 1n)
    await held.arrived
    const closed = catalogue.close()
    await settled()
    held.letGo()
    await closed
    assert.equal((await engine.counter('generators/g')).bound, last + 2n)
    assert.equal(takeAtRest(catalogue), undefined)
  })

  test('gets nothing of a refill after a copy of the memory was noticed', async () => {
    const { catalogue, engine, last } = await restingAtMark()
    const held = engine.hold('reserve')
    assert.equal(takeAtRest(catalogue), last + 1n)
    await held.arrived
    catalogue.abandonAll()
    held.letGo()
    await settled()
    assert.equal(takeAtRest(catalogue), undefined)
    const { bound } = await engine.counter('generators/g')
    assert.deepEqual(await draw(await catalogue.open('g')), [bound])
  })

  test('gets nothing of a refill that was reserved after the store was advanced', async () => {
    const { catalogue, engine, store, last, end } = await restingAtMark()
    const held = engine.hold('reserve')
    assert.equal(takeAtRest(catalogue), last + 1n)
    await held.arrived
    store.advances++
    held.letGo()
    await settled()
    const ids: bigint[] = []
    for (let id = takeAtRest(catalogue); id !== undefined; id = takeAtRest(catalogue)) ids.push(id)
    for (let id = tryNext(catalogue.find('g')!); id !== undefined; id = tryNext(catalogue.find('g')!))
      ids.push(id)
    assert.ok(ids.every((id) => id <= end))
    catalogue.assertInvariants()
  })

  test('issues to the last id of its space', async () => {
    const { catalogue, clock } = await restingAtMark({ kind: 'segment', step, max: 25 })
    const ids: bigint[] = []
    for (let pass = 0; pass < 100; pass++) {
      for (let id = takeAtRest(catalogue); id !== undefined; id = takeAtRest(catalogue)) ids.push(id)
      const id = tryNext(catalogue.find('g')!)
      if (id !== undefined) ids.push(id)
      await clock.pass(restAfterMs)
    }
    assert.equal(ids.at(-1), 25n)
    assert.ok(ids.every((id, at) => at === 0 || id === ids[at - 1]! + 1n))
    await assert.rejects(draw(catalogue.find('g')!), { code: 'EXHAUSTED' })
  })

  test('shows no id as issued that it only holds', async () => {
    const node = await started({ kind: 'segment', step })
    await node.catalogue.open('g')
    await node.clock.pass(3 * restAfterMs)
    assert.ok(isAtRest(node.catalogue))
    assert.ok(!node.catalogue.names.extend(node.catalogue.names.entryNamed('g')))
  })
})

describe('many generators', () => {
  test('rest as soon as they have served their callers, and change as others do', async () => {
    const count = 1100
    const rule = { pattern: '*', kind: 'segment' } as const
    const { catalogue, store, clock } = await startNode({ restAfterMs, autoCreate: [rule] })
    for (let each = 0; each < count; each++)
      assert.deepEqual(await draw(await catalogue.open(`n${each}`)), [1n])
    const resting = Array.from({ length: count }, (_, each) => isAtRest(catalogue, `n${each}`))
    assert.ok(resting.filter((isResting) => isResting).length >= 90)
    await settled()
    // What this node has written itself, and is reported, wakes none.
    assert.ok(isAtRest(catalogue, `n${count - 1}`))
    assert.equal(takeInPlace(catalogue, `n${count - 1}`), 2n)
    const other = await startNode({ store, clock })
    await other.catalogue.alter(`n${count - 1}`, { increment: 7 })
    await settled()
    assert.equal(takeInPlace(catalogue, `n${count - 1}`) ?? 'none', 'none')
    assert.equal((await catalogue.open(`n${count - 1}`)).definition.increment, 7)
    await clock.pass(3 * restAfterMs)
    await other.stop()
    await catalogue.close()
  })
})

describe('generators of one definition', () => {
  test('share at rest no more than what is the same: each wakes with its own incarnation and floor', async () => {
    const generators = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, kinds.sequence]))
    const { catalogue, clock } = await startNode({ restAfterMs, generators })
    await catalogue.drop('b')
    await catalogue.create('b', kinds.sequence)
    await catalogue.drop('c')
    await catalogue.create('c', { ...kinds.sequence, start: 500 })
    const seen = () =>
      Object.keys(generators).map((name) => {
        const { incarnation, floor } = catalogue.find(name) as OpenGenerator
        return { incarnation, floor }
      })
    const before = seen()
    assert.notEqual(before[0]!.incarnation, before[1]!.incarnation)
    for (const name of Object.keys(generators)) await draw(catalogue.find(name)!)
    await clock.pass(3 * restAfterMs)
    for (const name of Object.keys(generators)) assert.ok(isAtRest(catalogue, name))
    assert.deepEqual(seen(), before)
  })

  test('at rest are not woken when the right of others ends', async () => {
    const generators = { strict: kinds.sequence, free: kinds.segment }
    const { catalogue, clock } = await startNode({ restAfterMs, generators })
    for (const name of Object.keys(generators)) await draw(catalogue.find(name)!)
    await clock.pass(3 * restAfterMs)
    catalogue.disown()
    await settled()
    assert.ok(isAtRest(catalogue, 'free'))
    assert.equal(catalogue.find('strict'), undefined)
  })
})

describe('generators that rest and wake all the time', () => {
  for (let seed = 1; seed <= 30; seed++)
    test(`issue each id once, in order, and count as those that never rest (seed ${seed})`, async () => {
      const dice = new Dice(seed)
      const options = dice.of(Object.values(kinds))
      const node = await startNode({ restAfterMs: 50, generators: { g: options } })
      const { catalogue, clock, engine } = node
      let last = 0n
      let issued = 0
      const got = (ids: readonly bigint[]) => {
        for (const id of ids) {
          assert.ok(id > last, `${id} after ${last}`)
          last = id
          issued++
        }
      }
      let held = catalogue.find('g')!
      for (let step = 0; step < 300; step++) {
        const what = dice.below(12)
        if (what < 3) {
          const id = dice.below(3) === 0 ? takeInPlace(catalogue) : takeAtRest(catalogue)
          if (id !== undefined) got([id])
        } else if (what === 3 || what === 4) {
          const asked = what === 3 ? held : (catalogue.find('g') ?? held)
          got(await passing(node, draw(asked, 1 + dice.below(30))))
        } else if (what === 5) {
          const id = tryNext(dice.below(2) === 0 ? held : (catalogue.find('g') ?? held))
          if (id !== undefined) got([id])
        } else if (what === 6) held = catalogue.find('g') ?? held
        else if (what === 7 && dice.below(6) === 0) {
          held = await passing(node, catalogue.alter('g', { issueTimeout: `${1 + dice.below(9)}s` }))
          issued = 0
        } else if (what === 8 && dice.below(8) === 0)
          engine.next('reserve', dice.of(['lose-reply', 'lose-request']))
        else await clock.pass(dice.of([10, 60, 130, 5000]))
        const [shown] = catalogue.inUse()
        if (shown !== undefined && issued > 0) {
          assert.equal(shown.stats().issued, issued)
          assert.equal(shown.lastIssued(), last)
        }
      }
      catalogue.assertInvariants()
      await catalogue.close()
      const { bound } = await engine.counter('generators/g')
      assert.ok(bound > last)
      await node.stop()
    })
})
