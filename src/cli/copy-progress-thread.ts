/**
 * The thread that shows how a copy grows while SQLite, which makes it in one call, keeps the main thread. It posts a message when it
 * has shown its first line.
 */
import { statSync, writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { repeat, systemClock } from '../base/clock.ts'
import { Progress } from './progress.ts'

/** What is copied, and the file that grows to about the same size. */
export type CopyShown = { readonly from: string; readonly draft: string }

const { from, draft } = workerData as CopyShown
const bytes = statSync(from).size
// The streams of a thread are written by the main thread.
const terminal = { isTTY: true as const, write: (text: string) => writeSync(2, text) > 0 }
const progress = new Progress('bytes', terminal)

const show = () => {
  // It does not exist while the store is checked for damage.
  const size = statSync(draft, { throwIfNoEntry: false })?.size ?? 0
  progress.to(Math.min(size, bytes), bytes)
}
show()
parentPort!.postMessage('shown')
repeat(systemClock, 250, async () => show())
