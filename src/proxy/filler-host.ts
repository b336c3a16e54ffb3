/** What filling ids in needs of its connection. */
import type { HeldCommand } from './client-commands.ts'
import type { Filling } from './filling.ts'
import type { MysqlError } from './protocol.ts'
import type { Ask } from './questions.ts'
import type { ReplyFilter } from './reply-filter.ts'

/** The connection of a filler. */
export interface FillerHost {
  readonly filling: Filling
  readonly serverVersion: string
  /** Whether the server leaves EOF packets out. */
  readonly deprecatesEof: boolean
  /** How many prepared statements may be filled in. */
  readonly statementsMax: number
  /** What these may take, in bytes of memory. */
  readonly statementsBytesMax: number
  /** Ends when the connection does. */
  readonly signal: AbortSignal
  /** A statement waits, which takes about so many bytes of memory; 0: none does. */
  waits(bytes: number): void
  /** Sends a command of the client as it is. */
  relay(command: HeldCommand): void
  /** Sends `body` in place of a command's own; without a filter the client receives the reply as results. */
  send: (command: HeldCommand, body: Uint8Array, filter: ReplyFilter | undefined) => void
  /** Sends a question of the proxy; undefined: it has no reply. */
  ask: Ask
  /** Takes an error that is no client's fault. */
  report(error: unknown): void
  /** Replies to a command that is not sent. */
  answer(command: HeldCommand, error: MysqlError): void
  /** Replies with an error of the server. */
  answerWith(command: HeldCommand, packet: Buffer): void
}
