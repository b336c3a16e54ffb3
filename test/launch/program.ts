/** Programs that do one thing and end: set up a server's data, dump it, restore it. */
import { spawn } from 'node:child_process'
import { requireProgram } from './process.ts'

/** How to run it. */
export type ProgramOptions = {
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** What it reads on stdin. Default: nothing. */
  readonly input?: string
}

/** Runs a program to its end and resolves to what it printed; rejects with its complaints when it failed. */
export function runProgram(
  [program = '', ...args]: readonly string[],
  options: ProgramOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(requireProgram(program), args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let printed = ''
    let complaints = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      complaints += text
    })
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (code === 0) resolve(printed)
      else reject(new Error(`${program} ended with ${code ?? signal}:\n${complaints || printed}`))
    })
    // One that ends without having read everything says why on stderr.
    child.stdin.on('error', () => {})
    child.stdin.end(options.input ?? '')
  })
}
