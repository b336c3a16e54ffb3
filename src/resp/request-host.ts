/** What the requests of all connections of a server share. */
import type { ClientSession, CommandContext } from '../commands/context.ts'
import type { CommandTable } from '../commands/table.ts'
import type { Totals } from '../listening/listener.ts'
import type { RequestFigures } from '../listening/request-figures.ts'
import type { TurnQueue } from '../listening/turns.ts'
import type { InPlace } from './in-place.ts'
import type { Output } from './output.ts'
import type { DecoderLimits } from './request-decoder.ts'

/**
 * The time of work that writes no reply, as the bytes of a reply that takes as long. `drawn`: for each id of a command
 * that draws many, an upper bound. `awaited`: for each argument of a command whose handler returns a promise. `command`:
 * for each run of a handler, beside the bytes of the request. `error`: for each error, in addition. `inline`:
 * for each byte of an inline command; words of one letter are the worst case.
 */
export const workBytes = Object.freeze({ drawn: 8, awaited: 256, command: 32, error: 256, inline: 16 })

/** What the requests of all connections share. */
export type RequestHost = {
  readonly table: CommandTable
  /** Undefined: every request is answered by its handler. */
  readonly inPlace: InPlace | undefined
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
