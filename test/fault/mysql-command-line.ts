/** The program `mariadb`, which reads one line of statements after the other until one fails. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'

/** A running program; it ends with its first error. */
export class CommandLine {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #lines: AsyncIterator<string>
  readonly #complaints: Promise<string>

  /** Connects to the database of a URL. */
  constructor(url: string) {
    const { hostname, port, username, password, pathname } = new URL(url)
    const address = [`--host=${hostname}`, `--port=${port}`, `--user=${username}`, pathname.slice(1)]
    this.#child = spawn(
      'mariadb',
      ['--no-defaults', '--batch', '--skip-column-names', '--unbuffered', ...address],
      {
        env: { ...process.env, MYSQL_PWD: password },
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    )
    // A program that has ended says why on stderr.
    this.#child.stdin.on('error', () => {})
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
    this.#complaints = text(this.#child.stderr)
  }

  /** Sends statements of which the last one gives one value; resolves to it. Rejects with what the program printed. */
  async ask(statements: string): Promise<string> {
    this.#child.stdin.write(`${statements};\n`)
    const line = await this.#lines.next()
    if (!line.done) return line.value
    const message = (await this.#complaints).trim()
    const [, code = 'unknown'] = /^ERROR (\d+)/m.exec(message) ?? []
    throw Object.assign(new Error(message), { code })
  }

  /** Ends the program. */
  close(): void {
    this.#child.kill('SIGKILL')
  }
}
