/** The MySQL server behind the proxy: its URL, and connections to it. */
import { isIP, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import type { Address } from '../base/address.ts'
import { dialPlain } from '../node/dial.ts'

/** Where the server is, and how it is spoken to. */
export type Upstream = {
  readonly address: Address
  readonly isTls: boolean
  /** The authorities that sign the server's certificate, in PEM; undefined: the system's. */
  readonly ca: Buffer | undefined
}

/** An idle connection whose server has vanished is noticed after this time and ten probes; by default after two hours. */
const keepAliveMs = 60_000

/** Opens a connection without TLS. */
export function dialUpstream({ address }: Upstream): Socket {
  const socket = dialPlain(address)
  socket.allowHalfOpen = true
  socket.setKeepAlive(true, keepAliveMs)
  return socket
}

/** Sets TLS up on a connection, as its client. The certificate must be for the host of the URL. */
export function secureUpstream(socket: Socket, { address, ca }: Upstream): TLSSocket {
  const servername = isIP(address.host) === 0 ? { servername: address.host } : {}
  return connect({ socket, host: address.host, ...servername, ...(ca && { ca }), minVersion: 'TLSv1.2' })
}
