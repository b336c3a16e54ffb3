/** A floor that one process has raised with an acknowledgement holds whatever another process releases. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ShuffledBuffer } from '../../../src/buffers/permuted-buffers.ts'
import { RangeBuffer } from '../../../src/buffers/range-buffer.ts'
import type { Reservation } from '../../../src/engine/engine.ts'
import { blockPermutation } from '../../../src/ids/permutation.ts'
import { settled } from '../fake-clock.ts'
import { counter, idsOf, type Process, startCounter } from './counter-process.ts'

const shuffle = blockPermutation(new Uint8Array(16), 4)
const buffers: Record<string, () => RangeBuffer> = {
  ordered: () => new RangeBuffer(1, 0n),
  shuffled: () => new ShuffledBuffer(shuffle, 1, 0n),
}

/** What one of two processes does. Floors are meant from where the bound stands. */
type Step = { readonly by: 0 | 1 } & (
  | { readonly act: 'draw'; readonly count: number }
  | { readonly act: 'raise'; readonly above: number; readonly answer: 'heard' | 'lost' }
  | { readonly act: 'restart' }
  | { readonly act: 'pass on' }
)

const by = fc.constantFrom<(0 | 1)[]>(0, 1)
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ by, act: fc.constant('draw' as const), count: fc.nat(14) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        by,
        act: fc.constant('raise' as const),
        above: fc.oneof(fc.constant(0), fc.integer({ min: -12, max: 3 })),
        answer: fc.constantFrom<('heard' | 'lost')[]>('heard', 'heard', 'lost'),
      }),
    },
    { weight: 2, arbitrary: fc.record({ by, act: fc.constantFrom('restart' as const, 'pass on' as const) }) },
  ),
  { maxLength: 20 },
)

function boundOf({ store }: Process): bigint {
  return store.counters.get(counter)?.bound ?? 0n
}

describe('two processes that draw from one counter and raise its floor', () => {
  for (const [order, newBuffer] of Object.entries(buffers)) {
    test(`undo no floor, and issue no id twice, in any order of steps (${order})`, async () => {
      await fc.assert(
        fc.asyncProperty(steps, (sequence) => keepsFloors(newBuffer, sequence)),
        { numRuns: 300 },
      )
    })
  }

  test('release ids above the floor, and none below', async () => {
    const process = await startCounter({ step: 1000 })
    const other = await startCounter({}, process)
    await process.reservoir.draw(1)
    const { bound } = await process.engine.counter(counter)
    await other.reservoir.moveTo(bound - 1n)
    assert.equal(boundOf(process), bound)
    await process.reservoir.draw(600)
    await settled()
    assert.ok(boundOf(process) > bound)
    await process.close()
    assert.equal(boundOf(process), bound)
    assert.equal((await other.reservoir.draw(1))[0]!.first, bound)
  })
})

async function keepsFloors(newBuffer: () => RangeBuffer, sequence: readonly Step[]): Promise<void> {
  const first = await startCounter({ buffer: newBuffer(), stepMultiple: 4 })
  const start = (leftover?: Reservation) =>
    startCounter({ buffer: newBuffer(), stepMultiple: 4, leftover }, first)
  const processes = [first, await start()]
  const seen = new Set<bigint>()
  let floor = 0n
  for (const step of sequence) {
    const process = processes[step.by]!
    if (step.act === 'restart') {
      await process.close()
      processes[step.by] = await start()
    } else if (step.act === 'pass on') {
      await process.reservoir.idle()
      const released = process.engine.count('release')
      processes[step.by] = await start(process.reservoir.transfer(new Error('over')))
      await process.close()
      assert.equal(process.engine.count('release'), released)
      await first.clock.pass(50)
    } else if (step.act === 'draw') {
      const drawing = process.reservoir.draw(step.count + 1)
      await first.clock.pass(50)
      for (const id of idsOf(await drawing)) {
        assert.ok(!seen.has(id), `${id} was issued twice`)
        seen.add(id)
      }
    } else {
      const newest = boundOf(first) + BigInt(step.above) - 1n
      if (step.answer === 'lost') process.engine.next('reserve', 'lose-reply')
      const moved = process.reservoir.moveTo(newest < 0n ? 0n : newest)
      if (step.answer === 'lost') await assert.rejects(moved)
      else await moved
      if (step.answer === 'heard' && newest >= floor) floor = newest + 1n
      process.engine.heal()
    }
    assert.ok(boundOf(first) >= floor, `the bound is ${boundOf(first)}, below the floor ${floor}`)
  }
}
