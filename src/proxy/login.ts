/**
 * A connection until the server has accepted or refused the client: the greeting, TLS on each side, and the exchange of the
 * authentication, which is between the client and the server.
 *
 * Invariants
 *  1. Nothing of the client reaches the server before the greeting, and nothing of a client that must speak TLS before TLS.
 *  2. Each side sees sequence numbers without gaps: where one side has had a request for TLS and the other has not, the
 *     numbers are shifted by one until the login is over.
 *  3. A packet of the client with sequence number 0 is a command. It waits until the login is over.
 *  4. At most `loginBytesMax` and one chunk wait of each side: neither has shown yet that it means well.
 */

import { ByteQueue } from './byte-queue.ts'
import {
  editGreeting,
  editResponse,
  type Flags,
  isTlsRequest,
  readGreeting,
  readResponse,
  tlsRequest,
} from './greeting.ts'
import { lengthAt } from './packet-walker.ts'
import { capabilities, headerBytes, lengthOfInteger, type MysqlError, noServerCode } from './protocol.ts'

/** A session that has begun. */
export type LoggedIn = {
  /** The flags that are in force. */
  readonly flags: Flags
  /** Status flags of the server. */
  readonly status: number
  /** What has arrived from each side after the login. */
  readonly fromClient: Buffer
  readonly fromServer: Buffer
}

/** What a login needs of its connection. */
export interface LoginHost {
  /** Whether the client can have TLS, and then has to. */
  readonly offersTls: boolean
  readonly isUpstreamTls: boolean
  toClient(bytes: Buffer): void
  toServer(bytes: Buffer): void
  /** Sets up TLS; calls `clientIsSecure` when it is. `rest`: what has arrived behind the request for it. */
  secureClient(rest: Buffer): void
  /** Sets up TLS; calls `serverIsSecure` when it is. */
  secureServer(): void
  /** Sends an error to the client and ends the connection. */
  refuse(sequence: number, error: MysqlError, withState?: boolean): void
  /** The server has refused the client, and has said so. */
  end(): void
  begin(session: LoggedIn): void
}

const tlsRequired: MysqlError = {
  code: 3159,
  state: 'HY000',
  message: 'fahao proxy: connections without TLS are not allowed; switch TLS on in the client',
}
const malformed: MysqlError = {
  code: 1043,
  state: '08S01',
  message:
    'fahao proxy: bad handshake: this is no client of the protocol that MySQL has since version 4.1; use a newer one',
}

/** More than the packets of a login have: the attributes of a connection are at most 64 KiB long. */
export const loginBytesMax = 131_072

const tooLong: MysqlError = {
  registered: 'LIMIT',
  code: 1153,
  state: '08S01',
  message: `fahao proxy: more than ${loginBytesMax} bytes came before the end of the login; send commands after it`,
}

/** One login. */
export class Login {
  readonly #host: LoginHost
  readonly #client = new ByteQueue()
  readonly #server = new ByteQueue()
  #state: 'greeting' | 'response' | 'securing' | 'exchange' | 'over' = 'greeting'
  /** The flags of the server. */
  #offered: Flags = { common: 0, mariadb: 0 }
  /** The flags that are in force. */
  #flags: Flags = { common: 0, mariadb: 0 }
  #isClientTls = false
  /** The client's answer to the greeting, while TLS is set up. */
  #response: Buffer | undefined

  constructor(host: LoginHost) {
    this.#host = host
  }

  /** Whether the client has been greeted. */
  get isGreeted(): boolean {
    return this.#state !== 'greeting'
  }

  /** Takes bytes of the server. */
  fromServer(chunk: Buffer): void {
    if (!fits(this.#server, chunk)) return this.#notUnderstood()
    while (this.#state === 'greeting' || this.#state === 'exchange') {
      const packet = nextPacket(this.#server)
      if (packet === undefined) return
      if (this.#state === 'greeting') this.#greet(packet)
      else this.#relayServer(packet)
    }
  }

  /** Takes bytes of the client. */
  fromClient(chunk: Buffer): void {
    if (!fits(this.#client, chunk)) return this.#host.refuse(2, tooLong)
    this.#readClient()
  }

  /** The client's connection speaks TLS now. */
  clientIsSecure(): void {
    this.#isClientTls = true
    this.#state = 'response'
    this.#readClient()
  }

  /** The server's connection speaks TLS now. */
  serverIsSecure(): void {
    this.#state = 'exchange'
    const response = this.#response!
    this.#response = undefined
    this.#sendShifted(response)
    this.#readClient()
  }

  #readClient(): void {
    while (this.#state === 'response' || this.#state === 'exchange') {
      const { length, all } = this.#client
      if (this.#state === 'exchange' && length >= headerBytes && all[3] === 0) return
      const packet = nextPacket(this.#client)
      if (packet === undefined) return
      if (this.#state === 'response') this.#respond(packet)
      else this.#sendShifted(packet)
    }
  }

  #greet(packet: Buffer): void {
    if (packet[headerBytes] === 0xff) {
      this.#state = 'over'
      this.#host.toClient(packet)
      return this.#host.end()
    }
    const greeting = readGreeting(packet)
    if (greeting === undefined) return this.#notUnderstood()
    if (this.#host.isUpstreamTls && (greeting.flags.common & capabilities.ssl) === 0) {
      const message =
        'fahao proxy: the MySQL server offers no TLS; switch it on there, or name the server with mysql://'
      return this.#refuse({ code: noServerCode, state: 'HY000', message })
    }
    this.#offered = greeting.flags
    this.#state = 'response'
    editGreeting(packet, greeting, this.#host.offersTls)
    this.#host.toClient(packet)
  }

  #respond(packet: Buffer): void {
    const sequence = packet[3]! + 1
    const flags = readResponse(packet)
    if (flags === undefined) return this.#host.refuse(sequence, malformed)
    if (!this.#isClientTls && this.#host.offersTls) {
      if (!isTlsRequest(packet, flags)) return this.#host.refuse(sequence, tlsRequired)
      this.#state = 'securing'
      return this.#host.secureClient(this.#client.take())
    }
    if (isTlsRequest(packet, flags)) return this.#host.refuse(sequence, malformed)
    const { common, mariadb } = this.#offered
    const edited = editResponse(packet, flags, this.#host.isUpstreamTls)
    this.#flags = { common: (edited.common & common) >>> 0, mariadb: (edited.mariadb & mariadb) >>> 0 }
    if (!this.#host.isUpstreamTls) {
      this.#state = 'exchange'
      return this.#sendShifted(packet)
    }
    this.#state = 'securing'
    this.#response = packet
    this.#host.toServer(tlsRequest(packet))
    this.#host.secureServer()
  }

  /** By how much the server's sequence numbers are above the client's. */
  get #shift(): number {
    return (this.#host.isUpstreamTls ? 1 : 0) - (this.#isClientTls ? 1 : 0)
  }

  #sendShifted(packet: Buffer): void {
    packet[3] = (packet[3]! + this.#shift) & 0xff
    this.#host.toServer(packet)
  }

  #relayServer(packet: Buffer): void {
    packet[3] = (packet[3]! - this.#shift) & 0xff
    this.#host.toClient(packet)
    const first = packet[headerBytes]
    if (first !== 0 && first !== 0xff) return
    this.#state = 'over'
    if (first === 0xff) return this.#host.end()
    this.#host.begin({
      flags: this.#flags,
      status: statusOf(packet),
      fromClient: this.#client.take(),
      fromServer: this.#server.take(),
    })
  }

  #notUnderstood(): void {
    const message =
      'fahao proxy: what answers at the address of the MySQL server does not speak its protocol; check upstream'
    this.#refuse({ code: noServerCode, state: 'HY000', message })
  }

  #refuse(error: MysqlError): void {
    const isGreeted = this.isGreeted
    this.#state = 'over'
    this.#host.refuse(isGreeted ? 2 : 0, error, isGreeted)
  }
}

/** The status flags of an OK packet. */
function statusOf(packet: Buffer): number {
  let at = headerBytes + 1
  at += lengthOfInteger(packet[at]!)
  at += lengthOfInteger(packet[at]!)
  return packet.length >= at + 2 ? packet.readUInt16LE(at) : 0
}

/** Adds what has arrived. Returns false if more waits than a login has. */
function fits(kept: ByteQueue, chunk: Buffer): boolean {
  kept.add(chunk)
  const { length, all } = kept
  return Math.max(length, length < headerBytes ? 0 : lengthAt(all, 0)) <= loginBytesMax
}

/** Takes the next packet, with its header; undefined while it is incomplete. */
function nextPacket(kept: ByteQueue): Buffer | undefined {
  const { length, all } = kept
  const end = headerBytes + (length < headerBytes ? 0 : lengthAt(all, 0))
  if (length < end) return undefined
  kept.drop(end)
  return Buffer.from(all.subarray(0, end))
}
