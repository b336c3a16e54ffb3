/** Faults put into a server's system calls with strace, from its start or for a while. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Lifetime } from '../launch/lifetime.ts'
import { requireProgram, startProcess } from '../launch/process.ts'

/** A fault that is being injected. */
export type Fault = {
  /** Ends it; the server runs on. */
  end(): Promise<void>
}

/** A wrapper for `startFahao` that injects for the whole life: `fsync:delay_enter=1000000:when=8+`. */
export function tracedFromStart(injection: string): readonly string[] {
  requireProgram('strace')
  const calls = ['-e', 'trace=pwrite64,fsync,fdatasync', '-e', `inject=${injection}`]
  return ['strace', '-D', '-f', '--seccomp-bpf', '-o', '/dev/null', ...calls]
}

/**
 * Injects into the calls of the thread that writes the store, from now until `end`; the rest of the process is
 * left at full speed. `error=EIO`, `delay_enter=1000000` (µs).
 */
export async function breakSyncs(lifetime: Lifetime, pid: number, injection: string): Promise<Fault> {
  const calls = ['-e', 'trace=fsync,fdatasync', '-e', `inject=fsync,fdatasync:${injection}`]
  const strace = await startProcess(lifetime, {
    command: 'strace',
    args: ['-p', `${storeThread(pid)}`, '-o', '/dev/null', ...calls],
    readyWhen: { line: /attached/ },
  })
  return {
    async end() {
      await strace.kill('SIGINT')
    },
  }
}

function storeThread(pid: number): number {
  const folder = `/proc/${pid}/task`
  const found = readdirSync(folder).find(
    (thread) => readFileSync(`${folder}/${thread}/comm`, 'utf8').trim() === 'sqlite',
  )
  if (found === undefined) throw new Error(`process ${pid} has no thread named sqlite`)
  return Number(found)
}
