/** The errors with which a connection ends. */
import { type Address, addressText } from '../base/address.ts'
import { type MysqlError, noServerCode } from './protocol.ts'

/** ER_SERVER_SHUTDOWN. */
export const shuttingDown: MysqlError = {
  registered: 'SHUTDOWN',
  code: 1053,
  state: '08S01',
  message: 'fahao proxy: it is stopping; connect again',
}

/** ER_NET_PACKET_TOO_LARGE. */
export const tooLong: MysqlError = {
  registered: 'LIMIT',
  code: 1153,
  state: '08S01',
  message:
    'fahao proxy: the statement is longer than proxy-statement-max; raise that, or send a shorter statement',
}

/** ER_NET_PACKETS_OUT_OF_ORDER. */
export const outOfOrder: MysqlError = {
  code: 1156,
  state: '08S01',
  message:
    'fahao proxy: packets out of order: statements behind them could not be read; send each command after what the server has asked for',
}

/** What each side can do so that ids could be filled in no more. */
export const unclear = {
  client: 'has sent a packet that is no command',
  server: 'has sent a reply that cannot be understood',
} as const

/** The server is gone, or unfit. `what`: what it has done. */
export function noServer(address: Address, what: string): MysqlError {
  return ofServer(`the MySQL server at ${addressText(address)} ${what}; connect again`)
}

/** The connection to the server has failed before the end of the login. */
export function failed(address: Address, reason: string): MysqlError {
  return ofServer(`the connection to the MySQL server at ${addressText(address)} failed: ${reason}`)
}

/** The server has not greeted. */
export function unreachable(address: Address, reason: string): MysqlError {
  return ofServer(
    `cannot connect to the MySQL server at ${addressText(address)}: ${reason}; check upstream, and that the server runs`,
  )
}

function ofServer(message: string): MysqlError {
  return { registered: 'UNAVAILABLE', code: noServerCode, state: 'HY000', message: `fahao proxy: ${message}` }
}
