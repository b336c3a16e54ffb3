import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Observer } from '../../../src/issuing/observer.ts'
import { FakeClock } from '../fake-clock.ts'

/** Something that notes when it is called, and is called again after the next of the given times. */
function observed(clock: FakeClock, ...againMs: (number | undefined)[]) {
  const at: number[] = []
  const startUs = clock.monoUs()
  return {
    at,
    observe() {
      at.push((clock.monoUs() - startUs) / 1000)
      return againMs.shift()
    },
  }
}

test('each is called after the time that it names, until it names none', async () => {
  const clock = new FakeClock()
  const observer = new Observer(clock)
  const [one, two] = [observed(clock, 200, 400), observed(clock, 100)]
  observer.observe(one, 100)
  await clock.pass(50)
  observer.observe(two, 100)
  await clock.pass(10_000)
  assert.deepEqual(
    [one.at, two.at],
    [
      [100, 300, 700],
      [150, 250],
    ],
  )
  assert.equal(clock.timers, 0)
})

test('one timer serves all that wait equally long, and many are called in parts', async () => {
  const clock = new FakeClock()
  const observer = new Observer(clock)
  const all = Array.from({ length: 1200 }, () => observed(clock))
  for (const each of all) observer.observe(each, 100)
  assert.equal(clock.timers, 1)
  await clock.pass(100)
  assert.ok(all.every(({ at }) => at.length === 1))
})

test('none is called that was forgotten, and no timer is left when all were', async () => {
  const clock = new FakeClock()
  const observer = new Observer(clock)
  const [one, two] = [observed(clock, 100), observed(clock)]
  observer.observe(one, 100)
  observer.observe(two, 100)
  observer.forget(one)
  await clock.pass(100)
  assert.deepEqual([one.at, two.at], [[], [100]])
  observer.observe(one, 100)
  observer.forget(one)
  assert.equal(clock.timers, 0)
})
