/**
 * Connections that the benchmark of databases asks over: made by each system's own client, with every statement
 * prepared, and then driven by bytes, so that no figure includes the cost of a client library.
 *
 * Invariants
 *  1. One request is under way on a connection at a time.
 *  2. An answer that is an error ends the measurement.
 */
import { once } from 'node:events'
import { connect, Socket } from 'node:net'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { encodeCommand } from '../test/launch/raw-client.ts'

/** Requests by name. */
export type Requests = Readonly<Record<string, Uint8Array>>
/** Whether a chunk completes the answer; throws the server's error. Keeps its position between chunks. */
type IsComplete = (chunk: Buffer) => boolean

/** One connection. */
export class Link {
  readonly #socket: Socket
  readonly #requests: Requests
  #answered: ((failure?: Error) => void) | undefined

  /** @param socket sends nothing unasked, and has no other listener. */
  constructor(socket: Socket, requests: Requests, isComplete: IsComplete) {
    this.#socket = socket
    this.#requests = requests
    socket.on('data', (chunk) => {
      try {
        if (isComplete(chunk)) this.#settle()
      } catch (error) {
        this.#settle(error as Error)
      }
    })
    socket.on('error', (error) => this.#settle(error))
    socket.on('close', () => this.#settle(new Error('the connection ended')))
  }

  /** Sends a request, and calls back once when the whole answer has come, or cannot come. */
  ask(name: string, answered: (failure?: Error) => void): void {
    this.#answered = answered
    this.#socket.write(this.#requests[name]!)
  }

  close(): void {
    this.#answered = undefined
    this.#socket.destroy()
  }

  #settle(failure?: Error): void {
    const answered = this.#answered
    this.#answered = undefined
    answered?.(failure)
  }
}

/** Connects to a RESP port; each command must be answered by one line. */
export async function respLink(
  port: number,
  commands: Readonly<Record<string, readonly string[]>>,
): Promise<Link> {
  const socket = await connected(port)
  const requests = Object.entries(commands).map(([name, command]) => [name, encodeCommand(command)] as const)
  return new Link(socket, Object.fromEntries(requests), (chunk) => {
    if (chunk[0] === 0x2d) throw refused(chunk)
    return chunk.at(-1) === 0x0a
  })
}

/** Connects to PostgreSQL; each statement is prepared and takes no parameters. */
export async function postgresLink(url: string, statements: Readonly<Record<string, string>>): Promise<Link> {
  const socket = new Socket()
  const client = new pg.Client({ connectionString: url, stream: () => socket })
  client.on('error', () => {})
  await client.connect()
  for (const [name, text] of Object.entries(statements)) await client.query({ name, text })
  takeOver(socket)
  // Bind the nameless portal to the statement, execute it, sync.
  const requests = Object.keys(statements).map((name) => {
    const bind = Buffer.concat([Buffer.from(`\0${name}\0`), Buffer.alloc(6)])
    const execute = Buffer.concat([Buffer.from('\0'), Buffer.alloc(4)])
    return [name, Buffer.concat([message('B', bind), message('E', execute), message('S')])] as const
  })
  let rest: Buffer = Buffer.alloc(0)
  return new Link(socket, Object.fromEntries(requests), (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    let complete = false
    while (at + 5 <= bytes.length && at + 1 + bytes.readInt32BE(at + 1) <= bytes.length) {
      const type = String.fromCharCode(bytes[at]!)
      if (type === 'E') throw refused(bytes)
      complete ||= type === 'Z'
      at += 1 + bytes.readInt32BE(at + 1)
    }
    rest = bytes.subarray(at)
    return complete
  })
}

function message(type: string, body = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** Connects to MariaDB; each statement is prepared and takes no parameters. */
export async function mariaDbLink(url: string, statements: Readonly<Record<string, string>>): Promise<Link> {
  const { port, username: user, password, pathname } = new URL(url)
  const socket = await connected(Number(port))
  const access = { user, password, database: pathname.slice(1) }
  const connection = await createConnection({ ...access, stream: () => socket })
  const requests: Record<string, Uint8Array> = {}
  for (const [name, text] of Object.entries(statements)) {
    const prepared = await connection.prepare(text)
    // mysql2's types lack the server's number of the statement.
    const { id } = (prepared as unknown as { statement: { id: number } }).statement
    requests[name] = execution(id)
  }
  takeOver(socket)
  let rest: Buffer = Buffer.alloc(0)
  let place = 0
  let ends = 0
  return new Link(socket, requests, (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    while (at + 5 <= bytes.length && at + 4 + bytes.readUIntLE(at, 3) <= bytes.length) {
      const length = bytes.readUIntLE(at, 3)
      const first = bytes[at + 4]!
      if (first === 0xff) throw refused(bytes)
      // A lone OK, or one end after the columns and one after the rows.
      if (first === 0xfe && length < 9) ends++
      if ((place === 0 && first === 0) || ends === 2) {
        place = ends = 0
        rest = Buffer.alloc(0)
        return true
      }
      place++
      at += 4 + length
    }
    rest = bytes.subarray(at)
    return false
  })
}

/** COM_STMT_EXECUTE, without a cursor. */
function execution(statement: number): Buffer {
  const packet = Buffer.alloc(14)
  packet.writeUIntLE(10, 0, 3)
  packet[4] = 0x17
  packet.writeUInt32LE(statement, 5)
  packet.writeUInt32LE(1, 10)
  return packet
}

/** From the client that has made the connection. */
function takeOver(socket: Socket): void {
  for (const event of ['data', 'error', 'close']) socket.removeAllListeners(event)
}

async function connected(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

function refused(answer: Uint8Array): Error {
  return new Error(`the server answered: ${Buffer.from(answer).toString('latin1')}`)
}
