/** The machine and the versions of a run. */
import { execFileSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem } from 'node:os'

/** Date, machine, versions and commit. */
export function aboutThisRun(mode: string): Record<string, string> {
  const [cpu] = cpus()
  return {
    date: new Date().toISOString().slice(0, 16).replace('T', ' '),
    commit: commit(),
    machine: `${cpus().length} × ${cpu?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}`,
    'load average at the start': loadavg()
      .map((load) => load.toFixed(1))
      .join(', '),
    node: process.version,
    redis: firstMatch('redis-server', ['--version'], /v=(\S+)/),
    mode,
  }
}

function commit(): string {
  const id = firstMatch('git', ['log', '-1', '--format=%h'], /(\S+)/)
  const changed = firstMatch('git', ['status', '--porcelain', '--untracked-files=no', 'src'], /(.)/)
  return changed === 'unknown' ? id : `${id} with changes in src`
}

function firstMatch(program: string, args: readonly string[], pattern: RegExp): string {
  try {
    return pattern.exec(execFileSync(program, args, { encoding: 'utf8' }))?.[1] ?? 'unknown'
  } catch {
    return 'unknown'
  }
}
