import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { layoutOf } from '../../../src/catalogue/definition.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { settled } from '../fake-clock.ts'
import { draw, type Node, startNode, tryNext } from './node.ts'

const dayUs = 86_400_000_000
const coarse = 'time:32,node:10,sequence:21;unit=s;epoch=2020-01-01T00:00:00Z'

/** Draws some ids, until a few refills have gone by. */
async function use({ catalogue }: Node, name = 'g', count = 50): Promise<bigint[]> {
  const generator = await catalogue.open(name)
  const ids: bigint[] = []
  for (let each = 0; each < count; each++) ids.push(...(await draw(generator)))
  return ids
}

/** Whether the layout of `next` dates the first unit of time above `highest` more than a day ahead of `nowUs`. */
function isDatedAhead(highest: bigint, next: GeneratorInput, nowUs: number): boolean {
  if (next.kind === 'sequence' || next.kind === 'segment') return false
  const { epochUs, timeShift, unitUs } = parseLayout(next.layout ?? 'twitter')
  const firstUnit = Number((highest >> BigInt(timeShift)) + 1n)
  return epochUs + firstUnit * unitUs > nowUs + dayUs
}

describe('the next incarnation of a generator', () => {
  const kinds: GeneratorInput[] = [
    { kind: 'sequence', step: 10 },
    { kind: 'segment', step: 10 },
    { kind: 'segment', step: 10, increment: 10, offset: 3 },
    { kind: 'segment', step: 10, within: 'shuffled' },
    { kind: 'timestamp' },
    { kind: 'timestamp', layout: coarse },
    { kind: 'snowflake' },
    { kind: 'snowflake', layout: coarse },
  ]
  for (const first of kinds) {
    for (const second of kinds) {
      test(`repeats no id: ${JSON.stringify(first)} dropped, then ${JSON.stringify(second)}`, async () => {
        const node = await startNode({ generators: { g: first } })
        const before = await use(node)
        assert.equal(await node.catalogue.drop('g'), true)
        await assert.rejects(node.catalogue.open('g'), { code: 'NOGENERATOR' })
        await node.clock.pass(1500)
        const highest = before.reduce((a, b) => (a > b ? a : b))
        const isRefused = isDatedAhead(highest, second, node.clock.wall)
        if (isRefused)
          await assert.rejects(node.catalogue.create('g', second), {
            code: 'ERR',
            message: /the new layout would reach only far in the future; use another name/,
          })
        const next = await node.catalogue.create('g', isRefused ? first : second)
        assert.deepEqual([next.kind, next.incarnation], [isRefused ? first.kind : second.kind, 3n])
        const after = await use(node)
        assert.equal(new Set([...before, ...after]).size, 100)
        assert.ok(after.every((id) => id > highest))
      })
    }
  }

  test('is above every earlier one, not only the last', async () => {
    const node = await startNode({ generators: { g: { kind: 'timestamp' } } })
    const [id] = await use(node, 'g', 1)
    await node.catalogue.alter('g', { kind: 'sequence' })
    await node.catalogue.drop('g')
    await node.catalogue.create('g', { kind: 'segment' })
    assert.ok((await use(node, 'g', 1))[0]! > id!)
    const other = await startNode({ generators: { g: { kind: 'timestamp' } } })
    const [early] = await use(other, 'g', 1)
    await other.catalogue.alter('g', { kind: 'segment' })
    await assert.rejects(
      other.catalogue.alter('g', { kind: 'timestamp', layout: coarse }),
      /use another name/,
    )
    const later = await other.catalogue.alter('g', { kind: 'timestamp', layout: 'twitter' })
    assert.ok((await draw(later))[0]! > early!)
  })

  test('counts the bits above time in', async () => {
    const node = await startNode()
    const layout = (value: number) => `fixed:2=${value},time:41,node:8,sequence:12;epoch=2026-01-01T00:00:00Z`
    await node.catalogue.create('g', { kind: 'timestamp', layout: layout(3) })
    const [id] = await use(node, 'g', 1)
    await node.catalogue.drop('g')
    await assert.rejects(node.catalogue.create('g', { kind: 'segment' }), { code: 'ERR' })
    assert.ok(id! > 2n ** 62n)
  })

  test('is refused if no id of its steps is left below max', async () => {
    const node = await startNode({ generators: { g: { kind: 'segment', step: 1, max: 10 } } })
    const before = await use(node, 'g', 8)
    await assert.rejects(
      node.catalogue.alter('g', { increment: 7, offset: 0 }),
      /none below max 10; use another name/,
    )
    assert.ok((await use(node, 'g', 1))[0]! > before.at(-1)!)
  })

  test('is not scrambled if ids have been issued, because it could repeat them', async () => {
    const node = await startNode({ generators: { g: { kind: 'segment', max: 9999 } } })
    await use(node, 'g', 1)
    await assert.rejects(node.catalogue.alter('g', { scramble: true }), /could repeat them; use another name/)
    await node.catalogue.drop('g')
    await assert.rejects(node.catalogue.create('g', { kind: 'segment', scramble: true, max: 9999 }), {
      code: 'ERR',
    })
    await node.catalogue.create('fresh', { kind: 'segment', max: 9999 })
    await node.catalogue.alter('fresh', { scramble: true })
    await assert.rejects(node.catalogue.alter('fresh', { max: 99_999 }), /another would repeat ids/)
    await use(node, 'fresh', 1)
    await assert.rejects(node.catalogue.alter('fresh', { scramble: false }), { code: 'ERR' })
    await node.catalogue.alter('fresh', { scramble: false, max: 99_999 })
    assert.deepEqual(await use(node, 'fresh', 1), [10_000n])
  })

  test('refuses the reserves of the one before from the first moment', async () => {
    const node = await startNode({ generators: { g: { kind: 'segment', step: 10 } } })
    const other = await startNode({ store: node.store })
    const there = await other.catalogue.open('g')
    await draw(there, 10)
    other.store.watchers.clear()
    await node.catalogue.alter('g', { increment: 3, offset: 0 })
    const opened = other.engine.count('counter')
    const after = (await Promise.all([10, 10, 10].map((count) => draw(there, count)))).flat()
    assert.ok(after.every((id) => id % 3n === 0n))
    assert.equal(other.engine.count('counter'), opened + 1, 'it is opened once for all waiting calls')
  })

  test('keeps the incarnation and the buffer when only tunable options change', async () => {
    const node = await startNode({ generators: { g: { kind: 'sequence', step: 10 } } })
    assert.deepEqual(await use(node, 'g', 3), [1n, 2n, 3n])
    const altered = await node.catalogue.alter('g', { step: 20, issueTimeout: '1s' })
    assert.equal(altered.incarnation, 1n)
    assert.deepEqual(await draw(altered), [4n])
    assert.equal(altered.definition.issueTimeout, 1000)
    await assert.rejects(node.catalogue.alter('g', { start: 5 }), /use FLOOR/)
    await assert.rejects(node.catalogue.alter('absent', { step: 5 }), { code: 'NOGENERATOR' })
    await assert.rejects(node.catalogue.alter('g', { step: -5 }), { code: 'ERR' })
  })
})

describe('raising the floor', () => {
  test('moves a sequence, also together with a change that starts a new incarnation', async () => {
    const node = await startNode({ generators: { g: { kind: 'sequence', step: 10 } } })
    await use(node, 'g', 3)
    assert.deepEqual(await draw(await node.catalogue.alter('g', { floor: '100' })), [100n])
    assert.deepEqual(await draw(await node.catalogue.alter('g', { floor: 1000n, increment: 5, offset: 2 })), [
      1002n,
    ])
    await assert.rejects(node.catalogue.alter('g', { floor: 50 as never }), /moves forward only/)
  })

  test('keeps every node from reserving below', async () => {
    const node = await startNode({ generators: { g: { kind: 'segment', step: 10 } } })
    const other = await startNode({ store: node.store })
    await use(node, 'g', 3)
    await use(other, 'g', 3)
    assert.deepEqual(await draw(await node.catalogue.alter('g', { floor: '5000' })), [5000n])
    const ids = await use(other, 'g', 30)
    assert.ok(ids.at(-1)! > 5000n)
    await node.catalogue.alter('g', { floor: '10' })
    assert.ok((await use(node, 'g', 1))[0]! > 5000n)
  })

  test('moves also above ids that are reserved while it is raised', async () => {
    const node = await startNode({ generators: { g: { kind: 'segment', step: 10 } } })
    await use(node, 'g', 3)
    const held = node.engine.hold('reserve')
    const raising = node.catalogue.alter('g', { floor: '5000' })
    await held.arrived
    assert.deepEqual(await use(node, 'g', 1), [4n])
    held.letGo()
    assert.deepEqual(await draw(await raising), [5000n])
  })

  test('refuses an impossible floor, and changes nothing then', async () => {
    const node = await startNode({
      generators: { g: { kind: 'segment', max: 1000 }, s: { kind: 'snowflake' } },
    })
    for (const floor of ['-1', 'x', '1.5', -1n])
      await assert.rejects(node.catalogue.alter('g', { floor, step: 7 }), { code: 'ERR' })
    await assert.rejects(node.catalogue.alter('g', { floor: '1001' }), { code: 'ERR' })
    await assert.rejects(node.catalogue.alter('s', { floor: '5' }), { code: 'WRONGTYPE' })
    assert.equal((await node.catalogue.info('g')).definition.step, 1000)
  })
})

describe('a move that is probably a mistake', () => {
  for (const kind of ['sequence', 'segment'] as const) {
    test(`is refused unless it is forced: ${kind}`, async () => {
      const { catalogue } = await startNode({ generators: { g: { kind, step: 10 } } })
      await draw(await catalogue.open('g'), 5)
      const mistaken = /^to move 'g' from \d+ to \d+ gives up \d+ of its \d+ ids for good; .* FORCE$/
      for (const floor of [Date.now(), 2n ** 61n, 2n ** 63n - 1n])
        await assert.rejects(catalogue.alter('g', { floor: `${floor}` }), { code: 'ERR', message: mistaken })
      assert.ok((await draw(await catalogue.open('g')))[0]! < 100n)
      await catalogue.alter('g', { floor: 10n ** 12n })
      assert.deepEqual(await draw(await catalogue.open('g')), [10n ** 12n])
      await catalogue.alter('g', { floor: 2n ** 61n, force: true })
      assert.deepEqual(await draw(await catalogue.open('g')), [2n ** 61n])
    })

    test(`is one that skips most ids that are left below max: ${kind}`, async () => {
      const { catalogue } = await startNode({ generators: { g: { kind, step: 1, max: 1000 } } })
      await assert.rejects(catalogue.alter('g', { floor: 600n }), /gives up 599 of its 1000 ids/)
      await catalogue.alter('g', { floor: 400n })
      await catalogue.alter('g', { floor: 600n })
      assert.deepEqual(await draw(await catalogue.open('g')), [600n])
    })
  }
})

describe('moving a strict generator', () => {
  test('continues above the given id, and never below', async () => {
    const node = await startNode()
    const sequence = await node.catalogue.create('g', { kind: 'sequence', max: 5000 })
    await sequence.moveTo(499n)
    assert.equal(sequence.lastIssued(), 499n)
    assert.deepEqual(await draw(sequence), [500n])
    await assert.rejects(sequence.moveTo(499n), { code: 'ERR' })
    await assert.rejects(sequence.moveTo(5001n), { code: 'ERR' })
  })

  test('computes the unit of time of a timestamp from the id', async () => {
    const node = await startNode()
    const timestamp = await node.catalogue.create('t', { kind: 'timestamp', node: 7 })
    const [id] = await draw(timestamp)
    const layout = layoutOf(timestamp.definition)
    const newest = id! + (5000n << BigInt(layout.timeShift)) + 3n
    await timestamp.moveTo(newest)
    const [next] = await draw(timestamp)
    assert.ok(next! > newest)
    assert.equal((next! - id!) >> BigInt(layout.timeShift), 5001n)
    await assert.rejects(timestamp.moveTo(2n ** 63n - 1n), { code: 'ERR' })
    const snowflake = await node.catalogue.create('s', { kind: 'snowflake' })
    await assert.rejects(snowflake.moveTo(2n ** 62n), { code: 'WRONGTYPE' })
  })
})

test('a sequence is not moved to below where it starts', async () => {
  const node = await startNode()
  const generator = await node.catalogue.create('g', { kind: 'sequence', start: 1000n })
  await assert.rejects(generator.moveTo(5n), /starts at 1000; it moves forward only/)
  await generator.moveTo(999n)
  assert.deepEqual(await draw(generator), [1000n])
})

describe('callers of a generator that is altered', () => {
  test('are served by its next incarnation if they wait', async () => {
    const node = await startNode()
    const old = await node.catalogue.create('g', { kind: 'sequence', step: 10 })
    await draw(old, 10)
    const held = node.engine.hold('reserve')
    const waiting = Promise.all([draw(old, 20), draw(old, 3)])
    await held.arrived
    const altering = node.catalogue.alter('g', { increment: 2, offset: 0 })
    await settled()
    held.letGo()
    const [large, small] = await waiting
    const { incarnation } = await altering
    assert.equal(incarnation, 2n)
    assert.equal(new Set([...large!, ...small!]).size, 23)
    assert.equal(tryNext(old), undefined)
    assert.equal((await draw(old)).length, 1)
  })

  test('get no contiguous block after it has become shuffled', async () => {
    const node = await startNode()
    const old = await node.catalogue.create('g', { kind: 'segment', step: 10 })
    await draw(old)
    await node.catalogue.alter('g', { within: 'shuffled' })
    await assert.rejects(old.draw(5, { contiguous: true }), { code: 'WRONGTYPE' })
  })

  test('get NOGENERATOR after a drop', async () => {
    const node = await startNode()
    const old = await node.catalogue.create('g', { kind: 'segment' })
    await draw(old)
    await node.catalogue.drop('g')
    await assert.rejects(draw(old), { code: 'NOGENERATOR' })
    assert.equal(await node.catalogue.drop('g'), false)
  })

  test('are rejected after some attempts if the counter is ahead of the record', async () => {
    const node = await startNode({ generators: { g: { kind: 'segment' } } })
    await node.engine.reserve('generators/g', { size: 0n, incarnation: 9n })
    const generator = await node.catalogue.open('g')
    await assert.rejects(draw(generator), { code: 'STALE' })
    assert.ok(node.engine.count('reserve') < 20)
  })
})

describe('what another node changes', () => {
  test('is followed as soon as the watch reports it', async () => {
    const node = await startNode({ generators: { g: { kind: 'segment', step: 10 } } })
    const other = await startNode({ store: node.store })
    const there = await other.catalogue.open('g')
    await draw(there)
    await node.catalogue.alter('g', { step: 77 })
    await settled()
    assert.equal(other.catalogue.find('g'), undefined)
    assert.equal((await other.catalogue.open('g')).definition.step, 77)
    await node.catalogue.drop('g')
    await settled()
    assert.equal(other.catalogue.find('g'), undefined)
    await assert.rejects(draw(there), { code: 'NOGENERATOR' })
  })

  test('is followed also if it is reported while the generator is being opened', async () => {
    const node = await startNode({ generators: { g: { kind: 'segment', step: 10 } } })
    const other = await startNode({ store: node.store })
    const held = other.engine.hold('counter')
    const opening = other.catalogue.open('g')
    await held.arrived
    await node.catalogue.alter('g', { step: 77 })
    await settled()
    held.letGo()
    assert.equal((await opening).definition.step, 77)
    const dropped = other.engine.hold('counter')
    await node.catalogue.create('h', { kind: 'segment' })
    const reopening = assert.rejects(other.catalogue.open('h'), { code: 'NOGENERATOR' })
    await dropped.arrived
    await node.catalogue.drop('h')
    await settled()
    dropped.letGo()
    await reopening
  })

  test('does not close the successor that has been opened in the meantime', async () => {
    const node = await startNode({ generators: { g: { kind: 'segment', step: 10 } } })
    await draw(await node.catalogue.open('g'))
    const altered = await node.catalogue.alter('g', { step: 20 })
    await settled()
    assert.equal(node.catalogue.find('g'), altered)
    await node.catalogue.drop('g')
    const again = await node.catalogue.create('g', { kind: 'segment' })
    await settled()
    assert.equal(node.catalogue.find('g'), again)
  })

  test('closes a generator whose record cannot be read, and the next request is rejected', async () => {
    const node = await startNode({ generators: { g: { kind: 'segment' } } })
    const { version } = node.store.records.get('generators/g')!
    await node.engine.write('generators/g', 'nonsense', version)
    await settled()
    assert.equal(node.catalogue.find('g'), undefined)
    await assert.rejects(node.catalogue.open('g'), /generators\/g cannot be read/)
  })

  test('ends a snowflake’s old incarnation before it uses more time', async () => {
    const node = await startNode({ leadUs: 10_000_000, generators: { g: { kind: 'snowflake' } } })
    const other = await startNode({ store: node.store, clock: node.clock, leadUs: 10_000_000 })
    const there = await other.catalogue.open('g')
    await draw(there)
    other.store.watchers.clear()
    await node.catalogue.drop('g')
    await node.clock.pass(20_000)
    await assert.rejects(draw(there), { code: 'NOGENERATOR' })
  })
})

describe('writes with an unknown outcome', () => {
  test('are rejected, and a repetition finds the stored state', async () => {
    for (const fault of ['lose-reply', 'lose-request'] as const) {
      const node = await startNode()
      node.engine.next('write', fault)
      await assert.rejects(node.catalogue.create('g', { kind: 'segment', step: 10 }), { code: 'UNKNOWN' })
      const generator = await node.catalogue.create('g', { kind: 'segment', step: 10 })
      assert.equal(generator.incarnation, 1n)
      const before = await use(node, 'g', 5)
      node.engine.next('write', fault)
      await assert.rejects(node.catalogue.alter('g', { increment: 2, offset: 0 }), { code: 'UNKNOWN' })
      assert.equal((await node.catalogue.alter('g', { increment: 2, offset: 0 })).incarnation, 2n)
      const after = await use(node, 'g', 20)
      node.engine.next('write', fault)
      await assert.rejects(node.catalogue.drop('g'), { code: 'UNKNOWN' })
      await node.catalogue.drop('g')
      await node.catalogue.create('g', { kind: 'segment' })
      const last = await use(node, 'g', 5)
      assert.equal(new Set([...before, ...after, ...last]).size, 30)
    }
  })

  test('seal out the old incarnation before the next begins, although the drop could not', async () => {
    const node = await startNode({ generators: { g: { kind: 'segment', step: 10 } } })
    const other = await startNode({ store: node.store })
    const there = await other.catalogue.open('g')
    await draw(there, 10)
    other.store.watchers.clear()
    node.engine.next('reserve', 'unavailable')
    await assert.rejects(node.catalogue.drop('g'), { code: 'UNAVAILABLE' })
    await node.catalogue.create('g', { kind: 'timestamp' })
    other.engine.next('read', 'unavailable')
    await assert.rejects(draw(there, 100), { code: 'UNAVAILABLE' })
  })
})

test('a strict generator is served by the store’s owner alone, and by the next owner in order', async () => {
  const node = await startNode()
  const other = await startNode({ store: node.store })
  const sequence = await node.catalogue.create('g', { kind: 'sequence', step: 10 })
  const before = await draw(sequence, 15)
  await assert.rejects(other.catalogue.open('g'), { code: 'NOTOWNER' })
  await node.stop()
  const after = await draw(await other.catalogue.open('g'), 3)
  assert.deepEqual(
    [...before, ...after],
    Array.from({ length: 18 }, (_, index) => BigInt(index + 1)),
  )
})
