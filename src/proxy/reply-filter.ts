/** What becomes of the packets of one reply. */
import type { OkFacts } from './ok-packet.ts'

/** The form of the reply to a command. */
export type ReplyForm =
  /** One packet, whatever it says. */
  | 'packet'
  /** OK, ERR, the request for a local file, or results. */
  | 'results'
  /** Rows, or definitions of columns, until EOF. */
  | 'rows'
  | 'prepare'
  /** COM_CHANGE_USER's: packets of authentication, until OK or ERR. */
  | 'authentication'

/** Receives packets of a reply in place of the client. */
export interface ReplyFilter {
  readonly form: ReplyForm
  /** Whether it receives all packets, only OK packets, or none; the client receives the others as they are. */
  readonly receives: 'all' | 'ok' | 'none'
  /** The most bytes that the reply may have, if the proxy itself has asked for it; undefined: the client has. */
  readonly bytesMax?: number
  /**
   * A whole packet, with its headers. Returns what the client receives in its place; undefined: nothing. What it throws ends
   * the connection.
   * @param ok what it says, if it is an OK packet.
   */
  packet(bytes: Buffer, isLast: boolean, ok: OkFacts | undefined): Buffer | undefined
}

/** The client receives all of the reply. */
export const unfiltered: ReplyFilter = { form: 'results', receives: 'none', packet: (bytes) => bytes }
