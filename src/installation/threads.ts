/** Where the code of a thread is: a source file, what the build made of it, or a part of the executable. */
import { basename } from 'node:path'
import { getAsset, isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** Whether this code runs in Fahao's own executable. */
export function isInExecutable(): boolean {
  return isSea() && fileURLToPath(import.meta.url) === process.execPath
}

/**
 * Starts a thread. `source`: its file under src/. The build puts the code of each thread beside that of this file, and into the
 * executable by that name. An executable of another program may load this file from its folder.
 */
export function startThread(source: URL, options: WorkerOptions): Worker {
  const name = `${basename(source.pathname, '.ts')}.js`
  if (isInExecutable()) return new Worker(getAsset(name, 'utf8'), { ...options, execArgv: [], eval: true })
  const isSource = import.meta.url.endsWith('.ts')
  return new Worker(isSource ? source : new URL(`./${name}`, import.meta.url), { ...options, execArgv: [] })
}
