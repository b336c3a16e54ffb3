/**
 * Real processes under test.
 *
 * Invariants
 *  1. A process leads a group of its own, and every signal goes to the whole group: wrappers included.
 *  2. Nothing outlives the lifetime that it was started with.
 *  3. A caller that waits for a process gets its end at once, with its output.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, globSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { atEnd, type Lifetime } from './lifetime.ts'

/** What to start, and how to know that it is up. */
export type ProcessOptions = {
  readonly command: string
  readonly args?: readonly string[]
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** A line on stdout or stderr, a loopback port that accepts, or a probe of one's own. Default: at once. */
  readonly readyWhen?: { line: RegExp } | { port: number } | { probe: () => Promise<boolean> }
  /** How long that may take. Default 15 s. */
  readonly readyWithinMs?: number
}

/** How a process ended. */
export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

/** A process that runs, or ran. */
export type RunningProcess = {
  readonly pid: number
  /** Resolves when the process has ended and its output is complete. Never rejects. */
  readonly exited: Promise<Exit>
  /** How it ended; undefined while it runs. */
  exit(): Exit | undefined
  /** What it printed, both streams as they came; the last mebibyte. */
  output(): string
  /** Signals the whole group and returns; false when it has ended already. */
  signal(signal: NodeJS.Signals): boolean
  /** Signals the whole group and waits for the end. Default SIGKILL. */
  kill(signal?: NodeJS.Signals): Promise<Exit>
}

const outputMax = 2 ** 20
const packages: Readonly<Record<string, string>> = {
  'redis-cli': 'redis-tools',
  'redis-benchmark': 'redis-tools',
  mariadbd: 'mariadb-server',
  'mariadb-install-db': 'mariadb-server',
  'mariadb-dump': 'mariadb-client',
  mariadb: 'mariadb-client',
  postgres: 'postgresql',
  initdb: 'postgresql',
  pg_basebackup: 'postgresql',
  pg_dump: 'postgresql',
  psql: 'postgresql',
  nginx: 'nginx-light',
  etcd: 'etcd-server',
  etcdctl: 'etcd-client',
  prometheus: 'prometheus',
  promtool: 'prometheus',
}
/** Where Debian keeps servers that the PATH of a plain user, or any PATH, lacks; the newest PostgreSQL first. */
const serverFolders = ['/usr/sbin', ...globSync('/usr/lib/postgresql/*/bin').sort().reverse()]

/** Starts a process and resolves when it is ready; rejects with its output when it ends or stalls before that. */
export async function startProcess(lifetime: Lifetime, options: ProcessOptions): Promise<RunningProcess> {
  requireProgram(options.command)
  const child = spawn(options.command, options.args ?? [], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const running = watch(child)
  atEnd(lifetime, () => running.kill('SIGKILL'))
  await untilReady(running, options)
  return running
}

/** The program's path; throws a sentence that says how to get it when it is missing. */
export function requireProgram(program: string): string {
  if (program.includes('/')) return program
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), ...serverFolders]) {
    const path = join(folder, program)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // Not in this folder.
    }
  }
  const name = packages[program] ?? program
  throw new Error(`${program} is missing: apt-get install ${name} (as root, npm test does it by itself)`)
}

/** Whether something accepts connections on this loopback port. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const settle = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => settle(true))
    socket.once('error', () => settle(false))
  })
}

function watch(child: ChildProcess): RunningProcess {
  let output = ''
  let exit: Exit | undefined
  const take = (chunk: Buffer) => {
    output = (output + chunk.toString('utf8')).slice(-outputMax)
  }
  child.stdout!.on('data', take)
  child.stderr!.on('data', take)
  const exited = new Promise<Exit>((resolve) => {
    const end = (how: Exit) => {
      exit ??= how
      resolve(exit)
    }
    child.once('error', (error) => {
      output += error.message
      end({ code: null, signal: null })
    })
    child.once('exit', (code, signal) => {
      exit = { code, signal }
    })
    // A grandchild may hold the streams open for longer than the process runs; do not wait for it.
    child.once('exit', () => setTimeout(() => end(exit!), 500).unref())
    child.once('close', (code, signal) => end({ code, signal }))
  })
  const signal = (name: NodeJS.Signals) => signalGroup(child.pid, name)
  return {
    pid: child.pid ?? -1,
    exited,
    exit: () => exit,
    output: () => output,
    signal,
    kill(name = 'SIGKILL') {
      signal(name)
      return exited
    },
  }
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): boolean {
  if (pid === undefined) return false
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}

async function untilReady(running: RunningProcess, options: ProcessOptions): Promise<void> {
  const withinMs = options.readyWithinMs ?? 15_000
  const giveUpAt = performance.now() + withinMs
  while (!(await isReady(running, options.readyWhen))) {
    const what = [options.command, ...(options.args ?? [])].join(' ')
    const exit = running.exit()
    if (exit) {
      await running.exited
      throw new Error(
        `${what} ended with ${exit.code ?? exit.signal} before it was ready:\n${running.output()}`,
      )
    }
    if (performance.now() > giveUpAt) {
      throw new Error(`${what} was not ready within ${withinMs} ms:\n${running.output()}`)
    }
    await Promise.race([pause(10), running.exited])
  }
}

async function isReady(running: RunningProcess, when: ProcessOptions['readyWhen']): Promise<boolean> {
  if (when === undefined) return true
  if ('line' in when)
    return running
      .output()
      .split('\n')
      .some((line) => when.line.test(line))
  // What answers on the port must be this process, not one that held the port before it.
  const answered = 'port' in when ? await accepts(when.port) : await when.probe()
  return answered && running.exit() === undefined
}
