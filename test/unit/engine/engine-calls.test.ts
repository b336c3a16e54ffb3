import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EngineCall, timedEngine } from '../../../src/engine/engine-calls.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { FakeClock } from '../fake-clock.ts'

test('a timed engine reports each call once it is over, and changes nothing else', async () => {
  const clock = new FakeClock()
  const faulty = new FaultyEngine(new MemoryEngine(new MemoryStore()))
  const calls: EngineCall[] = []
  const engine = timedEngine(faulty, { clock }, (call) => calls.push(call))
  faulty.slow('reserve', 40, clock)
  const reserving = engine.reserve('c', { size: 10n, incarnation: 1n })
  await clock.pass(39)
  assert.equal(calls.length, 0)
  await clock.pass(1)
  const reservation = await reserving
  const record = await engine.write('r', 'value', undefined)
  assert.deepEqual(await engine.read('r'), record)
  assert.deepEqual(await engine.list('r'), [record])
  assert.equal((await engine.counter('c')).bound, 10n)
  assert.equal(await engine.release('c', reservation, 5n, { incarnation: 1n }), true)
  assert.equal(await engine.advance(100n), 1)
  assert.equal(await engine.remove('r', record!.version), true)
  const watch = await engine.watch('r', () => {})
  watch.close()
  faulty.next('reserve', 'lose-reply')
  await assert.rejects(engine.reserve('c', { size: 1n, incarnation: 1n }), { code: 'UNKNOWN' })
  assert.deepEqual(
    calls.map(({ operation, outcome }) => `${operation} ${outcome}`),
    [
      ...['reserve ok', 'write ok', 'read ok', 'list ok', 'counter ok', 'release ok', 'advance ok'],
      ...['remove ok', 'watch ok', 'reserve UNKNOWN'],
    ],
  )
  assert.equal(calls[0]!.seconds, 0.04)
  assert.deepEqual(await engine.ownership(), { state: 'owner' })
  assert.deepEqual([engine.name, engine.location], ['memory', 'memory:'])
  await engine.close()
  assert.equal(engine.status().state, 'down')
})
