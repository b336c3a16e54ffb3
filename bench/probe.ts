/** Measurements in a process of their own, with a clean heap and an exposed collector. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const runFile = promisify(execFile)

/** Runs a file of this folder, with --expose-gc, and resolves to the JSON that it prints. */
export async function runProbe<Result>(file: string, ...args: readonly string[]): Promise<Result> {
  const path = join(import.meta.dirname, file)
  const { stdout } = await runFile(process.execPath, ['--expose-gc', path, ...args], { maxBuffer: 2 ** 24 })
  return JSON.parse(stdout)
}

/** Heap in use after a full collection, and resident memory, in bytes. */
export function memoryNow(): { heapBytes: number; residentBytes: number } {
  // The first collection finalises what the second one frees.
  globalThis.gc!()
  globalThis.gc!()
  const { heapUsed, rss } = process.memoryUsage()
  return { heapBytes: heapUsed, residentBytes: rss }
}
