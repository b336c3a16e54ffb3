/** The built server as a real process: what users run, signalled, wrapped and restarted. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CertificateFiles } from './certificates.ts'
import type { Lifetime } from './lifetime.ts'
import { freePort, temporaryFolder } from './places.ts'
import { type Exit, type RunningProcess, startProcess } from './process.ts'
import { RawClient } from './raw-client.ts'
import { ReplyError } from './raw-reply.ts'

/** How to start it. What is not given is chosen: free ports, a fresh SQLite file in a temporary folder. */
export type FahaoOptions = {
  /** Further flags of `serve`, which win over the chosen ones. */
  readonly args?: readonly string[]
  /** Path of a config file. */
  readonly config?: string
  readonly env?: Readonly<Record<string, string>>
  /** Default: `sqlite:` and a file in a temporary folder. */
  readonly engine?: string
  /** It speaks TLS with these. */
  readonly tls?: CertificateFiles
  /** Folder of another built checkout, or of an unpacked package. Default: this checkout. */
  readonly checkout?: string | undefined
  /** An executable in place of node with a checkout's program. */
  readonly executable?: string
  /**
   * A command in front of node's. Use what leaves node the leader of its group, so that a signal finds it
   * first: `strace -D -f …`.
   */
  readonly wrapper?: readonly string[]
  /** How long it may take until PING is answered. Default 15 s. */
  readonly readyWithinMs?: number
}

/** What a restart changes; the rest, file and ports included, stays. */
export type RestartOptions = Pick<FahaoOptions, 'args' | 'checkout' | 'env' | 'wrapper' | 'readyWithinMs'>

const repository = join(import.meta.dirname, '..', '..')

/** Starts `fahao serve` and resolves when it answers PING. */
export async function startFahao(lifetime: Lifetime, options: FahaoOptions = {}): Promise<FahaoServer> {
  const entry = entryOf(options)
  if (options.executable === undefined && !existsSync(entry))
    throw new Error(`${entry} is missing: npm run build (npm test does it by itself)`)
  const resp = await freePort()
  const http = await freePort()
  const engine = options.engine ?? `sqlite:${join(temporaryFolder(lifetime), 'fahao.db')}`
  const server = new FahaoServer(lifetime, { ...options, engine }, resp, http)
  await server.start()
  return server
}

/** A server under test; the same one through all its restarts. */
export class FahaoServer {
  /** Port of RESP, on 127.0.0.1. */
  readonly resp: number
  /** Base URL of HTTP, without a slash at the end. */
  readonly http: string
  /** The engine's URL. */
  readonly engine: string
  readonly #lifetime: Lifetime
  readonly #httpPort: number
  #options: FahaoOptions
  #running: RunningProcess | undefined

  constructor(lifetime: Lifetime, options: FahaoOptions & { engine: string }, resp: number, http: number) {
    this.#lifetime = lifetime
    this.#options = options
    this.engine = options.engine
    this.resp = resp
    this.#httpPort = http
    this.http = `http${options.tls ? 's' : ''}://127.0.0.1:${http}`
  }

  /** Path of the SQLite file, when that is the engine. */
  get file(): string {
    return this.engine.replace(/^sqlite:/, '')
  }

  /** The process of this life. */
  get process(): RunningProcess {
    if (!this.#running) throw new Error('the server was never started')
    return this.#running
  }

  get pid(): number {
    return this.process.pid
  }

  /** Resolves when this life has ended. */
  get exited(): Promise<Exit> {
    return this.process.exited
  }

  /** What this life has printed. */
  output(): string {
    return this.process.output()
  }

  /** Signals the process without waiting: SIGSTOP, SIGCONT, a first SIGTERM. */
  signal(signal: NodeJS.Signals): boolean {
    return this.process.signal(signal)
  }

  /** Signals the process and waits for its end. Default SIGKILL. */
  kill(signal?: NodeJS.Signals): Promise<Exit> {
    return this.process.kill(signal)
  }

  /** Starts it again, on the same file and ports; stops it with SIGTERM first if it still runs. */
  async restart(changes: RestartOptions = {}): Promise<void> {
    if (!this.process.exit()) await this.kill('SIGTERM')
    await this.process.exited
    this.#options = { ...this.#options, ...changes }
    await this.start()
  }

  /** A raw connection to its RESP port, which ends with the test. */
  connect(): Promise<RawClient> {
    return RawClient.connect(this.resp, this.#lifetime, { tls: this.#options.tls })
  }

  /** Starts a life; `startFahao` and `restart` call this. */
  async start(): Promise<void> {
    const { executable, wrapper = [] } = this.#options
    const [command = '', ...args] = [
      ...wrapper,
      ...(executable === undefined ? [process.execPath, entryOf(this.#options)] : [executable]),
      ...this.#flags(),
    ]
    this.#running = await startProcess(this.#lifetime, {
      command,
      args,
      cwd: repository,
      ...(this.#options.env && { env: this.#options.env }),
      ...(this.#options.readyWithinMs && { readyWithinMs: this.#options.readyWithinMs }),
      readyWhen: { probe: () => answersPing(this.resp, this.#options.tls) },
    })
  }

  #flags(): string[] {
    const { tls, checkout, args = [] } = this.#options
    return [
      'serve',
      ...[
        '--engine',
        this.engine,
        '--resp',
        `127.0.0.1:${this.resp}`,
        '--http',
        `127.0.0.1:${this.#httpPort}`,
      ],
      // RawClient, redis-cli and redis-benchmark do not name themselves, and read integers exactly. Older servers do not
      // know the flag.
      ...(checkout || args.includes('--rounding-guard') ? [] : ['--rounding-guard', 'known']),
      ...(tls ? ['--tls-cert', tls.cert, '--tls-key', tls.key, '--tls-ca', tls.ca] : []),
      ...(this.#options.config ? ['--config', this.#options.config] : []),
      ...args,
    ]
  }
}

function entryOf({ checkout = repository }: FahaoOptions): string {
  // Earlier checkouts have it at another place.
  const { bin } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
  return join(checkout, bin.fahao)
}

async function answersPing(port: number, tls: CertificateFiles | undefined): Promise<boolean> {
  let client: RawClient | undefined
  try {
    client = await RawClient.connect(port, undefined, { tls })
    // A server with users answers as well, before a login.
    const reply = await client.command('PING')
    return reply === 'PONG' || (reply instanceof ReplyError && reply.code === 'NOAUTH')
  } catch {
    return false
  } finally {
    await client?.close()
  }
}
