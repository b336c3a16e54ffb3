/** A command that the proxy holds, and what becomes of the packets of its reply. */
import type { MysqlError } from './protocol.ts'

/** The form of the reply to a command. */
export type ReplyForm =
  /** One packet, whatever it says. */
  | 'packet'
  /** OK, ERR, the request for a local file, or results. */
  | 'results'
  /** Rows, definitions of columns, or events of a binary log, until EOF. */
  | 'rows'
  | 'prepare'
  /** COM_CHANGE_USER's: packets of authentication, until OK or ERR. */
  | 'authentication'

/** Receives packets of a reply in place of the client. */
export interface ReplyFilter {
  readonly form: ReplyForm
  /** Whether it receives all packets, only the OK and ERR packets of results, or none; the client receives the others as they are. */
  readonly receives: 'all' | 'outcomes' | 'none'
  /** The most bytes that the reply may have, if the proxy itself has asked for it; undefined: the client has. */
  readonly bytesMax?: number
  /**
   * A whole packet, with its headers. Returns what the client receives in its place; undefined: nothing. What it throws ends
   * the connection.
   */
  packet(bytes: Buffer, isLast: boolean): Buffer | undefined
  /** The reply is over. */
  done?(): void
}

/** A command that is held. */
export type HeldCommand = {
  readonly command: number
  /** What follows the first byte. */
  readonly body: Buffer
  /** All its packets. */
  readonly packet: Buffer
  readonly form: ReplyForm
  /** The sequence number of a reply. */
  readonly sequence: number
}

/** The session whose statements are filled in. */
export interface FilledSession {
  /** Whether the server leaves EOF packets out. */
  readonly deprecatesEof: boolean
  /** Whether OK packets tell of changes of the session. */
  readonly tracksSession: boolean
  /** Ends when the connection does. */
  readonly signal: AbortSignal
  /** A statement waits, which takes about `bytes` of memory; 0: none does. */
  waits(bytes: number): void
  /** Sends `body` in place of a command's own; without a filter the client receives the reply as the command has it. */
  send(command: HeldCommand, body: Uint8Array, filter?: ReplyFilter): void
  /** Sends a question of the proxy. */
  ask(command: number, body: Uint8Array, reply: ReplyFilter): void
  /** Replies to a command that is not sent. */
  answer(command: HeldCommand, error: MysqlError): void
}
