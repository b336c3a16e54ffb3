import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { CopyDetector, type CopyDetectorOptions, copyMarginMs } from '../../../src/base/copy-detector.ts'
import { FakeClock } from '../fake-clock.ts'

const second = 1_000_000
const marginUs = copyMarginMs * 1000

function watched(options: Partial<CopyDetectorOptions> = {}) {
  const clock = new FakeClock()
  const reasons: string[] = []
  const detector = new CopyDetector({ clock, onCopy: (reason) => reasons.push(reason), ...options })
  return { clock, reasons, detector }
}

/** Moves both clocks, as time does. */
function elapse(clock: FakeClock, us: number): void {
  clock.mono += us
  clock.wall += us
}

describe('a copy detector', () => {
  test('notices nothing while both clocks advance together', () => {
    const { clock, reasons, detector } = watched()
    for (const us of [0, 1, second, 3600 * second]) {
      elapse(clock, us)
      assert.equal(detector.check(), false)
    }
    assert.deepEqual(reasons, [])
    assert.equal(detector.count, 0)
  })

  test('notices wall time that ran ahead by more than the margin since the last look, once', () => {
    const { clock, reasons, detector } = watched()
    clock.wall += marginUs
    assert.equal(detector.check(), false)
    clock.wall += marginUs + 1
    assert.equal(detector.check(), true)
    assert.equal(detector.check(), false)
    assert.deepEqual(reasons, ['wall time ran ahead of monotonic time by 1 s'])
    assert.equal(detector.count, 1)
  })

  test('has dropped everything before the check returns', () => {
    let buffered = 1000
    const { clock, detector } = watched({ onCopy: () => (buffered = 0) })
    clock.wall += 60 * second
    detector.check()
    assert.equal(buffered, 0)
  })

  test('ignores a wall clock that is set back, and notices one that comes back from there by more than the margin', () => {
    const { clock, detector } = watched()
    clock.wall -= 3600 * second
    assert.equal(detector.check(), false)
    clock.wall += 3600 * second
    assert.equal(detector.check(), true)
  })

  test('notices a process that runs on where the monotonic clock is younger', () => {
    const { clock, detector } = watched()
    elapse(clock, 5000 * second)
    detector.check()
    clock.mono = 10 * second
    assert.equal(detector.check(), true)
  })

  test('notices a changed mark, with its name, also while both clocks stand still', () => {
    let pid = 100
    let generation: bigint | undefined = 7n
    const { reasons, detector } = watched({
      marks: [
        { name: 'the process id', read: () => pid },
        { name: 'the generation of the machine', read: () => generation },
      ],
    })
    assert.equal(detector.check(), false)
    pid = 101
    assert.equal(detector.check(), true)
    generation = 8n
    assert.equal(detector.check(), true)
    generation = undefined
    assert.equal(detector.check(), true)
    assert.equal(detector.check(), false)
    assert.deepEqual(reasons, [
      'the process id changed',
      'the generation of the machine changed',
      'the generation of the machine changed',
    ])
  })

  test('looks by itself every second, so that slewing while a process is idle adds up to nothing', async () => {
    const { clock, reasons, detector } = watched()
    const timer = detector.watch()
    for (let passed = 0; passed < 100; passed++) {
      // 5 %: a hundred times what a time service slews by.
      clock.wall += 0.05 * second
      await clock.pass(1000)
      assert.deepEqual(reasons, [])
    }
    timer.cancel()
  })

  test('notices every resumed snapshot whose wall clock has come right, and no step within the margin', () => {
    const step = fc.record({
      elapsedUs: fc.integer({ min: 0, max: 3600 * second }),
      steppedUs: fc.integer({ min: -3600 * second, max: 3600 * second }),
    })
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const { clock, detector } = watched()
        for (const { elapsedUs, steppedUs } of steps) {
          elapse(clock, elapsedUs)
          clock.wall += steppedUs
          assert.equal(detector.check(), steppedUs > marginUs)
        }
      }),
    )
  })
})
