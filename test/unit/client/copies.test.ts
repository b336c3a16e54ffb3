/** What a client does when a mark shows that its memory exists twice. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ClientDeps } from '../../../client/src/client.ts'
import { open } from './lease-service.ts'

/** A client, and why it took its memory for a copy. */
async function openMarked(t: TestContext, deps: Partial<ClientDeps> = {}) {
  const reasons: string[] = []
  const onEvent = (event: { readonly type: string; readonly reason?: string }) =>
    void (event.type === 'memory-copied' && reasons.push(event.reason!))
  return { reasons, ...(await open(t, undefined, { onEvent }, deps)) }
}

const workerOf = (id: bigint) => (id >> 12n) & 1023n

test('a mark that has changed drops the lease before another id is issued, and another one is taken', async (t) => {
  let mark = 1
  const { service, reasons, generator } = await openMarked(t, {
    marks: [{ name: 'the mark', read: () => mark }],
  })
  const before = workerOf(await generator.next())
  mark = 2
  assert.equal(generator.tryNext(), undefined)
  assert.deepEqual(reasons, ['the mark changed'])
  assert.notEqual(workerOf(await generator.next()), before)
  assert.deepEqual(service.requests, ['ID.LEASE event', 'ID.LEASE event'])
  assert.deepEqual(reasons, ['the mark changed'])
})

test('the process id is a mark, where there is one', async (t) => {
  const { reasons, generator } = await openMarked(t)
  const before = workerOf(await generator.next())
  const pid = Object.getOwnPropertyDescriptor(process, 'pid')!
  t.after(() => Object.defineProperty(process, 'pid', pid))
  Object.defineProperty(process, 'pid', { ...pid, value: process.pid + 1 })
  assert.equal(generator.tryNext(), undefined)
  assert.deepEqual(reasons, ['the process id changed'])
  assert.notEqual(workerOf(await generator.next()), before)
})
