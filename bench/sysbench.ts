/** sysbench, run once against MySQL's protocol. */
import { runProgram } from '../test/launch/program.ts'

/** A load of sysbench: one of its scripts. */
export type SysbenchLoad = {
  readonly script: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
  readonly threads: number
  readonly rows: number
}

/** What a run has shown. Times in ms, from a histogram whose steps are 2 % apart. */
export type SysbenchFigures = {
  readonly perSecond: number
  readonly statements: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Creates and fills the table `sbtest1`. */
export async function prepareSysbench(load: SysbenchLoad): Promise<void> {
  await runProgram([...words(load), 'prepare'])
}

/**
 * Runs it. Rejects when a statement has failed.
 * @param perSecond transactions that begin in a second, whether others have ended or not; undefined: each thread begins
 * one after the other.
 */
export async function runSysbench(
  load: SysbenchLoad,
  seconds: number,
  perSecond?: number,
): Promise<SysbenchFigures> {
  const rate = perSecond === undefined ? [] : [`--rate=${Math.ceil(perSecond)}`]
  const printed = await runProgram([...words(load), `--time=${seconds}`, '--histogram=on', ...rate, 'run'])
  const number = (pattern: RegExp) => {
    const found = pattern.exec(printed)
    if (found === null) throw new Error(`sysbench has not printed ${pattern}:\n${printed}`)
    return Number(found[1])
  }
  const steps = [...printed.matchAll(/^ *([\d.]+) \|\**\s*(\d+)$/gm)].map(([, ms, count]) => ({
    ms: Number(ms),
    count: Number(count),
  }))
  return {
    perSecond: number(/transactions: +\d+ +\(([\d.]+) per sec/),
    statements: number(/^ +queries: +(\d+)/m),
    p50Ms: percentile(steps, 0.5),
    p99Ms: percentile(steps, 0.99),
  }
}

function words({ script, port, user, password, database, threads, rows }: SysbenchLoad): string[] {
  return [
    ...['sysbench', script, '--db-driver=mysql', '--mysql-host=127.0.0.1', `--mysql-port=${port}`],
    ...[`--mysql-user=${user}`, `--mysql-password=${password}`, `--mysql-db=${database}`],
    ...['--tables=1', `--table-size=${rows}`, `--threads=${threads}`, '--rand-type=uniform'],
  ]
}

function percentile(steps: readonly { ms: number; count: number }[], part: number): number {
  const all = steps.reduce((sum, { count }) => sum + count, 0)
  let sum = 0
  for (const { ms, count } of steps) {
    sum += count
    if (sum >= all * part) return ms
  }
  throw new Error('sysbench has printed no histogram')
}
