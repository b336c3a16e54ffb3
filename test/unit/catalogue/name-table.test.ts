import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { keyedHash } from '../../../src/base/keyed-hash.ts'
import { FastRuns, rowWords } from '../../../src/buffers/fast-runs.ts'
import {
  contiguousBit,
  entryLength,
  entryMetered,
  entryReached,
  formatBit,
} from '../../../src/catalogue/name-bytes.ts'
import { type NamedGenerator, NameTable } from '../../../src/catalogue/name-table.ts'
import { Dice } from '../dice.ts'

function named(name: string, row = 0, options: Partial<NamedGenerator> = {}): NamedGenerator {
  return { name, row, contiguous: false, definition: { kind: 'sequence' } as never, ...options }
}

/** The entry of a name whose bytes stand somewhere in a buffer. */
function entryAt(table: NameTable<NamedGenerator>, name: string): number {
  const bytes = Buffer.concat([Buffer.from('*'.repeat(3)), Buffer.from(name), Buffer.from('\r\n')])
  return table.entryOf(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 3, bytes.length - 5)
}

/** Names that begin alike, of all lengths, some of them not ASCII. */
function nameOf(dice: Dice): string {
  const letters = ['a', 'ab', 'é', '序', '\u{1f600}', 'z'.repeat(dice.below(70))]
  let name = 'room:'.slice(0, dice.below(6))
  for (let parts = dice.below(6); parts >= 0; parts--) name += dice.of(letters)
  return name.slice(0, 80).toWellFormed() || 'x'
}

describe('a table of names', () => {
  test('makes a generator for each look-up of a name that has a row alone, and forgets none of its bytes', () => {
    const runs = new FastRuns()
    const table = new NameTable<NamedGenerator>(runs)
    table.wake = (entry) => named(table.nameOf(entry), entry)
    const names = [
      'a',
      '\ufeffb',
      'é'.repeat(20),
      '序'.repeat(85),
      'room:123456789012345678901234567890123456789',
    ]
    for (const [at, name] of names.entries()) {
      const { row } = runs.add()
      table.addRow(name, row, contiguousBit)
      assert.equal(entryAt(table, name), row)
      assert.deepEqual(table.get(name), named(name, at + 1))
      assert.deepEqual(table.at(row), named(name, at + 1))
    }
    table.set('o', named('o'))
    assert.deepEqual(
      [...table.awake()].map(({ name }) => name),
      ['o'],
    )
    table.assertInvariants()
    for (const name of names) table.remove(table.entryNamed(name))
    assert.deepEqual([table.size, table.get(names[0]!), table.at(0)], [1, undefined, undefined])
    table.assertInvariants()
  })

  for (let seed = 1; seed <= 10; seed++)
    test(`finds by bytes and by string what a map finds (seed ${seed})`, () => {
      const dice = new Dice(seed)
      const table = new NameTable<NamedGenerator>(new FastRuns())
      const model = new Map<string, NamedGenerator>()
      table.waker = { extend: () => false, wake: (name) => model.get(name)! }
      for (let step = 0; step < 6000; step++) {
        const name = nameOf(dice)
        // More leave than come, for a while: the table shrinks.
        const leaves = step % 3000 > 2000 ? 4 : 2
        if (dice.below(5) < leaves) {
          const known = [...model.keys()]
          const leaving = known.length > 0 && dice.below(2) === 0 ? dice.of(known) : name
          assert.equal(table.delete(leaving), model.delete(leaving))
        } else {
          const generator = named(name)
          table.set(name, generator)
          model.set(name, generator)
          if (dice.below(2) === 0) table.rest(table.entryNamed(name))
        }
        assert.equal(table.get(name), model.get(name))
        assert.equal(table.at(entryAt(table, name)), model.get(name))
        assert.equal(table.size, model.size)
      }
      table.assertInvariants()
      const names = [...table.entries()].map((entry) => table.nameOf(entry))
      assert.deepEqual(names.sort(), [...model.keys()].sort())
      for (const entry of [...table.entries()]) assert.equal(table.at(entry), model.get(table.nameOf(entry)))
      assert.deepEqual(new Set(table.awake()), new Set(model.values()))
      for (const [name, generator] of model) assert.equal(table.at(entryAt(table, name)), generator)
    })

  test('tells names of every length from those that they begin or continue', () => {
    const table = new NameTable<NamedGenerator>(new FastRuns())
    const names = Array.from({ length: 256 }, (_, index) => 'n'.repeat(index + 1))
    for (const name of names) table.set(name, named(name))
    for (const name of names) {
      assert.equal(table.get(name)!.name, name)
      assert.equal(table.at(entryAt(table, name))!.name, name)
      assert.equal(table.get(`${name.slice(1)}m`), undefined)
    }
    table.assertInvariants()
  })

  test('finds nothing under what can be no name', () => {
    const table = new NameTable<NamedGenerator>(new FastRuns())
    table.set('\u{fffd}', named('\u{fffd}'))
    for (const name of ['', '\ud800', 'x'.repeat(257), 'é'.repeat(129), 'é'.repeat(300)]) {
      assert.equal(table.get(name), undefined)
      assert.equal(table.delete(name), false)
    }
  })

  test('drops what was noted about a name when the name leaves, and keeps it while generators without rows replace one another', () => {
    const runs = new FastRuns()
    const table = new NameTable<NamedGenerator>(runs)
    const noted = (name: string) => {
      const at = entryAt(table, name) * rowWords
      return [runs.words[at + entryReached], runs.words[at + entryMetered]]
    }
    table.set('one', named('one'))
    const entry = entryAt(table, 'one')
    runs.words[entry * rowWords + entryReached] = 7
    runs.words[entry * rowWords + entryMetered] = 8
    table.set('one', named('one'))
    assert.deepEqual(noted('one'), [7, 8])
    table.delete('one')
    table.set('two', named('two'))
    assert.equal(entryAt(table, 'two'), entry)
    assert.deepEqual(noted('two'), [0, 0])
  })

  test('has a name in the row of its generator, with what is known of the ids', () => {
    const runs = new FastRuns()
    const table = new NameTable<NamedGenerator>(runs)
    runs.add().free()
    const { row } = runs.add()
    table.set('one', named('one', row, { contiguous: true }))
    assert.equal(entryAt(table, 'one'), row)
    assert.equal(runs.words[row * rowWords + entryLength], 3 | contiguousBit)
    table.set('one', named('one', row, { definition: { format: 'A{id}' } as never }))
    assert.equal(entryAt(table, 'one'), row)
    assert.equal(runs.words[row * rowWords + entryLength], 3 | formatBit)
  })

  test('finds no ids of a generator under its name once another one without a row has it, and none of the next owner', () => {
    const runs = new FastRuns()
    const table = new NameTable<NamedGenerator>(runs)
    const name = 'a name that is longer than its row'
    const run = runs.add()
    run.fill(0, 1, 5, 1)
    table.set(name, named(name, run.row))
    const { row } = run
    const standby = named(name)
    table.set(name, standby)
    const entry = entryAt(table, name)
    assert.notEqual(entry, row)
    assert.deepEqual([runs.count(entry), table.get(name), table.size], [0, standby, 1])
    assert.equal(run.takeNumber(), 1)
    run.free()
    assert.equal(runs.add().row, row)
    table.assertInvariants()
  })

  test('keeps the row of a name that was freed from others until the name leaves', () => {
    const runs = new FastRuns()
    const table = new NameTable<NamedGenerator>(runs)
    const run = runs.add()
    const { row } = run
    run.fill(0, 1, 5, 1)
    table.set('one', named('one', row))
    run.free()
    const other = runs.add()
    assert.notEqual(other.row, row)
    other.fill(0, 1, 5, 1)
    assert.deepEqual([entryAt(table, 'one'), runs.count(row)], [row, 0])
    table.delete('one')
    assert.equal(runs.add().row, row)
  })

  test('uses the memory of names that have left', () => {
    const runs = new FastRuns()
    const table = new NameTable<NamedGenerator>(runs)
    const fill = (round: number) => {
      for (let index = 0; index < 2000; index++) {
        const name = `${round}:${index}:${'x'.repeat((index * 7 + round) % 200)}`
        table.set(name, named(name))
      }
    }
    const empty = () => {
      for (const { name } of table.awake()) table.delete(name)
    }
    fill(0)
    empty()
    const { rows } = runs
    for (let round = 1; round < 10; round++) {
      fill(round)
      empty()
    }
    assert.equal(runs.rows, rows)
    table.assertInvariants()
  })
})

function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0
  return hash
}

/** Names with one hash, if it is FNV-1a: behind this beginning, two blocks lead to the same state, again and again. */
function* fnvCollisions(): Iterable<string> {
  for (let choice = 0; choice < 2 ** 17; choice++)
    yield `7yzx${Array.from({ length: 17 }, (_, bit) => ((choice >> bit) & 1 ? '33zx' : 'epad')).join('')}`
}

/** Names whose hash with the key 0 begins with the same 4 bits: all of them share a 16th of the slots. */
function* keyZeroCollisions(): Iterable<string> {
  for (let number = 0; ; number++) {
    const bytes = Buffer.from(`key:${number}`)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    if (keyedHash(view, 0, bytes.length, 0, 0) >>> 28 === 0) yield bytes.toString()
  }
}

/** How many slots the look-ups of names read, on average. */
function probesOf(names: Iterable<string>, count = 100_000, key?: Uint8Array): number {
  const table = new NameTable<NamedGenerator>(new FastRuns(), key)
  const added: string[] = []
  for (const name of names) {
    if (added.length === count) break
    table.set(name, named(name))
    added.push(name)
  }
  return added.reduce((sum, name) => sum + table.probes(name), 0) / added.length
}

describe('a hundred thousand names', () => {
  function* random() {
    const dice = new Dice(1)
    for (;;) yield `${dice.below(2 ** 31)}${dice.below(2 ** 31)}`
  }
  test('that collide under FNV-1a share no more slots than random ones', () => {
    const [first, ...others] = fnvCollisions()
    assert.ok(others.every((name) => fnv1a(name) === fnv1a(first!)))
    assert.ok(probesOf(fnvCollisions()) < 1.1 * probesOf(random()))
  })

  test('that collide under the same hash with another key share no more slots than random ones', () => {
    assert.ok(probesOf(keyZeroCollisions()) < 1.1 * probesOf(random()))
    assert.ok(probesOf(keyZeroCollisions(), 5000, new Uint8Array(8)) > 100, 'with that key they do collide')
  })
})
