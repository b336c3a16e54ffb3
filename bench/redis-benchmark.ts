/** redis-benchmark, run once. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { requireProgram } from '../test/launch/process.ts'

const runFile = promisify(execFile)

/** What to send. */
export type RedisLoad = {
  /** A command, or undefined for the built-in INCR test. */
  readonly command?: readonly string[]
  /** With it, `__rand_int__` in keys becomes one of this many numbers. */
  readonly keys?: number
  readonly pipeline: number
  readonly requests: number
  /** The file of the server's authority, if it speaks TLS. */
  readonly ca?: string
  /** The user that sends it; undefined: no login. */
  readonly login?: { readonly user: string; readonly password: string }
}

/** What it measured. */
export type RedisFigures = { readonly perSecond: number; readonly p99Ms: number }

/** Runs 50 clients against a loopback port; resolves to requests per second. Rejects when a reply is an error. */
export async function redisBenchmark(port: number, load: RedisLoad): Promise<number> {
  return (await redisBenchmarkFigures(port, load)).perSecond
}

/** The same, with the latency of one pipeline in the 99th percentile. */
export async function redisBenchmarkFigures(port: number, load: RedisLoad): Promise<RedisFigures> {
  const { command, keys, pipeline, requests, ca, login } = load
  const { stdout } = await runFile(requireProgram('redis-benchmark'), [
    ...['-p', `${port}`, '-c', '50', '-P', `${pipeline}`, '-n', `${requests}`, '--csv', '-e'],
    ...(ca === undefined ? [] : ['--tls', '--cacert', ca]),
    ...(login === undefined ? [] : ['--user', login.user, '-a', login.password]),
    ...(keys === undefined ? [] : ['-r', `${keys}`]),
    ...(command ?? ['-t', 'incr']),
  ])
  const refusal = /^Error from server.*$/m.exec(stdout)
  if (refusal !== null) throw new Error(`redis-benchmark was told: ${refusal[0]}`)
  // "test","rps",… and then one line of figures; the name may itself contain commas. A load that took no millisecond has "inf".
  const figures = /^"[^\n]*?"((?:,"(?:[\d.]+|inf)"){7})/m.exec(stdout.replace(/^"test".*$/m, ''))
  if (figures === null) throw new Error(`redis-benchmark printed no figures:\n${stdout}`)
  // rps, average, least, p50, p95, p99, greatest.
  const [perSecond, , , , , p99Ms] = figures[1]!
    .slice(1)
    .split(',')
    .map((text) => Number(text.slice(1, -1)))
  return { perSecond: perSecond!, p99Ms: p99Ms! }
}
