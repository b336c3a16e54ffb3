/** The worker thread: owns the file, takes batches, answers each when it is durable. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { describe } from '../../base/errors.ts'
import { OwnerLock } from './owner-lock.ts'
import type { Batch, Message, Operation, Outcome, WorkerInput } from './protocol.ts'
import { SqliteStore } from './store.ts'

const { file, busyTimeoutMs } = workerData as WorkerInput
const port = parentPort!

function say(message: Message): void {
  port.postMessage(message)
}

try {
  const store = new SqliteStore(file, busyTimeoutMs, () => BigInt(systemClock.wallUs()))
  const lock = new OwnerLock(file)
  port.on('message', (batch: Batch | 'close') => {
    if (batch === 'close') {
      store.close()
      lock.release()
      port.close()
      return
    }
    say({
      type: 'done',
      id: batch.id,
      outcomes: answer(store, lock, batch.operations),
      trouble: store.trouble,
    })
  })
  say({ type: 'opened', lastWriteUs: store.lastWriteUs, trouble: store.trouble })
} catch (error) {
  say({ type: 'refused', message: describe(error) })
  port.close()
}

/** Asking for the lock needs no transaction; everything else shares one. */
function answer(store: SqliteStore, lock: OwnerLock, operations: readonly Operation[]): Outcome[] {
  const stored = operations.filter((operation) => operation.op !== 'own')
  const outcomes = stored.length > 0 ? store.run(stored) : []
  if (stored.length === operations.length) return outcomes
  const rest = outcomes.values()
  return operations.map(({ op }) => (op === 'own' ? { value: lock.take() } : rest.next().value!))
}
