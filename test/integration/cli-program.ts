/** The built program: what it is started with, how it ends, and what it prints. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { FahaoServer } from '../launch/fahao.ts'
import { temporaryFolder } from '../launch/places.ts'

/** How a run of the program ended, and what it printed. */
export type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** The file of the program. */
export const entry = join(import.meta.dirname, '..', '..', 'dist', 'fahao.js')

/** Runs the program to its end, in a folder without a config file. */
export function fahao(
  t: TestContext,
  args: readonly string[],
  env: Record<string, string> = {},
  input = '',
): Promise<Ended> {
  const options = { cwd: temporaryFolder(t), env: { ...process.env, ...env }, timeout: 30_000 }
  return new Promise((resolve) => {
    const program = execFile(process.execPath, [entry, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
    program.stdin?.on('error', () => {}).end(input)
  })
}

/** Runs the program against `server`. */
export function asking(t: TestContext, server: FahaoServer): (...args: string[]) => Promise<Ended> {
  return (...args) => fahao(t, args, { FAHAO_URL: server.http })
}

/** The exit code and what stdout holds. */
export function ended({ code, stdout }: Ended): [code: number, stdout: string] {
  return [code, stdout.trim()]
}

/** Fails unless stderr is one sentence, without a stack. */
export function assertSentence(stderr: string, message: RegExp): void {
  assert.match(stderr, message)
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr)
  assert.doesNotMatch(stderr, /^\s+at |node:internal/m)
}

/** The objects of a server's log; throws when a line is no JSON. */
export function logOf(server: FahaoServer): Record<string, unknown>[] {
  // A line that is not complete is none yet.
  const lines = server.output().split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}

/** The commands that a server prints at its start, to be tried. It answers a moment before it prints them. */
export async function firstSteps(server: FahaoServer): Promise<string[]> {
  for (;;) {
    const ready = logged(server, /is ready/)
    if (ready !== undefined) return ready.try as string[]
    await pause(10)
  }
}

/** The first log line whose message matches. */
export function logged(server: FahaoServer, message: RegExp): Record<string, unknown> | undefined {
  return logOf(server).find(({ msg }) => message.test(String(msg)))
}
