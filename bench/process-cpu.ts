/** CPU time and memory of a process. Linux only. */
import { readFileSync } from 'node:fs'
import { processTree } from '../test/launch/process-tree.ts'

/** Length of one tick of /proc/PID/stat: USER_HZ, 100 on every Linux that Node runs on. */
const tickUs = 10_000

/** CPU time of all threads, also ended ones, in user and system mode, in µs. */
export function processCpuUs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name, in parentheses, may contain anything; utime and stime are fields 14 and 15, the state is 3.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tickUs
}

/** The same for a process and its running descendants. */
export function treeCpuUs(pid: number): number {
  return processTree(pid).reduce((sum, each) => sum + processCpuUs(each), 0)
}

/** Resident memory, in bytes. */
export function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(line?.[1]) * 1024
}
