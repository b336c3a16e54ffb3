import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Timeline } from '../../../src/base/timeline.ts'
import { ClockBuffer } from '../../../src/buffers/clock-buffer.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { SnowflakeSource } from '../../../src/issuing/snowflake-source.ts'
import { WorkerId } from '../../../src/issuing/worker-id.ts'
import { FakeClock } from '../fake-clock.ts'

const leadUs = 60_000_000

function workerOn(store: MemoryStore, clock: FakeClock, owner: string): WorkerId {
  return new WorkerId({
    engine: new MemoryEngine(store),
    timeline: new Timeline(clock),
    fixedId: undefined,
    leadUs,
    owner,
    holder: owner,
    onEvent: () => {},
  })
}

test('a snowflake whose worker id is lost between reserve and use issues under neither id, then under the next', async () => {
  const store = new MemoryStore()
  const clock = new FakeClock()
  const worker = workerOn(store, clock, 'one')
  const layout = parseLayout('twitter')
  const buffer = new ClockBuffer({
    layout,
    timeline: new Timeline(clock),
    random: () => 0,
    borrowMaxUs: 0,
    sequenceStart: 'zero',
  })
  let interfere = true
  const source = new SnowflakeSource(
    buffer,
    { name: 'event', counter: 'generators/event', incarnation: 1n, floor: 0n, advances: 0 },
    {
      worker,
      layout,
      async confirm() {
        if (!interfere) return
        interfere = false
        // A clock far ahead takes the id; another snowflake of this node finds out.
        await workerOn(store, new FakeClock(clock.wall + 10 * leadUs), 'two').secure(0)
        await worker.secure(clock.wall + 3 * leadUs)
      },
    },
  )
  await assert.rejects(source.refill(1, 0, 0), { code: 'CONFLICT' })
  assert.equal(source.buffer.collect(1), undefined)
  assert.equal(worker.id, 1)
  await source.refill(1, 0, 0)
  const [run] = source.buffer.collect(1)!
  assert.equal((run!.first >> BigInt(layout.nodeShift)) & 1023n, 1n)
})
