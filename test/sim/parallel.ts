/** Seeds in processes of their own, on all cores. */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Seeds, Tally } from './seeds.ts'

/**
 * Runs them, `from` this folder: another copy of this one, for another copy of what it tests. `onSeed`: called after each.
 */
export async function runInParallel(
  seeds: Seeds,
  from = import.meta.dirname,
  onSeed?: () => void,
): Promise<Tally> {
  const parts = Math.min(seeds.count, availableParallelism())
  const enough = new AbortController()
  const tallies = await Promise.all(
    Array.from({ length: parts }, async (_, part) => {
      const count = Math.ceil((seeds.count - part) / parts)
      const some = { ...seeds, first: seeds.first + part, count, stride: parts }
      const tally = await runInProcess(some, from, enough.signal, onSeed)
      if (seeds.untilFound && tally.violations.length > 0) enough.abort()
      return tally
    }),
  )
  const sum = (of: (tally: Tally) => number) => tallies.reduce((total, tally) => total + of(tally), 0)
  return {
    seeds: sum((tally) => tally.seeds),
    violations: tallies.flatMap((tally) => tally.violations),
    cpuSeconds: sum((tally) => tally.cpuSeconds),
    ids: sum((tally) => tally.ids),
    replies: sum((tally) => tally.replies),
    longestGapMs: Math.max(...tallies.map((tally) => tally.longestGapMs)),
  }
}

/**
 * Runs seeds in one process of their own: what a program that was killed in the middle of something waits for must not keep this
 * process alive. Once `enough` is found elsewhere, the process is ended and has found nothing.
 */
export function runInProcess(
  seeds: Seeds,
  from = import.meta.dirname,
  enough?: AbortSignal,
  onSeed?: () => void,
): Promise<Tally> {
  return new Promise((resolve, reject) => {
    const child = fork(join(from, 'seeds-process.ts'), [JSON.stringify(seeds)])
    enough?.addEventListener('abort', () => {
      child.kill()
      resolve({ seeds: 0, violations: [], cpuSeconds: 0, ids: 0, replies: 0, longestGapMs: 0 })
    })
    child.on('message', (said) => (said === 'seed' ? onSeed?.() : resolve(said as Tally)))
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`a process of the simulation ended with ${code}`)))
  })
}
