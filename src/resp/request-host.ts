/** What the requests of all connections of a server share. */
import type { ClientSession, CommandContext } from '../commands/context.ts'
import type { CommandTable } from '../commands/table.ts'
import type { Turns } from '../node/turns.ts'
import type { DecoderLimits } from './decoder.ts'
import type { Output } from './output.ts'
import type { RequestCache } from './request-cache.ts'

/** Sums over all connections. */
export type Totals = {
  commands: number
  bytesIn: number
  bytesOut: number
}

/** What the requests of all connections share. */
export type RequestHost = {
  readonly table: CommandTable
  readonly cache: RequestCache
  /** In force for users, and for clients that must authenticate first. */
  readonly userLimits: DecoderLimits
  readonly unauthenticatedLimits: DecoderLimits
  readonly output: Output
  readonly turns: Turns
  readonly totals: Totals
  context(session: ClientSession): CommandContext
  /** Called with errors of a handler that are not a FahaoError. */
  onError(error: unknown, session?: ClientSession): void
}
