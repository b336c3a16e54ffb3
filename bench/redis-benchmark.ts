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

/** Runs 50 clients against a loopback port; resolves to requests per second. Rejects when a reply is an error. */
export async function redisBenchmark(port: number, load: RedisLoad): Promise<number> {
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
  // "test","rps",… and then one line of figures; the name may itself contain commas.
  const rate = /^"[^\n]*?","([\d.]+)","[\d.]+","[\d.]+"/m.exec(stdout.replace(/^"test".*$/m, ''))
  if (rate === null) throw new Error(`redis-benchmark printed no figures:\n${stdout}`)
  return Number(rate[1])
}
