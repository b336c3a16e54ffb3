/** Clients of PostgreSQL's protocol: programs that print a line for each step, its name and a value with a tab between. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { requireProgram } from '../launch/process.ts'

/** How a server is reached. */
export type Place = {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  /** The server wants TLS; its certificate is not to be verified. */
  readonly isTls: boolean
}

/** A client under test. */
export type Client = {
  readonly name: string
  /**
   * Runs it in a database with `sequences`; resolves to its lines. When it ends with an error, the last line is the step
   * `failed`.
   */
  run(place: Place): Promise<readonly string[]>
}

/** The sequences that every client finds, as `CREATE SEQUENCE` makes them. */
export const sequences = ['orders', 'invoices INCREMENT BY 50'] as const

/** The step of a client that ended with an error, with what it complained. */
export const failed = 'failed'

/** A word of a command that the URL of the database replaces. */
export const url = '{url}'

/** How the words of a command differ, where TLS is not asked for by libpq's environment. */
export type ProgramOptions = {
  readonly env?: Readonly<Record<string, string>>
  /** Added to the URL for TLS, after a question mark. */
  readonly tlsQuery?: string
  /** Added to the environment for TLS. Default: as libpq reads it. */
  readonly tlsEnv?: Readonly<Record<string, string>>
  /** What it reads. */
  readonly input?: string
  /** The lines to compare, of what it printed. Default: those with a tab. */
  readonly lines?: (printed: string) => readonly string[]
}

/** A client that is a program. Its command has `{url}` for the URL of the database. */
export function program(name: string, command: readonly string[], options: ProgramOptions = {}): Client {
  const { env = {}, tlsQuery, tlsEnv = { PGSSLMODE: 'require' }, input, lines = linesWithTab } = options
  return {
    name,
    async run(place) {
      const full = place.isTls && tlsQuery ? `${place.url}?${tlsQuery}` : place.url
      const words = command.map((word) => word.replace(url, full))
      const environment = { ...plainEnvironment, ...env, ...(place.isTls ? tlsEnv : {}) }
      const { printed, error } = await outputOf(words, environment, input)
      return [...lines(printed), ...(error === undefined ? [] : [`${failed}\t${error}`])]
    },
  }
}

/** A file of this folder. */
export function file(...names: readonly string[]): string {
  return join(import.meta.dirname, ...names)
}

/** Drivers of libpq look for a Kerberos ticket and for files of the user, which no test should depend on. */
const plainEnvironment = { PGSYSCONFDIR: '/nonexistent', PGPASSFILE: '/nonexistent', PSQLRC: '/nonexistent' }

/** Runs a program to its end. `error`: what it complained, if it failed. */
async function outputOf(
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  input = '',
): Promise<{ printed: string; error?: string }> {
  const child = spawn(requireProgram(program), args, { env: { ...process.env, ...env }, stdio: 'pipe' })
  // One that ends without having read everything says why.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [printed, complaints] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child.exitCode === 0 ? { printed } : { printed, error: complaints.trim() }
}

function linesWithTab(printed: string): string[] {
  return printed.split('\n').filter((line) => line.includes('\t'))
}
