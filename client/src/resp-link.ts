/**
 * RESP to one node, on the package `redis`.
 *
 * Invariants
 *  1. One connection at a time. It is given up as a whole at the first failure or timeout: replies come in order, so one
 *     that is late would hold back all others.
 *  2. Nothing is sent twice here. The package neither queues nor reconnects; both are decided above.
 */
import type { Clock } from '../../src/base/clock.ts'
import { describe, FahaoError } from '../../src/base/errors.ts'
import { errorOf, type Link, Unsent } from './link.ts'
import type { Settings } from './options.ts'
import type { Request } from './requests.ts'
import { within } from './within.ts'

/** The part of `redis` that is used. */
type RedisModule = {
  createClient(options: object): RedisClient
  readonly ErrorReply: abstract new (...args: never[]) => Error
}

type RedisClient = {
  on(event: 'connect' | 'error' | 'end', listener: () => void): unknown
  connect(): Promise<unknown>
  sendCommand(words: readonly string[]): Promise<unknown>
  destroy(): void
}

const defaultPort = 7379

/** A node that speaks RESP. */
export class RespLink implements Link {
  readonly node: string
  readonly #url: URL
  readonly #settings: Settings
  readonly #clock: Clock
  #redis: RedisModule | undefined
  #connection: Connection | undefined

  constructor(url: URL, settings: Settings, clock: Clock) {
    this.node = `${url.protocol}//${url.hostname}:${url.port || defaultPort}`
    this.#url = url
    this.#settings = settings
    this.#clock = clock
  }

  async send({ words }: Request<unknown>, timeoutMs: number): Promise<unknown> {
    this.#redis ??= await importRedis()
    const redis = this.#redis
    this.#connection ??= this.#open(redis, timeoutMs)
    const connection = this.#connection
    try {
      const reply = connection.opened.then(() => connection.client.sendCommand(words))
      return await within(this.#clock, timeoutMs, reply, this.node)
    } catch (error) {
      // An answer to a request leaves the connection as it is; one to the login does not.
      if (error instanceof redis.ErrorReply && connection.isOpen) throw replied(error)
      this.#drop(connection)
      if (error instanceof redis.ErrorReply) throw replied(error)
      const failure = error instanceof FahaoError ? error : this.#lost(error)
      throw connection.isOpen ? failure : new Unsent(failure.message, error)
    }
  }

  close(): void {
    if (this.#connection !== undefined) this.#drop(this.#connection)
  }

  #open({ createClient }: RedisModule, timeoutMs: number): Connection {
    const { username, password, token, tls } = this.#settings
    const secret = password ?? token
    const isTls = this.#url.protocol === 'rediss:'
    const client = createClient({
      socket: {
        host: this.#url.hostname.replace(/^\[(.*)\]$/, '$1'),
        port: Number(this.#url.port || defaultPort),
        connectTimeout: Math.ceil(timeoutMs),
        reconnectStrategy: false,
        ...(isTls && { tls: true, ...tls }),
      },
      ...(secret !== undefined && { password: secret }),
      ...(username !== undefined && { username }),
      RESP: 2,
      // Nodes advise in the words of this package then.
      clientInfoTag: 'fahao-client',
      disableOfflineQueue: true,
    })
    const connection = new Connection(client)
    const lose = () => this.#drop(connection)
    client.on('error', lose)
    client.on('end', lose)
    return connection
  }

  /** Ends a connection, open or not. */
  #drop(connection: Connection): void {
    if (this.#connection === connection) this.#connection = undefined
    connection.end()
  }

  #lost(error: unknown): FahaoError {
    return new FahaoError(
      'UNAVAILABLE',
      `${this.node} cannot be reached (${describe(error)}); is it running, and is this its RESP port?`,
      {
        cause: error,
      },
    )
  }
}

/** One connection, from its first packet on. */
class Connection {
  readonly client: RedisClient
  /** Resolves when the node has accepted the login. */
  readonly opened: Promise<void>
  isOpen = false
  #isEnded = false

  constructor(client: RedisClient) {
    this.client = client
    // The package ends no socket that is not connected yet.
    client.on('connect', () => {
      if (this.#isEnded) this.#destroy()
    })
    this.opened = client.connect().then(() => {
      this.isOpen = true
      if (this.#isEnded) this.#destroy()
    })
  }

  /** Ends the connection now. Without this a node that accepts connections but answers none would collect them. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#destroy()
  }

  #destroy(): void {
    try {
      this.client.destroy()
    } catch {
      // Before 6.3 the package throws where the connection has ended by itself, here in the handler of its event.
    }
  }
}

/** `CODE text`, as the node sent it. */
function replied({ message }: Error): FahaoError {
  const [, code, text] = /^([A-Z]+) (.*)$/s.exec(message) ?? ['', 'ERR', message]
  return errorOf(code!, text!)
}

async function importRedis(): Promise<RedisModule> {
  try {
    const redis = (await import('redis')) as unknown as Partial<RedisModule>
    if (redis.createClient === undefined) throw new Error('a bundle for browsers has an empty module instead')
    return redis as RedisModule
  } catch (cause) {
    throw new FahaoError(
      'CONFIG',
      'redis: URLs need the package redis: npm install redis; or use an http: URL',
      {
        cause,
      },
    )
  }
}
