/** A Redis client that hides nothing: bytes out, replies in, in order, exactly as they came. */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { CertificateFiles } from './certificates.ts'
import { atEnd, type Lifetime } from './lifetime.ts'
import { parseReply, type RawReply } from './raw-reply.ts'

/** One connection to a RESP port. */
export class RawClient {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #closed = false
  #wake: (() => void) | undefined
  /** Resolves when the connection has ended, from either side. */
  readonly closed: Promise<void>

  /**
   * Connects to a loopback port; rejects as the socket does. Ends with `lifetime`, if one is given.
   * @param from the loopback address to connect from.
   * @param tls the files of a server that speaks TLS; the client presents the server's own certificate.
   */
  static connect(
    port: number,
    lifetime?: Lifetime,
    { from = '127.0.0.1', tls }: { from?: string; tls?: CertificateFiles | undefined } = {},
  ): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const address = { port, host: '127.0.0.1', localAddress: from, noDelay: true }
      const socket = tls === undefined ? connect(address) : connectTls({ ...address, ...pemOf(tls) })
      socket.once('error', reject)
      socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
        socket.off('error', reject)
        const client = new RawClient(socket)
        if (lifetime) atEnd(lifetime, () => client.close())
        resolve(client)
      })
    })
  }

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
      this.#wake?.()
    })
    // 'close' follows every error, and readers learn of the end there.
    socket.on('error', () => {})
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#closed = true
        this.#wake?.()
        resolve()
      })
    })
  }

  /** Sends bytes as they are; text goes out as UTF-8. */
  send(bytes: string | Uint8Array): void {
    this.#socket.write(bytes)
  }

  /** Sends one command as an array of bulk strings, without waiting. */
  sendCommand(...parts: readonly (string | number | bigint | Uint8Array)[]): void {
    this.send(encodeCommand(parts))
  }

  /** Sends one command and reads one reply. With replies still unread it would read the wrong one. */
  async command(...parts: readonly (string | number | bigint | Uint8Array)[]): Promise<RawReply> {
    this.sendCommand(...parts)
    return await this.read()
  }

  /** The next reply. Rejects when the connection ends before it is complete. */
  async read(): Promise<RawReply> {
    for (;;) {
      const parsed = parseReply(this.#received)
      if (parsed) {
        this.#received = this.#received.subarray(parsed.end)
        return parsed.reply
      }
      await this.#more('a reply')
    }
  }

  /** The next `count` replies. */
  async readMany(count: number): Promise<RawReply[]> {
    const replies: RawReply[] = []
    while (replies.length < count) replies.push(await this.read())
    return replies
  }

  /** The next `byteCount` bytes, as text: for tests that compare what is on the wire. */
  async readText(byteCount: number): Promise<string> {
    while (this.#received.length < byteCount) await this.#more(`${byteCount} bytes`)
    const text = this.#received.toString('utf8', 0, byteCount)
    this.#received = this.#received.subarray(byteCount)
    return text
  }

  /** Everything until the other side ends the connection, as text. */
  async readToEnd(): Promise<string> {
    await this.closed
    const text = this.#received.toString('utf8')
    this.#received = Buffer.alloc(0)
    return text
  }

  /** What has arrived and has not been read, as text. */
  unread(): string {
    return this.#received.toString('utf8')
  }

  /** Stops reading from the socket, as a client does that never reads its replies. */
  pause(): void {
    this.#socket.pause()
  }

  /** Reads again after `pause`. */
  resume(): void {
    this.#socket.resume()
  }

  /** Half-closes: nothing more will be sent, replies can still be read. */
  end(): void {
    this.#socket.end()
  }

  /** Drops the connection. */
  close(): Promise<void> {
    this.#socket.destroy()
    return this.closed
  }

  async #more(wanted: string): Promise<void> {
    if (this.#closed)
      throw new Error(`the connection ended while ${wanted} was awaited; unread: '${this.unread()}'`)
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    this.#wake = undefined
  }
}

function pemOf({ ca, cert, key }: CertificateFiles) {
  return { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) }
}

/** A command as clients send it: an array of bulk strings. */
export function encodeCommand(parts: readonly (string | number | bigint | Uint8Array)[]): Buffer {
  const chunks: Uint8Array[] = [Buffer.from(`*${parts.length}\r\n`)]
  for (const part of parts) {
    const bytes = part instanceof Uint8Array ? part : Buffer.from(String(part))
    chunks.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'))
  }
  return Buffer.concat(chunks)
}
