/** A node in memory with a server of the PostgreSQL protocol, and clients of it: a real one, and one that is a socket. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Client, type ClientConfig } from 'pg'
import { loadConfig } from '../../../src/config/load-config.ts'
import type { FahaoNode } from '../../../src/node/node.ts'
import { startNode } from '../../../src/node/start.ts'
import {
  type PostgresServer,
  type PostgresServerOptions,
  startPostgresServer,
} from '../../../src/postgres/server.ts'
import { atEnd, type Lifetime } from '../../launch/lifetime.ts'
import { cheapPasswords, setUser } from '../auth/open-access.ts'

/** A message of a server. */
export type Message = { readonly type: string; readonly body: Buffer }

/** What runs. */
export type Served = {
  readonly node: FahaoNode
  readonly server: PostgresServer
  /** What failed in the server. */
  readonly faults: unknown[]
  /** A client of the package pg, logged in. It ends with the test. */
  client(options?: ClientConfig): Promise<Client>
  /** A connection that has sent nothing. It ends with the test. */
  raw(): Promise<RawPostgres>
  /** A connection that has logged in without a password. */
  session(): Promise<RawPostgres>
  setUser(name: string, ...rules: string[]): Promise<void>
}

/** Starts it. */
export async function serve(
  lifetime: Lifetime,
  options: Partial<PostgresServerOptions> & { readonly flags?: Record<string, string> } = {},
): Promise<Served> {
  const { flags, ...more } = options
  const { config } = loadConfig({ flags: { engine: 'memory:', ...flags } })
  const node = await startNode(config, { passwords: cheapPasswords() })
  atEnd(lifetime, () => node.close())
  const { access } = node
  const faults: unknown[] = []
  let newest = 0
  const server = await startPostgresServer({
    host: '127.0.0.1',
    port: 0,
    node,
    access,
    version: '1.2.3',
    mayIssue: node.mayIssue,
    nextId: () => ++newest,
    onError: (error) => void faults.push(error),
    ...more,
  })
  atEnd(lifetime, () => server.close(0))
  access.listen(() => server.refreshAccess((before) => access.present(before)))
  const raw = async () => {
    const socket = connect(server.port, '127.0.0.1')
    atEnd(lifetime, () => void socket.destroy())
    await once(socket, 'connect')
    return new RawPostgres(socket)
  }
  return {
    node,
    server,
    faults,
    raw,
    async client(given = {}) {
      const client = new Client({
        host: '127.0.0.1',
        port: server.port,
        user: 'app',
        database: 'ids',
        ...given,
      })
      client.on('error', () => {})
      await client.connect()
      atEnd(lifetime, () => client.end())
      return client
    },
    async session() {
      const client = await raw()
      client.send(startup({ user: 'app' }))
      assert.equal((await client.until('Z')).at(-1)!.body.toString(), 'I')
      return client
    },
    async setUser(name, ...rules) {
      await setUser(access, name, 'on', ...rules)
    },
  }
}

/** Starts it with the sequence `order`. */
export async function serveOrder(...args: Parameters<typeof serve>): Promise<Served> {
  const served = await serve(...args)
  await served.node.catalogue.create('order', { kind: 'sequence' })
  return served
}

/** A client that is nothing but a socket. */
export class RawPostgres {
  readonly socket: Socket
  /** Resolves when the server has ended or reset the connection. */
  readonly ended: Promise<void>
  #bytes = Buffer.alloc(0)
  #isEnded = false
  #wake = () => {}

  constructor(socket: Socket) {
    this.socket = socket
    const ended = Promise.withResolvers<void>()
    this.ended = ended.promise
    const end = () => {
      this.#isEnded = true
      this.#wake()
      ended.resolve()
    }
    socket.on('data', (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk])
      this.#wake()
    })
    socket.on('end', end)
    socket.on('error', end)
    socket.on('close', end)
  }

  /** Sends bytes. */
  send(...parts: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(parts))
  }

  /** The next byte, which is no message: the answer to a request for encryption. */
  async byte(): Promise<string> {
    while (this.#bytes.length === 0) await this.#more()
    const byte = this.#bytes.toString('latin1', 0, 1)
    this.#bytes = this.#bytes.subarray(1)
    return byte
  }

  /** The next message; undefined: the connection has ended. */
  async next(): Promise<Message | undefined> {
    for (;;) {
      const length = this.#bytes.length < 5 ? Number.POSITIVE_INFINITY : this.#bytes.readInt32BE(1) + 1
      if (this.#bytes.length >= length) {
        const message = { type: this.#bytes.toString('latin1', 0, 1), body: this.#bytes.subarray(5, length) }
        this.#bytes = this.#bytes.subarray(length)
        return message
      }
      if (this.#isEnded) return undefined
      await this.#more()
    }
  }

  /** The messages up to the first of this type, or up to the end of the connection. */
  async until(type: string): Promise<Message[]> {
    const messages: Message[] = []
    for (;;) {
      const message = await this.next()
      if (message !== undefined) messages.push(message)
      if (message === undefined || message.type === type) return messages
    }
  }

  /** The types of the messages up to ReadyForQuery, with the state in it, as one text: `TDCZI`. */
  async types(): Promise<string> {
    const messages = await this.until('Z')
    return messages.map(({ type, body }) => (type === 'Z' ? type + body.toString() : type)).join('')
  }

  /** The error that the server sends next. */
  async error(): Promise<Record<string, string>> {
    const messages = await this.until('E')
    return fieldsOf(messages.at(-1)!.body)
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

/** The fields of an error or a notice, by their letters. */
export function fieldsOf(body: Buffer): Record<string, string> {
  const fields = body.toString().split('\0')
  return Object.fromEntries(fields.filter(Boolean).map((field) => [field[0]!, field.slice(1)]))
}

/** A message of a client. */
export function message(type: string, ...parts: readonly (string | number | Uint8Array)[]): Buffer {
  return Buffer.concat([Buffer.from(type, 'latin1'), framed(...parts)])
}

/** What follows the type of a message. Strings end with a zero byte; numbers have 16 bits. */
export function framed(...parts: readonly (string | number | Uint8Array)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'object' ? part : encodedPart(part))))
  return Buffer.concat([int32(body.length + 4), body])
}

function encodedPart(part: string | number): Buffer {
  if (typeof part === 'string') return Buffer.from(`${part}\0`)
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(part)
  return bytes
}

/** A number of 32 bits. */
export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** The first message of a client. */
export function startup(settings: Readonly<Record<string, string>>, version = 0x3_0000): Buffer {
  return framed(int32(version), ...Object.entries(settings).flat(), Buffer.alloc(1))
}

/** A simple query. */
export const query = (text: string): Buffer => message('Q', text)
/** Sync. */
export const sync = message('S')
/** Parse, with the oids of parameters. */
export const parse = (name: string, text: string, types: readonly number[] = []): Buffer =>
  message('P', name, text, types.length, ...types.map(int32))
/** Describe of a statement (S) or a portal (P). */
export const describeOf = (kind: 'S' | 'P', name: string): Buffer => message('D', Buffer.from(kind), name)
/** Execute, with the most rows; 0: all. */
export const execute = (portal = '', rows = 0): Buffer => message('E', portal, int32(rows))
/** Bind, with text or binary values. */
export function bind(
  portal: string,
  statement: string,
  values: readonly (string | Uint8Array | null)[] = [],
  { formats = [] as readonly number[], results = [] as readonly number[] } = {},
): Buffer {
  const encoded = values.flatMap((value) => {
    if (value === null) return [int32(-1)]
    const bytes = typeof value === 'string' ? Buffer.from(value) : value
    return [int32(bytes.length), bytes]
  })
  return message(
    'B',
    portal,
    statement,
    formats.length,
    ...formats,
    values.length,
    ...encoded,
    results.length,
    ...results,
  )
}
