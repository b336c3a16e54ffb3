/** Connections to other nodes, with TLS or without. */
import { connect, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Address } from '../base/address.ts'

/** Opens a connection. The socket accepts bytes at once, and sends them when it is ready. */
export type Dial = (address: Address) => Socket

/** Connects without TLS. */
export const dialPlain: Dial = ({ host, port }) => connect({ host, port, noDelay: true, keepAlive: true })

/** The event after which bytes that were written to a new connection may reach the other node. */
export function readyEvent(socket: Socket): 'connect' | 'secureConnect' {
  return socket instanceof TLSSocket ? 'secureConnect' : 'connect'
}
