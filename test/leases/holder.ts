/**
 * One process of the campaign: takes ids through the client as fast as it can, and logs them. Started with one JSON
 * argument (`HolderTask`). SIGTERM ends it cleanly: it gives back what is left, and prints one line of figures.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect } from '../../client/src/index.ts'
import { RunLog } from './run-log.ts'

/** What a process has to do. */
export type HolderTask = {
  readonly urls: readonly string[]
  readonly generator: string
  /** Path of its log. */
  readonly log: string
  /** How long its leases last, in ms. */
  readonly ttlMs: number
  /** How many ids it takes in one turn. */
  readonly batch: number
  /** How long it rests after each turn, in ms; 0: it takes ids without a rest. */
  readonly restMs: number
}

const task: HolderTask = JSON.parse(process.argv[2]!)
const errors = new Map<string, number>()
const log = new RunLog(task.log)
let stopped = false
process.once('SIGTERM', () => {
  stopped = true
})

const client = await connect(task.urls, { horizonMs: task.ttlMs / 2 })
const generator = await client.generator(task.generator)
console.log('takes ids')
while (!stopped) {
  let taken = 0
  for (; taken < task.batch; taken++) {
    const id = generator.tryNext()
    if (id === undefined) break
    log.add(id)
  }
  log.flush()
  if (taken < task.batch) await takeOne()
  if (task.restMs > 0) await new Promise((resolve) => setTimeout(resolve, task.restMs))
  else await nextTurn()
}
await client.close()
log.close()
console.log(JSON.stringify(Object.fromEntries(errors)))

async function takeOne(): Promise<void> {
  try {
    log.add(await generator.next())
    log.flush()
  } catch (error) {
    const code = (error as { code?: string }).code ?? String(error)
    errors.set(code, (errors.get(code) ?? 0) + 1)
    // The service is away, or this process was stopped for longer than its leases last.
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
