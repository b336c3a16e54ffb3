/**
 * The two sockets of a connection: the client's and the server's.
 *
 * Invariants
 *  1. A side is not read while the other side has not taken what was sent to it, nor the client while `mayReadClient` says no.
 *  2. What is sent while one chunk is being taken in leaves in one write.
 *  3. An error in a callback of a socket reaches `fail`, and nothing else.
 *  4. Once TLS is set up on a side, events of its socket without TLS are ignored.
 *  5. Once the turn is over, a side that sends much is read further in a later turn, after at most two more chunks.
 */
import { isIP, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import type { Address } from '../base/address.ts'
import { describe } from '../base/errors.ts'
import { dialPlain } from '../listening/dial.ts'
import { type TurnTaker, turns } from '../listening/turns.ts'

/** Where the server is, and how it is spoken to. */
export type Upstream = {
  readonly address: Address
  readonly isTls: boolean
  /** The authorities that sign the server's certificate, in PEM; undefined: the system's. */
  readonly ca: Buffer | undefined
  /** The user that looks at the filled tables; undefined: no table is filled in. */
  readonly user?: string
  readonly password?: string
}

/** An idle connection whose server has vanished is noticed after this time and ten probes; by default after two hours. */
const keepAliveMs = 60_000

/** Called when something happens to the sockets. */
export interface PairHost {
  fromClient(chunk: Buffer): void
  fromServer(chunk: Buffer): void
  /** Whether nothing but the server's socket speaks against reading the client. */
  mayReadClient(): boolean
  /** The client has taken what was sent, or has not. */
  unreadChanged(): void
  clientEnded(): void
  serverEnded(): void
  clientClosed(): void
  serverClosed(): void
  serverFailed(reason: string): void
  fail(error: unknown): void
}

const readingEvents = ['data', 'drain', 'end']

/** The shortest chunk, in bytes, behind which a socket probably reads more in the same turn, up to 2 MiB. */
const longChunkBytes = 16_384
/** What a socket reads at once, at most. */
const readBytes = 65_536

/** Both sockets. */
export class SocketPair {
  readonly #host: PairHost
  #client: Socket
  #server: Socket
  /** The chunk that is being taken in. */
  #taking: Buffer | undefined
  readonly #clientRest = new Rest(() => this.readClient())
  readonly #serverRest = new Rest(() => this.#readServer())

  constructor(client: Socket, server: Socket, host: PairHost) {
    this.#host = host
    this.#client = client
    this.#server = server
    this.#listenToClient(client)
    this.#listenToServer(server)
  }

  /** The client's side. */
  get client(): Socket {
    return this.#client
  }

  /** The server's side. */
  get server(): Socket {
    return this.#server
  }

  /** Sends to the server. Does nothing once that side has been ended. */
  toServer(bytes: Uint8Array): void {
    const socket = this.#server
    if (!socket.writable) return
    this.#corkUnlessAll(socket, bytes)
    if (!socket.write(bytes)) this.#client.pause()
  }

  /** Sends to the client. Does nothing once that side has been ended. */
  toClient(bytes: Uint8Array): void {
    const socket = this.#client
    if (!socket.writable) return
    this.#corkUnlessAll(socket, bytes)
    if (socket.write(bytes)) return
    this.#server.pause()
    this.#host.unreadChanged()
  }

  /** Reads the client again, unless there is a reason against it. */
  readClient(): void {
    if (this.#clientRest.isWaiting || this.#server.writableNeedDrain) return
    if (this.#host.mayReadClient()) this.#client.resume()
  }

  /** Stops reading the client's socket, and returns it with `rest` as its next bytes: TLS takes its place. */
  releaseClient(rest: Buffer): Socket {
    const socket = this.#client
    socket.pause()
    for (const event of readingEvents) socket.removeAllListeners(event)
    if (rest.length > 0) socket.unshift(rest)
    return socket
  }

  /** Goes on with the client's socket with TLS. */
  replaceClient(secure: Socket): void {
    this.#client = secure
    this.#listenToClient(secure)
  }

  /** Sets TLS up on the server's side, and calls `ready` when it is. */
  secureServer(upstream: Upstream, ready: () => void): void {
    const socket = this.#server
    // The request for TLS leaves now: other bytes follow it without this socket.
    if (socket.writableCorked > 0) socket.uncork()
    for (const event of readingEvents) socket.removeAllListeners(event)
    const secure = secureUpstream(socket, upstream)
    secure.once('secureConnect', () => {
      secure.allowHalfOpen = true
      this.#contain(ready)
    })
    this.#server = secure
    this.#listenToServer(secure)
  }

  /** Ends both sides at once. */
  destroy(): void {
    this.#client.destroy()
    this.#server.destroy()
  }

  #listenToClient(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => this.#fromClient(chunk))
    socket.on('drain', () => {
      this.#host.unreadChanged()
      this.#readServer()
      this.readClient()
    })
    socket.on('end', () => this.#contain(() => this.#host.clientEnded()))
    // `close` follows.
    socket.on('error', () => {})
    socket.on('close', () => {
      if (socket === this.#client) this.#contain(() => this.#host.clientClosed())
    })
  }

  #listenToServer(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => this.#fromServer(chunk))
    socket.on('drain', () => this.readClient())
    socket.on('end', () => this.#contain(() => this.#host.serverEnded()))
    socket.on('error', (error) => this.#contain(() => this.#host.serverFailed(describe(error))))
    socket.on('close', () => {
      if (socket === this.#server) this.#contain(() => this.#host.serverClosed())
    })
  }

  #fromClient(chunk: Buffer): void {
    this.#taking = chunk
    try {
      this.#host.fromClient(chunk)
    } catch (error) {
      this.#host.fail(error)
    }
    this.#taking = undefined
    if (!this.#host.mayReadClient()) this.#client.pause()
    if (this.#clientRest.isWaiting || !isTooMuch(chunk)) return
    this.#client.pause()
    this.#clientRest.begin()
  }

  #fromServer(chunk: Buffer): void {
    this.#taking = chunk
    try {
      this.#host.fromServer(chunk)
    } catch (error) {
      this.#host.fail(error)
    }
    this.#taking = undefined
    if (this.#client.isPaused()) this.readClient()
    if (!isTooMuch(chunk)) return
    this.#server.pause()
    this.#serverRest.begin()
  }

  #readServer(): void {
    if (!this.#serverRest.isWaiting && !this.#client.writableNeedDrain) this.#server.resume()
  }

  /** Bytes that are the whole chunk leave by themselves; parts of it wait for the others. */
  #corkUnlessAll(socket: Socket, bytes: Uint8Array): void {
    if (bytes === this.#taking || socket.writableCorked > 0) return
    socket.cork()
    process.nextTick(() => socket.uncork())
  }

  /** Runs a callback. */
  #contain(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#host.fail(error)
    }
  }
}

/** The time until a side continues in its turn. */
class Rest implements TurnTaker {
  isWaiting = false
  readonly #goOn: () => void

  constructor(goOn: () => void) {
    this.#goOn = goOn
  }

  begin(): void {
    if (this.isWaiting) return
    this.isWaiting = true
    turns.wait(this, false)
  }

  takeTurn(): void {
    this.isWaiting = false
    turns.spend(workOf(readBytes))
    this.#goOn()
  }
}

/** Counts a chunk that was received. Returns whether the next chunk has to wait. */
function isTooMuch({ length }: Buffer): boolean {
  turns.spend(workOf(length))
  return length >= longChunkBytes && turns.over
}

/** Bytes that are received take a quarter of the time of bytes of replies. */
function workOf(bytes: number): number {
  return bytes >> 2
}

/** Opens a connection without TLS. */
export function dialUpstream({ address }: Upstream): Socket {
  const socket = dialPlain(address)
  socket.allowHalfOpen = true
  socket.setKeepAlive(true, keepAliveMs)
  return socket
}

/** Sets TLS up on a connection, as its client. The certificate must be for the host of the URL. */
function secureUpstream(socket: Socket, { address, ca }: Upstream): TLSSocket {
  const servername = isIP(address.host) === 0 ? { servername: address.host } : {}
  return connect({ socket, host: address.host, ...servername, ...(ca && { ca }), minVersion: 'TLSv1.2' })
}
