/** The thread that runs a store, so that a slow fsync does not block the event loop. */
import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'
import { systemClock } from '../../base/clock.ts'
import { Store } from './store.ts'
import {
  packOutcomes,
  type ThreadInput,
  type ThreadReply,
  type ThreadRequest,
  unpackOperations,
} from './thread-messages.ts'

const port = parentPort
assert(port !== null, 'this file is a thread')

const { file, busyTimeoutMs } = workerData as ThreadInput
// An error of the opening ends the thread, and the engine receives it.
let converted: string | undefined
const onConverted = (message: string) => {
  converted = message
}
const store = new Store({ file, busyTimeoutMs, clock: systemClock, onConverted })
reply({ type: 'opened', lastWriteUs: store.lastWriteUs, trouble: store.trouble, converted })

port.on('message', (request: ThreadRequest) => {
  if (request.type === 'close') {
    store.close()
    port.close()
    return
  }
  const operations = unpackOperations(request.operations)
  const { outcomes, repaired } = store.run(operations, request.nowUs)
  const { advances, trouble } = store
  reply({ type: 'done', outcomes: packOutcomes(operations, outcomes), repaired, advances, trouble })
})

function reply(message: ThreadReply): void {
  port!.postMessage(message)
}
