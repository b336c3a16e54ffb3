/**
 * One process of the crowd: many clients, each with a worker lease of its own, that take a few ids now and then. Started
 * with one JSON argument (`CrowdTask`). Prints a line when every client has ids, and the longest wait for a lease.
 */
import { connect } from '../../client/src/index.ts'
import { RunLog } from './run-log.ts'

/** What a process of the crowd has to do. */
export type CrowdTask = {
  readonly urls: readonly string[]
  readonly generator: string
  readonly log: string
  readonly clients: number
  readonly ttlMs: number
}

const retryMs = 100
const turnMs = 50
const idsPerTurn = 5

const task: CrowdTask = JSON.parse(process.argv[2]!)
const log = new RunLog(task.log)
let stopped = false
process.once('SIGTERM', () => {
  stopped = true
})

const startMs = performance.now()
const crowd = await Promise.all(Array.from({ length: task.clients }, open))
console.log(`all have ids after ${Math.round(performance.now() - startMs)} ms`)
while (!stopped) {
  for (const { generator } of crowd) {
    for (let taken = 0; taken < idsPerTurn; taken++) {
      const id = generator.tryNext()
      if (id === undefined) break
      log.add(id)
    }
    // The snowflakes of another worker id follow.
    log.flush()
  }
  await rest(turnMs)
}
await Promise.all(crowd.map(({ client }) => client.close()))
log.close()

async function open() {
  const client = await connect(task.urls, {
    horizonMs: task.ttlMs / 2,
    // All of a thousand clients start on the cores of one machine.
    timeoutMs: 60_000,
    attemptTimeoutMs: 20_000,
  })
  for (;;) {
    try {
      const generator = await client.generator(task.generator)
      log.add(await generator.next())
      log.flush()
      return { client, generator }
    } catch (error) {
      // All worker ids are held, or rest until the spans of killed processes have passed.
      if ((error as { code?: string }).code !== 'EXHAUSTED') throw error
      await rest(retryMs)
    }
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
