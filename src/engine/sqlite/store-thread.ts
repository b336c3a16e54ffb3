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
let checking: NodeJS.Immediate | undefined
let converted: string | undefined
const onConverted = (message: string) => {
  converted = message
}
const store = new Store({ file, busyTimeoutMs, clock: systemClock, onConverted })
reply({ type: 'opened', lastWriteUs: store.lastWriteUs, trouble: store.trouble, converted })

checkOn()

port.on('message', (request: ThreadRequest) => {
  if (request.type === 'close') {
    clearImmediate(checking)
    store.close()
    port.close()
    return
  }
  const operations = unpackOperations(request.operations)
  const { outcomes, repaired } = store.run(operations, request.nowUs)
  const { advances, trouble } = store
  reply({ type: 'done', outcomes: packOutcomes(operations, outcomes), repaired, advances, trouble })
  checkOn()
})

/** Reads a large store for damage, a part at a time, between two batches. */
function checkOn(): void {
  clearImmediate(checking)
  checking = setImmediate(() => {
    const { trouble } = store
    if (store.check()) checkOn()
    if (store.trouble !== trouble) reply({ type: 'trouble', trouble: store.trouble })
  })
}

function reply(message: ThreadReply): void {
  port!.postMessage(message)
}
