/**
 * A client of MySQL's protocol that hides nothing: each field of each reply, as it came. It follows the pages
 * "Clientserver protocol" of MariaDB's manual.
 */
import assert from 'node:assert/strict'
import { RawMysql } from '../../../launch/raw-mysql.ts'
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

// Long password, long flag.
const always = 0x1 | 0x4

/** A server that is silent for longer has been asked for something that never ends. */
const silenceMaxMs = 30_000

/** One connection. Commands are sent one at a time: each method waits for the whole reply. */
export class MysqlClient {
  readonly #raw: RawMysql
  readonly #capabilities: number
  #sequence = 0

  /** Connects to a loopback port and logs in. Rejects with the server's refusal. */
  static async connect({ port, capabilities = 0, ...login }: MySqlLogin): Promise<MysqlClient> {
    const raw = await RawMysql.login(port, undefined, { ...login, flags: always | capabilities })
    raw.socket.setTimeout(silenceMaxMs, () => raw.socket.destroy())
    return new MysqlClient(raw, capabilities)
  }

  private constructor(raw: RawMysql, capabilities: number) {
    this.#raw = raw
    this.#capabilities = capabilities
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

  /** COM_STMT_EXECUTE, with types for all parameters. */
  async execute(id: number, parameters: readonly Parameter[]): Promise<Reply[]> {
    const head = Buffer.alloc(9)
    head.writeUInt32LE(id, 0)
    head.writeUInt32LE(1, 5)
    const nulls = Buffer.alloc((parameters.length + 7) >> 3)
    for (const [at, value] of parameters.entries()) if (value === null) nulls[at >> 3]! |= 1 << (at & 7)
    const types = parameters.flatMap((value) => [typeOf(value), 0])
    const values = parameters.map(encodeValue)
    const rest = parameters.length === 0 ? [] : [nulls, Buffer.from([1, ...types]), ...values]
    this.#command(0x17, Buffer.concat([head, ...rest]))
    return await readReplies(() => this.#packet(), this.#capabilities, 'binary')
  }

  /** COM_STMT_CLOSE: has no reply. */
  closeStatement(id: number): void {
    const body = Buffer.alloc(4)
    body.writeUInt32LE(id, 0)
    this.#command(0x19, body)
  }

  /** Ends the connection at once. */
  end(): void {
    this.#raw.socket.destroy()
  }

  async #definitions(count: number): Promise<Column[]> {
    const columns: Column[] = []
    while (columns.length < count) columns.push(new PacketReader(await this.#packet()).column())
    if (count > 0 && (this.#capabilities & deprecateEof) === 0) await this.#packet()
    return columns
  }

  #command(number: number, body: Uint8Array = Buffer.alloc(0)): void {
    this.#sequence = 1
    this.#raw.command(number, body)
  }

  /** The body of the next packet. Its number must be the next one. */
  async #packet(): Promise<Buffer> {
    const packet = await this.#raw.packet()
    assert.equal(packet[3], this.#sequence++ & 0xff)
    return packet.subarray(4)
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
