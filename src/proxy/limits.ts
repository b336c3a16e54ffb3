/** Limits of the MySQL proxy. */
import type { LimitsOf } from '../config/listener-settings.ts'
import { proxyListener } from '../config/mysql-proxy-settings.ts'

/** What the connections of a proxy may take: the settings, and what no setting changes. */
export type ProxyLimits = LimitsOf<typeof proxyListener> & {
  /** The memory of the prepared statements of one connection that are filled in, in bytes. */
  readonly statementsBytesMax: number
  /** How long one side of a connection may stay open after the other has ended, in ms. */
  readonly lingerMs: number
}

/** The limits that are not configured otherwise. */
export const defaultLimits: ProxyLimits = Object.freeze({
  ...proxyListener.defaults,
  statementsBytesMax: 32 * 1_048_576,
  lingerMs: 5000,
})
