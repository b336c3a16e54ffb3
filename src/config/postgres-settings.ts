/** The settings of the PostgreSQL protocol. */

import { address, count, orOff, size } from './config-values.ts'
import {
  connectionSettings,
  idleSettings,
  listenerSettings,
  loginTimeout,
  pendingSettings,
  unreadSettings,
  unreadTotalSettings,
} from './listener-settings.ts'
import { setting } from './setting.ts'

/** The limits of the listener. */
export const postgresListener = listenerSettings('postgres', {
  messageMaxBytes: setting(size('16KiB', '64MiB'), 'longest message, so longest statement', '256KiB'),
  statementsMax: setting(count(1, 100_000), 'prepared statements of a connection', '1000'),
  ...unreadSettings('results', 'statements'),
  ...unreadTotalSettings(
    'results',
    'unread results, unfinished messages, prepared statements, portals and cursors',
  ),
  ...connectionSettings('a pool'),
  ...pendingSettings('logged in'),
  unauthenticatedTimeoutMs: loginTimeout('log in, the handshake of TLS included', '5s'),
  ...idleSettings,
})

/** By their names in code, in the order of help. */
export const postgresSettings = {
  postgres: setting(orOff(address), 'where PostgreSQL clients connect, to draw with nextval', 'off'),
  ...postgresListener.settings,
}
