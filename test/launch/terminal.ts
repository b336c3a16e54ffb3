/** The program on a terminal of its own, made by script(1): keys go in, what it draws comes out. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { atEnd, type Lifetime } from './lifetime.ts'
import { requireProgram } from './process.ts'

const entry = join(import.meta.dirname, '..', '..', 'dist', 'fahao.js')

/** A program on a terminal. */
export type OnTerminal = {
  /** Resolves when what it drew since the last call matches; rejects with what there is if it ends before. */
  until(shown: RegExp | string): Promise<string>
  type(keys: string): void
  /** Resolves to the exit code. */
  readonly exited: Promise<number | null>
}

/** Starts `fahao` with these arguments. */
export function onTerminal(
  lifetime: Lifetime,
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string } = {},
): OnTerminal {
  requireProgram('script')
  const quoted = [process.execPath, entry, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
  const child = spawn('script', ['-qfec', `stty rows 50 cols 200; exec ${quoted.join(' ')}`, '/dev/null'], {
    ...options,
    env: { ...process.env, TERM: 'xterm', NO_COLOR: '1', ...options.env },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  })
  const exited = new Promise<number | null>((resolve) => child.on('close', resolve))
  atEnd(lifetime, async () => {
    if (child.exitCode === null) process.kill(-child.pid!, 'SIGKILL')
    await exited
  })
  let shown = ''
  let changed: () => void = () => {}
  child.stdout.on('data', (bytes: Buffer) => {
    shown += bytes
    changed()
  })
  child.stdin.on('error', () => {})
  let isOver = false
  void exited.then(() => {
    isOver = true
    changed()
  })
  return {
    exited,
    type: (keys) => child.stdin.write(keys),
    async until(pattern) {
      for (;;) {
        const text = shown
        if (typeof pattern === 'string' ? text.includes(pattern) : pattern.test(text)) {
          shown = ''
          return text
        }
        if (isOver) throw new Error(`it ended without ${pattern}: ${text}`)
        await new Promise<void>((resolve) => {
          changed = resolve
        })
      }
    },
  }
}
