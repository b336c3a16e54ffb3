/** A MySQL client that hides nothing: packets out, packets in, as they came. */
import { connect, type Socket } from 'node:net'
import { owner, password } from './database.ts'
import { atEnd, type Lifetime } from './lifetime.ts'
import { answerOf, pluginOf, proofOf } from './mysql-passwords.ts'

/** How to log in. */
export type RawMysqlOptions = {
  readonly user?: string
  readonly database?: string
  /** Capability flags beside those that every client here has. */
  readonly flags?: number
  /** MariaDB's own flags. */
  readonly mariadbFlags?: number
  /** The number of the collation that the session begins with. Default: utf8mb4_general_ci. */
  readonly collation?: number
}

/** What every client here asks for: 4.1, transactions, secure connection, several statements and results, plugins. */
const commonFlags = 0x0000_0200 | 0x2000 | 0x8000 | 0x1_0000 | 0x2_0000 | 0x4_0000 | 0x8_0000 | 0x80
/** A client with this flag leaves EOF packets out. */
export const deprecateEof = 1 << 24

/** One connection. */
export class RawMysql {
  readonly socket: Socket
  /** Resolves when the connection has ended, from either side. */
  readonly closed: Promise<void>
  #received: Buffer[] = []
  #receivedBytes = 0
  #wake: (() => void) | undefined
  #isClosed = false

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#received.push(chunk)
      this.#receivedBytes += chunk.length
      this.#wake?.()
    })
    socket.on('error', () => {})
    socket.on('end', () => {
      socket.end()
      this.#wake?.()
    })
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#isClosed = true
        this.#wake?.()
        resolve()
      })
    })
  }

  /** Opens a connection without a word, which ends with `lifetime`. */
  static open(port: number, lifetime: Lifetime | undefined): Promise<RawMysql> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
      if (lifetime) atEnd(lifetime, () => socket.destroy())
      socket.once('error', reject)
      socket.once('connect', () => resolve(new RawMysql(socket)))
    })
  }

  /** Opens a connection and logs in; rejects when the server refuses. */
  static async login(
    port: number,
    lifetime: Lifetime | undefined,
    options: RawMysqlOptions = {},
  ): Promise<RawMysql> {
    const client = await RawMysql.open(port, lifetime)
    const greeting = await client.packet()
    client.send(responseTo(greeting, options), 1)
    await client.#authenticate(challengeOf(greeting))
    return client
  }

  async #authenticate(challenge: Buffer): Promise<void> {
    for (;;) {
      const answer = await this.packet()
      if (answer[4] === 0) return
      if (answer[4] !== 1) throw new Error(`refused: ${answer.subarray(7).toString()}`)
      const payload = answerOf(answer.subarray(4), password, challenge)
      if (payload !== undefined) this.send(payload, answer[3]! + 1)
    }
  }

  /** Sends a payload in one packet. */
  send(payload: Uint8Array, sequence = 0): void {
    this.socket.write(packetOf(payload, sequence))
  }

  /** Sends a command. */
  command(command: number, body: Uint8Array | string = ''): void {
    this.send(commandOf(command, body))
  }

  /** The next packet, with its header. Rejects if the connection ends before it. */
  async packet(): Promise<Buffer> {
    for (;;) {
      const packet = this.#take()
      if (packet !== undefined) return packet
      if (this.#isClosed || this.socket.readableEnded) throw new Error('the connection has ended')
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #take(): Buffer | undefined {
    if (this.#receivedBytes < 4) return undefined
    if (this.#received[0]!.length < 4) this.#received = [Buffer.concat(this.#received)]
    const end = 4 + this.#received[0]!.readUIntLE(0, 3)
    if (this.#receivedBytes < end) return undefined
    const bytes = this.#received.length === 1 ? this.#received[0]! : Buffer.concat(this.#received)
    this.#received = bytes.length === end ? [] : [bytes.subarray(end)]
    this.#receivedBytes -= end
    return bytes.subarray(0, end)
  }
}

/** A payload with its header. */
export function packetOf(payload: Uint8Array, sequence = 0): Buffer {
  const header = Buffer.alloc(4)
  header.writeUIntLE(payload.length, 0, 3)
  header[3] = sequence
  return Buffer.concat([header, payload])
}

/** The payload of a command. */
export function commandOf(command: number, body: Uint8Array | string = ''): Buffer {
  return Buffer.concat([Buffer.from([command]), Buffer.from(body)])
}

/** The answer to a greeting, by mysql_native_password, or by caching_sha2_password where the server prefers that. */
export function responseTo(greeting: Buffer, options: RawMysqlOptions = {}): Buffer {
  const { user = owner, database, flags = 0, mariadbFlags = 0, collation = 45 } = options
  const head = Buffer.alloc(32)
  head.writeUInt32LE((commonFlags | flags | (database === undefined ? 0 : 8)) >>> 0, 0)
  head.writeUInt32LE(2 ** 24, 4)
  head[8] = collation
  head.writeUInt32LE(mariadbFlags, 28)
  const plugin = pluginOf(greeting)
  const proof = proofOf(plugin, password, challengeOf(greeting))
  const text = (value: string) => Buffer.from(`${value}\0`)
  const named = database === undefined ? [] : [text(database)]
  return Buffer.concat([head, text(user), Buffer.from([proof.length]), proof, ...named, text(plugin)])
}

function challengeOf(greeting: Buffer): Buffer {
  const at = greeting.indexOf(0, 5) + 5
  return Buffer.concat([greeting.subarray(at, at + 8), greeting.subarray(at + 27, at + 39)])
}
