/** What a client does when a mark shows that its memory exists twice. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ClientDeps } from '../../../client/src/client.ts'
import { FakeClock } from '../fake-clock.ts'
import { clientOf, LeaseService } from './lease-service.ts'

async function opened(t: TestContext, deps: Partial<ClientDeps> = {}) {
  const reasons: string[] = []
  const service = new LeaseService(new FakeClock(), 'time:41,node:10,sequence:12;epoch=2025-01-01T00:00:00Z')
  const onEvent = (event: { readonly type: string; readonly reason?: string }) =>
    void (event.type === 'memory-copied' && reasons.push(event.reason!))
  const client = clientOf(service, { onEvent }, deps)
  t.after(() => client.close())
  return { service, reasons, generator: await client.generator('event') }
}

const workerOf = (id: bigint) => (id >> 12n) & 1023n

test('a mark that has changed drops the lease before another id is issued, and another one is taken', async (t) => {
  let mark = 1
  const { service, reasons, generator } = await opened(t, { marks: [{ name: 'the mark', read: () => mark }] })
  const before = workerOf(await generator.next())
  mark = 2
  assert.equal(generator.tryNext(), undefined)
  assert.deepEqual(reasons, ['the mark changed'])
  assert.notEqual(workerOf(await generator.next()), before)
  assert.deepEqual(service.requests, ['ID.LEASE event', 'ID.LEASE event'])
  assert.deepEqual(reasons, ['the mark changed'])
})

test('the process id is a mark, where there is one', async (t) => {
  const { reasons, generator } = await opened(t)
  const before = workerOf(await generator.next())
  const pid = Object.getOwnPropertyDescriptor(process, 'pid')!
  t.after(() => Object.defineProperty(process, 'pid', pid))
  Object.defineProperty(process, 'pid', { ...pid, value: process.pid + 1 })
  assert.equal(generator.tryNext(), undefined)
  assert.deepEqual(reasons, ['the process id changed'])
  assert.notEqual(workerOf(await generator.next()), before)
})
