import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BoundsByName } from '../../../src/base/bounds-by-name.ts'
import { Dice } from '../dice.ts'

function nameOf(dice: Dice): string {
  const letters = [
    'a',
    'ab',
    'é',
    '序',
    '\u{1f600}',
    '\ufeff',
    '\ufffd',
    '\ud800',
    'z'.repeat(dice.below(70)),
  ]
  let name = 'generators/'.slice(0, dice.below(12))
  for (let parts = dice.below(5); parts > 0; parts--) name += dice.of(letters)
  return name
}

describe('bounds by name', () => {
  for (let seed = 1; seed <= 10; seed++)
    test(`are those of a map of strings (seed ${seed})`, () => {
      const dice = new Dice(seed)
      const bounds = new BoundsByName()
      const model = new Map<string, bigint>()
      for (let step = 0; step < 5000; step++) {
        const name =
          dice.below(2) === 0 && model.size > 0 ? dice.of([...model.keys()].slice(0, 50)) : nameOf(dice)
        const bound = dice.of([0n, BigInt(dice.below(1e9)), 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n])
        if (dice.below(3) > 0) {
          bounds.set(name, bound)
          model.set(name, bound)
        }
        assert.equal(bounds.get(name), model.get(name))
      }
      assert.deepEqual(new Map(bounds), model)
      assert.equal([...bounds].length, model.size)
      for (const [name, bound] of model) assert.equal(bounds.get(name), bound)
    })
})
