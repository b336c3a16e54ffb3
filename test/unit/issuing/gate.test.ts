/** Rights under which many issuers issue: how one write ends or suspends all of them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { FahaoError } from '../../../src/base/errors.ts'
import { emptyRow, FastRuns } from '../../../src/buffers/fast-runs.ts'
import { Run } from '../../../src/ids/run.ts'
import { Gate } from '../../../src/issuing/gate.ts'
import { settled } from '../fake-clock.ts'
import { count, idsOf, type Process, startCounter } from './counter-process.ts'

const run = new Run()
const over = new FahaoError('STALE', 'the right has ended')

function next({ reservoir }: Process): bigint | undefined {
  return reservoir.take(1, run) === 0 ? undefined : run.first
}

/** Processes that share nothing but a gate, each with ids 2 to 10 buffered. */
async function issuers(number: number, gate: Gate): Promise<Process[]> {
  const processes = []
  for (let index = 0; index < number; index++) {
    const process = await startCounter({ gate })
    await process.reservoir.draw(1)
    processes.push(process)
  }
  return processes
}

describe('a gate that is closed', () => {
  test('lets out no id of any issuer under it, and all that was left once it is open', async () => {
    const runs = new FastRuns()
    const [gate, other] = [new Gate(runs), new Gate(runs)]
    const under = await issuers(20, gate)
    const [beside] = await issuers(1, other)
    for (const each of under) assert.equal(next(each), 2n)
    gate.close()
    for (const each of under) {
      assert.equal(next(each), undefined)
      assert.equal(each.reservoir.takeNumber(), -1)
    }
    assert.equal(next(beside!), 2n)
    gate.open()
    for (const each of under) assert.deepEqual([next(each), each.reservoir.takeNumber()], [3n, 4])
  })

  test('keeps callers waiting in their order, before any call that comes once it is open', async () => {
    const gate = new Gate()
    const [process] = await issuers(1, gate)
    next(process!)
    gate.close()
    const first = process!.reservoir.draw(3)
    const second = process!.reservoir.draw(2)
    await settled()
    process!.reservoir.assertInvariants()
    gate.open()
    assert.equal(next(process!), 8n)
    assert.deepEqual(idsOf(await first), count(3, 6))
    assert.deepEqual(idsOf(await second), count(6, 8))
  })

  test('starts no reserve for callers that wait, and starts it when it opens', async () => {
    const gate = new Gate()
    const [process] = await issuers(1, gate)
    gate.close()
    const { bound } = process!.store.counters.get('generators/test')!
    const drawn = process!.reservoir.draw(100)
    await settled()
    assert.equal(process!.store.counters.get('generators/test')!.bound, bound)
    gate.open()
    assert.equal(idsOf(await drawn).length, 100)
  })

  test('lets no id of a reserve out that is answered meanwhile', async () => {
    const gate = new Gate()
    const process = await startCounter({ gate })
    const held = process.engine.hold('reserve')
    const drawn = process.reservoir.draw(1)
    await held.arrived
    gate.close()
    let isServed = false
    void drawn.then(() => {
      isServed = true
    })
    held.letGo()
    await settled()
    assert.equal(isServed, false)
    gate.open()
    assert.deepEqual(idsOf(await drawn), [1n])
  })

  test('rejects callers that have waited too long', async () => {
    const gate = new Gate()
    const [process] = await issuers(1, gate)
    gate.close()
    const drawn = assert.rejects(process!.reservoir.draw(1), { code: 'CLUSTERDOWN' })
    await process!.clock.pass(2000)
    await drawn
    gate.open()
    assert.equal(next(process!), 2n)
  })
})

describe('a gate that has ended', () => {
  test('lets out no id ever again, and its callers get the reason, those that waited before it returns', async () => {
    const gate = new Gate()
    const [waiting, idle] = await issuers(2, gate)
    waiting!.engine.hold('reserve')
    const drawn = assert.rejects(waiting!.reservoir.draw(100), over)
    await settled()
    gate.end(over)
    assert.equal(waiting!.reservoir.stats().waiting, 0)
    await drawn
    gate.open()
    for (const each of [waiting, idle]) {
      assert.equal(next(each!), undefined)
      await assert.rejects(each!.reservoir.draw(1), over)
      await assert.rejects(each!.reservoir.moveTo(1000n), over)
    }
  })

  test('lets an issuer give back what it has buffered, unless it was dropped', async () => {
    for (const [end, bound] of [
      ['end', 2n],
      ['drop', 11n],
    ] as const) {
      const gate = new Gate()
      const [process] = await issuers(1, gate)
      gate[end](over)
      await process!.close()
      assert.equal(process!.store.counters.get('generators/test')!.bound, bound)
    }
  })

  test('gives no row to an issuer that comes too late', () => {
    const gate = new Gate()
    gate.end(over)
    assert.equal(gate.add().row, emptyRow)
  })
})

test('however a gate opens and closes, ids leave in order, each once, and none while it is closed', async () => {
  const step = fc.record({
    what: fc.constantFrom('take', 'draw', 'close', 'open', 'pass'),
    of: fc.nat(2),
    ids: fc.integer({ min: 1, max: 30 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const gate = new Gate()
      const processes = await issuers(3, gate)
      const issued: bigint[][] = processes.map(() => [1n])
      const draws: Promise<void>[] = []
      const note = (of: number, ids: bigint[]) => {
        assert.ok(gate.isOpen, 'no id leaves while the gate is closed')
        assert.equal(ids[0], issued[of]!.at(-1)! + 1n)
        issued[of]!.push(...ids)
      }
      for (const { what, of, ids } of steps) {
        const { reservoir, clock } = processes[of]!
        if (what === 'close') gate.close()
        else if (what === 'open') {
          gate.open()
          // Callers that it serves note their ids.
          await settled()
        } else if (what === 'pass') await clock.pass(ids)
        else if (what === 'take') {
          if (reservoir.take(ids, run) > 0) note(of, idsOf([run]))
        } else {
          const before = gate.isOpen
          const drawn = reservoir.draw(ids).then((runs) => {
            // Callers that were served in this very turn were served while it was open.
            assert.ok(before || gate.isOpen)
            for (const id of idsOf(runs)) assert.equal(issued[of]!.includes(id), false)
            issued[of]!.push(...idsOf(runs))
          })
          draws.push(drawn)
          await settled()
        }
      }
      gate.open()
      for (const { clock } of processes) await clock.pass(100)
      await Promise.all(draws)
      for (const ids of issued) {
        const sorted = ids.toSorted((a, b) => Number(a - b))
        assert.deepEqual(sorted, count(1, ids.length + 1))
      }
      for (const process of processes) {
        process.reservoir.assertInvariants()
        await process.close()
      }
    }),
    { numRuns: 100 },
  )
})
