/** The thread that runs a store, so that a slow fsync does not block the event loop. */
import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'
import { systemClock } from '../../base/clock.ts'
import { describe } from '../../base/errors.ts'
import type { WorkerInput, WorkerReply, WorkerRequest } from './protocol.ts'
import { Store } from './store.ts'

const port = parentPort
assert(port !== null, 'this file is a worker')

const store = open()
if (store === undefined) port.close()
else port.on('message', (request: WorkerRequest) => serve(store, request))

function open(): Store | undefined {
  const { file, busyTimeoutMs } = workerData as WorkerInput
  try {
    const opened = new Store({ file, busyTimeoutMs, clock: systemClock })
    reply({ type: 'opened', lastWriteUs: opened.lastWriteUs, trouble: opened.trouble })
    return opened
  } catch (error) {
    reply({ type: 'refused', message: error instanceof Error ? error.message : describe(error) })
    return undefined
  }
}

function serve(store: Store, request: WorkerRequest): void {
  if (request.type === 'close') {
    store.close()
    port!.close()
    return
  }
  const outcome = store.run(request.operations, request.nowUs)
  reply({ type: 'done', ...outcome, advances: store.advances, trouble: store.trouble })
}

function reply(message: WorkerReply): void {
  port!.postMessage(message)
}
