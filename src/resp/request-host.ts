/** What the requests of all connections of a server share. */
import type { ClientSession, CommandContext } from '../commands/context.ts'
import type { CommandTable } from '../commands/table.ts'
import type { Totals } from '../listening/listener.ts'
import type { RequestFigures } from '../listening/request-figures.ts'
import type { TurnQueue } from '../listening/turns.ts'
import type { Output } from './output.ts'
import type { RequestCache } from './request-cache.ts'
import type { DecoderLimits } from './request-decoder.ts'

/**
 * How long work takes that is no reply, as the bytes of a reply that takes as long. `drawn`: an id of many, at most. `awaited`: an
 * argument of a command that returns a promise. `command`: any command, at least. `error`: an error, in addition. `inline`: a
 * byte of an inline command, whose words are one letter each at worst.
 */
export const workBytes = Object.freeze({ drawn: 8, awaited: 256, command: 32, error: 256, inline: 16 })

/** What the requests of all connections share. */
export type RequestHost = {
  readonly table: CommandTable
  readonly cache: RequestCache
  /** In force for users, and for clients that must authenticate first. */
  readonly userLimits: DecoderLimits
  readonly unauthenticatedLimits: DecoderLimits
  readonly output: Output
  readonly turns: TurnQueue
  readonly totals: Totals
  readonly figures: RequestFigures
  /** Called before requests are carried out, in every callback. */
  readonly mayIssue: () => boolean
  context(session: ClientSession): CommandContext
  /** Called with errors of a handler that are not a FahaoError. */
  onError(error: unknown, session?: ClientSession): void
}
