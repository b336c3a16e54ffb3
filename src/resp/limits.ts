/**
 * What one RESP connection, and all of them together, may use. `connection.ts` bounds the unread replies of one connection,
 * `listening/unread-budget.ts` those of all.
 */
import type { LimitsOf } from '../config/listener-settings.ts'
import { respListener } from '../config/resp-settings.ts'

/** Limits of the RESP server: the settings, and what no setting changes. */
export type RespLimits = LimitsOf<typeof respListener> & {
  /** Requests received while a command of the same connection waits, in bytes, before reading pauses. */
  readonly queuedMaxBytes: number
  /** How long the client may take to close its end after this server has closed its own, in ms. */
  readonly lingerMs: number
}

/** The limits unless configured. */
export const defaultLimits: RespLimits = Object.freeze({
  ...respListener.defaults,
  queuedMaxBytes: 65_536,
  lingerMs: 1000,
})
