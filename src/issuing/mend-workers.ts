/** What becomes of worker ids' records in a store that has forgotten writes. */
import { mendEach } from '../engine/advance.ts'
import type { Mend } from '../engine/engine.ts'
import { readWorker, workerPrefix } from './worker-records.ts'

/**
 * Longer than a process that still runs on what was forgotten can have time in hand: 1.25 of the default lead, and
 * some. Below this, a claim could begin inside of what such a process issues.
 */
export const forgottenUsMin = 15 * 60_000_000

/**
 * Moves every worker id's bound above what can have been used of it, whoever held it when the writes were
 * forgotten. `leadUs`: the lead of this installation's nodes.
 */
export function mendWorkers(nowUs: number, leadUs = 0): Mend {
  return mendEach((stored) => {
    if (!stored.key.startsWith(workerPrefix)) return undefined
    const record = readWorker(stored)
    const boundUs = Math.max(record.boundUs, Math.ceil(nowUs + Math.max(forgottenUsMin, leadUs * 1.5)))
    return JSON.stringify({ ...record, boundUs, exclusive: false })
  })
}
