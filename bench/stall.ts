/** A disk that stops: every sync of one process's store takes five seconds while a stall is on. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { temporaryFolder } from '../test/launch/places.ts'
import { startProcess } from '../test/launch/process.ts'

const delayUs = 5_000_000

/** A stall under way. */
export type Stall = {
  /** Ends the stall; resolves to the number of held syncs. */
  end(): Promise<number>
}

/**
 * Begins a stall: strace holds fsync and fdatasync of the threads beside the main one, which it does not touch,
 * so that nothing but the stall itself disturbs the event loop.
 */
export async function beginStall(lifetime: Lifetime, pid: number): Promise<Stall> {
  const log = join(temporaryFolder(lifetime), 'strace')
  const threads = storeThreads(pid)
  const strace = await startProcess(lifetime, {
    command: 'strace',
    args: [
      ...['-o', log, '-e', 'trace=fsync,fdatasync', '-e', `inject=fsync,fdatasync:delay_enter=${delayUs}`],
      ...threads.flatMap((thread) => ['-p', thread]),
    ],
    readyWhen: { line: /attached/ },
  })
  return {
    async end() {
      await strace.kill('SIGINT')
      return readFileSync(log, 'utf8').match(/(?:fsync|fdatasync)\(/g)?.length ?? 0
    },
  }
}

/** Threads that may run JavaScript, except the main one; V8 and libuv give their threads other names. */
function storeThreads(pid: number): string[] {
  const own = /^(?:V8Worker|DelayedTaskSche|SignalInspector|libuv-worker|MainThread|node)$/
  return readdirSync(`/proc/${pid}/task`).filter(
    (thread) =>
      thread !== `${pid}` && !own.test(readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').trim()),
  )
}
