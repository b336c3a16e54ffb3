/** Generators at rest: what their rows issue, what wakes them, and that nothing is lost or issued twice on the way. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { rowLo, rowStride, rowWords } from '../../../src/buffers/fast-runs.ts'
import type { EngineCatalogue } from '../../../src/catalogue/engine-catalogue.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import type { OpenGenerator } from '../../../src/catalogue/open-generator.ts'
import { Dice } from '../dice.ts'
import { settled } from '../fake-clock.ts'
import { draw, type Node, startNode, tryNext } from './node.ts'

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

  test('is woken when more is taken from its row than its ids would last for', async () => {
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
    assert.ok(!isAtRest(catalogue))
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
          const id = takeInPlace(catalogue)
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
