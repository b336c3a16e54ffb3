/** Where the code of a thread is: a source file, or what the build made of it. */
import { basename } from 'node:path'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** Starts a thread. `source`: its file under src/. The build puts the code of each thread beside that of this file. */
export function startThread(source: URL, options: WorkerOptions): Worker {
  const built = new URL(`./${basename(source.pathname, '.ts')}.js`, import.meta.url)
  return new Worker(import.meta.url.endsWith('.ts') ? source : built, { ...options, execArgv: [] })
}
