/** Load for the benchmark of databases: as fast as the answers come, or at a rate, without pipelines. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import type { Link } from './database-links.ts'

const drainMs = 20_000

/** The number of answers, and their latencies. */
export type Throughput = { readonly answers: number; readonly perSecond: number }

/** Sends the next request as soon as the answer has come, on every connection. */
export function closedLoop(links: readonly Link[], name: string, seconds: number): Promise<Throughput> {
  return new Promise((resolve, reject) => {
    const startMs = performance.now()
    const endMs = startMs + seconds * 1000
    let answers = 0
    let running = links.length
    for (const link of links) {
      const answered = (failure?: Error) => {
        if (failure !== undefined) return reject(failure)
        answers++
        const nowMs = performance.now()
        if (nowMs < endMs) return link.ask(name, answered)
        running--
        if (running === 0) resolve({ answers, perSecond: (answers * 1000) / (nowMs - startMs) })
      }
      link.ask(name, answered)
    }
  })
}

/**
 * Sends at a fixed rate, independent of answers: a due request waits for a free connection, as in the pool of an
 * application. Resolves to the latencies since each request was due, in ns.
 */
export async function pacedLoop(
  links: readonly Link[],
  name: string,
  ratePerSecond: number,
  seconds: number,
): Promise<RecordableHistogram> {
  const latencies = createHistogram()
  const free = [...links]
  const total = Math.floor(ratePerSecond * seconds)
  const intervalMs = 1000 / ratePerSecond
  const startMs = performance.now()
  const giveUpMs = startMs + seconds * 1000 + drainMs
  let failure: Error | undefined
  let answers = 0
  let sent = 0
  while (answers < total) {
    const due = Math.min(total, Math.floor((performance.now() - startMs) / intervalMs) + 1)
    for (; sent < due && free.length > 0; sent++) {
      const link = free.shift()!
      const dueMs = startMs + sent * intervalMs
      link.ask(name, (failed) => {
        failure ??= failed
        latencies.record(Math.max(1, Math.round((performance.now() - dueMs) * 1_000_000)))
        answers++
        free.push(link)
      })
    }
    if (failure !== undefined) throw failure
    if (performance.now() > giveUpMs) throw new Error(`${name}: ${ratePerSecond} per second are too many`)
    await new Promise(setImmediate)
  }
  return latencies
}
