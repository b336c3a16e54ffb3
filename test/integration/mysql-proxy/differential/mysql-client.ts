/**
 * A client of MySQL's protocol that hides nothing: each field of each reply, as it came. It follows the pages
 * "Clientserver protocol" of MariaDB's manual.
 */
import { connect, type Socket } from 'node:net'
import { atEnd, type Lifetime } from '../../../launch/lifetime.ts'
import { answerOf, pluginOf, proofOf } from '../../../launch/mysql-passwords.ts'
import {
  type Column,
  type ErrorReply,
  PacketReader,
  type Reply,
  readError,
  readReplies,
} from './mysql-replies.ts'

/** How to log in. */
export type MySqlLogin = {
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database?: string
  /** Capabilities beside those that it always asks for: CLIENT_FOUND_ROWS, CLIENT_DEPRECATE_EOF … */
  readonly capabilities?: number
  /** The number of the collation that the session begins with. Default: utf8mb4_general_ci. */
  readonly collation?: number
}

/** A value for a parameter: integers as LONGLONG, other numbers as DOUBLE, texts as VAR_STRING, bytes as BLOB. */
export type Parameter = null | number | bigint | string | Uint8Array

/** A prepared statement. */
export type Prepared = {
  readonly kind: 'prepared'
  readonly id: number
  readonly parameters: readonly Column[]
  readonly columns: readonly Column[]
  readonly warnings: number
}

/** Affected rows count found rows, changed or not. */
export const foundRows = 0x2
/** The end of rows is an OK packet. */
export const deprecateEof = 0x100_0000
/** OK packets tell of changes of the session. */
export const sessionTrack = 0x80_0000

// Long password, long flag, connect with database, local files, 4.1, transactions, 4.1 passwords, multi-statements,
// multi-results of both kinds, plugins of authentication.
const always = 0x1 | 0x4 | 0x8 | 0x80 | 0x200 | 0x2000 | 0x8000 | 0x1_0000 | 0x2_0000 | 0x4_0000 | 0x8_0000

/** A server that is silent for so long has been asked for something that never ends. */
const silenceMaxMs = 30_000

/** One connection. Commands are sent one at a time: each method waits for the whole reply. */
export class MysqlClient {
  readonly #socket: Socket
  readonly #capabilities: number
  #received: Buffer = Buffer.alloc(0)
  #sequence = 0
  #closed = false
  #wake: (() => void) | undefined

  /** Connects to a loopback port and logs in. Rejects with the server's refusal. Ends with `lifetime`. */
  static async connect(login: MySqlLogin, lifetime?: Lifetime): Promise<MysqlClient> {
    const socket = connect({ port: login.port, host: '127.0.0.1', noDelay: true })
    const client = new MysqlClient(socket, always | (login.capabilities ?? 0))
    if (lifetime) atEnd(lifetime, () => client.end())
    await client.#logIn(login)
    return client
  }

  private constructor(socket: Socket, capabilities: number) {
    this.#socket = socket
    this.#capabilities = capabilities
    socket.on('data', (chunk) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
      this.#wake?.()
    })
    // 'close' follows every error, and readers learn of the end there.
    socket.on('error', () => {})
    socket.setTimeout(silenceMaxMs, () => socket.destroy())
    socket.once('close', () => {
      this.#closed = true
      this.#wake?.()
    })
  }

  /** COM_QUERY: the replies of all its statements. */
  async query(sql: string | Uint8Array): Promise<Reply[]> {
    this.#command(0x03, Buffer.from(sql))
    return await readReplies(() => this.#packet(), this.#capabilities, 'text')
  }

  /** COM_INIT_DB. */
  async useDatabase(name: string): Promise<Reply[]> {
    this.#command(0x02, Buffer.from(name))
    return await readReplies(() => this.#packet(), this.#capabilities, 'text')
  }

  /** COM_RESET_CONNECTION. */
  async reset(): Promise<Reply[]> {
    this.#command(0x1f)
    return await readReplies(() => this.#packet(), this.#capabilities, 'text')
  }

  /** COM_STMT_PREPARE. */
  async prepare(sql: string | Uint8Array): Promise<Prepared | ErrorReply> {
    this.#command(0x16, Buffer.from(sql))
    const reply = new PacketReader(await this.#packet())
    if (reply.peek() === 0xff) return readError(reply)
    reply.advance(1)
    const id = reply.integer(4)
    const [columnCount, parameterCount] = [reply.integer(2), reply.integer(2)]
    reply.advance(1)
    const warnings = reply.integer(2)
    const parameters = await this.#definitions(parameterCount)
    return { kind: 'prepared', id, parameters, columns: await this.#definitions(columnCount), warnings }
  }

  /** COM_STMT_EXECUTE, with types for all parameters, unless `withTypes` is false: then as the last execute named them. */
  async execute(id: number, parameters: readonly Parameter[] = [], withTypes = true): Promise<Reply[]> {
    const head = Buffer.alloc(9)
    head.writeUInt32LE(id, 0)
    head.writeUInt32LE(1, 5)
    const nulls = Buffer.alloc((parameters.length + 7) >> 3)
    for (const [at, value] of parameters.entries()) if (value === null) nulls[at >> 3]! |= 1 << (at & 7)
    const types = withTypes ? parameters.flatMap((value) => [typeOf(value), 0]) : []
    const values = parameters.map(encodeValue)
    const rest = parameters.length === 0 ? [] : [nulls, Buffer.from([withTypes ? 1 : 0, ...types]), ...values]
    this.#command(0x17, Buffer.concat([head, ...rest]))
    return await readReplies(() => this.#packet(), this.#capabilities, 'binary')
  }

  /** COM_STMT_SEND_LONG_DATA: has no reply. */
  sendLongData(id: number, parameter: number, data: Uint8Array): void {
    const head = Buffer.alloc(6)
    head.writeUInt32LE(id, 0)
    head.writeUInt16LE(parameter, 4)
    this.#command(0x18, Buffer.concat([head, data]))
  }

  /** COM_STMT_CLOSE: has no reply. */
  closeStatement(id: number): void {
    const body = Buffer.alloc(4)
    body.writeUInt32LE(id, 0)
    this.#command(0x19, body)
  }

  /** Ends the connection at once. */
  end(): void {
    this.#socket.destroy()
  }

  async #logIn({ user, password, database = '', collation = 45 }: MySqlLogin): Promise<void> {
    const packet = await this.#packet()
    const greeting = new PacketReader(packet)
    if (greeting.peek() === 0xff) throw new Error(readError(greeting).message)
    greeting.advance(1)
    greeting.text(0)
    greeting.advance(4)
    const first = greeting.bytes(8)
    greeting.advance(19)
    const nonce = Buffer.concat([first, greeting.bytes(12)])
    const head = Buffer.alloc(32)
    head.writeUInt32LE(this.#capabilities, 0)
    head.writeUInt32LE(0x4000_0000, 4)
    head[8] = collation
    const plugin = pluginOf(packet)
    const proof = proofOf(plugin, password, nonce)
    const names = `${database}\0${plugin}\0`
    this.#send(
      Buffer.concat([head, Buffer.from(`${user}\0`), Buffer.from([proof.length]), proof, Buffer.from(names)]),
    )
    const [reply] = await readReplies(() => this.#afterExchange(password, nonce), this.#capabilities, 'text')
    if (reply?.kind !== 'ok') throw new Error(`the login was refused: ${JSON.stringify(reply)}`)
  }

  /** The first packet behind what the server and the client say about the password. */
  async #afterExchange(password: string, nonce: Buffer): Promise<Buffer> {
    for (;;) {
      const packet = await this.#packet()
      if (packet[0] !== 1) return packet
      const answer = answerOf(packet, password, nonce)
      if (answer !== undefined) this.#send(answer)
    }
  }

  async #definitions(count: number): Promise<Column[]> {
    const columns: Column[] = []
    while (columns.length < count) columns.push(new PacketReader(await this.#packet()).column())
    if (count > 0 && (this.#capabilities & deprecateEof) === 0) await this.#packet()
    return columns
  }

  #command(number: number, body: Uint8Array = Buffer.alloc(0)): void {
    this.#sequence = 0
    this.#send(Buffer.concat([Buffer.from([number]), body]))
  }

  #send(body: Buffer): void {
    const head = Buffer.alloc(4)
    head.writeUIntLE(body.length, 0, 3)
    head[3] = this.#sequence++ & 0xff
    this.#socket.write(Buffer.concat([head, body]))
  }

  /** The body of the next packet. Its number must be the next one. */
  async #packet(): Promise<Buffer> {
    await this.#until(4)
    const length = this.#received.readUIntLE(0, 3)
    await this.#until(4 + length)
    const number = this.#received[3]
    if (number !== (this.#sequence & 0xff))
      throw new Error(`packet ${number} came instead of ${this.#sequence}`)
    this.#sequence++
    const body = this.#received.subarray(4, 4 + length)
    this.#received = this.#received.subarray(4 + length)
    return body
  }

  async #until(size: number): Promise<void> {
    while (this.#received.length < size) {
      if (this.#closed) throw new Error('the server ended the connection')
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

function typeOf(value: Parameter): number {
  if (value === null) return 6
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return 8
  if (typeof value === 'number') return 5
  return typeof value === 'string' ? 0xfd : 0xfc
}

function encodeValue(value: Parameter): Buffer {
  if (value === null) return Buffer.alloc(0)
  const fixed = Buffer.alloc(8)
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) {
    fixed.writeBigInt64LE(BigInt(value as bigint | number))
    return fixed
  }
  if (typeof value === 'number') {
    fixed.writeDoubleLE(value)
    return fixed
  }
  const bytes = Buffer.from(value as string | Uint8Array)
  return Buffer.concat([encodeLength(bytes.length), bytes])
}

function encodeLength(length: number): Buffer {
  if (length < 251) return Buffer.from([length])
  const encoded = Buffer.alloc(4)
  encoded[0] = 0xfd
  encoded.writeUIntLE(length, 1, 3)
  return encoded
}
