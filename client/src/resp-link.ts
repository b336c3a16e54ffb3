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
import { errorOf, type Link } from './link.ts'
import type { Settings } from './options.ts'
import type { Request } from './requests.ts'
import { within } from './within.ts'

/** As much of `redis` as is used. */
type RedisModule = {
  createClient(options: object): RedisClient
  readonly ErrorReply: abstract new (...args: never[]) => Error
}

type RedisClient = {
  on(event: 'error' | 'end', listener: () => void): unknown
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
  #connection: Promise<Connection> | undefined

  constructor(url: URL, settings: Settings, clock: Clock) {
    this.node = `${url.protocol}//${url.hostname}:${url.port || defaultPort}`
    this.#url = url
    this.#settings = settings
    this.#clock = clock
  }

  async send({ words }: Request<unknown>, timeoutMs: number): Promise<unknown> {
    const opening = this.#connected(timeoutMs)
    let connection: Connection | undefined
    try {
      const reply = opening.then((opened) => {
        connection = opened
        return opened.client.sendCommand(words)
      })
      return await within(this.#clock, timeoutMs, reply, this.node)
    } catch (error) {
      if (connection !== undefined && error instanceof connection.ErrorReply) throw replied(error)
      this.#drop(opening)
      throw error instanceof FahaoError ? error : this.#lost(error)
    }
  }

  close(): void {
    if (this.#connection !== undefined) this.#drop(this.#connection)
  }

  #connected(timeoutMs: number): Promise<Connection> {
    this.#connection ??= this.#open(timeoutMs)
    return this.#connection
  }

  async #open(timeoutMs: number): Promise<Connection> {
    const { createClient, ErrorReply } = await importRedis()
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
      disableOfflineQueue: true,
    })
    const lose = () => this.#forget(client)
    client.on('error', lose)
    client.on('end', lose)
    try {
      await client.connect()
    } catch (error) {
      destroy(client)
      throw error instanceof ErrorReply ? replied(error) : this.#lost(error)
    }
    this.#client = client
    return { client, ErrorReply }
  }

  #client: RedisClient | undefined

  #forget(client: RedisClient): void {
    if (this.#client !== client) return
    this.#client = undefined
    this.#connection = undefined
  }

  #drop(connection: Promise<Connection>): void {
    if (this.#connection === connection) {
      this.#connection = undefined
      this.#client = undefined
    }
    connection.then(
      ({ client }) => destroy(client),
      () => {},
    )
  }

  #lost(error: unknown): FahaoError {
    return new FahaoError(
      'UNAVAILABLE',
      `${this.node} cannot be reached (${describe(error)}); is it running?`,
      {
        cause: error,
      },
    )
  }
}

type Connection = { readonly client: RedisClient; readonly ErrorReply: RedisModule['ErrorReply'] }

function destroy(client: RedisClient): void {
  try {
    client.destroy()
  } catch {
    // It has ended by itself.
  }
}

/** `CODE text`, as the node sent it. */
function replied({ message }: Error): FahaoError {
  const [, code, text] = /^([A-Z]+) (.*)$/s.exec(message) ?? ['', 'ERR', message]
  return errorOf(code!, text!)
}

async function importRedis(): Promise<RedisModule> {
  try {
    return (await import('redis')) as unknown as RedisModule
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
