/** The settings of RESP. */

import { count, size } from './config-values.ts'
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
export const respListener = listenerSettings('resp', {
  inlineMaxBytes: setting(size('1KiB', '1MiB'), 'longest line of an inline command', '64KiB'),
  bulkMaxBytes: setting(size('1KiB', '512MiB'), 'longest argument', '64KiB'),
  requestMaxBytes: setting(size('16KiB', '1GiB'), 'longest request', '1MiB'),
  argumentsMax: setting(count(16, 1_048_576), 'arguments in a command', '1024'),
  transactionMaxBytes: setting(
    size('16KiB', '1GiB'),
    'requests that a client may queue between MULTI and EXEC',
    '1MiB',
  ),
  transactionRequestsMax: setting(count(16, 1_048_576), 'the same, in requests', '65536'),
  ...unreadSettings('replies', 'requests'),
  ...unreadTotalSettings('replies', 'unread replies and unfinished requests'),
  ...connectionSettings('a load balancer'),
  ...pendingSettings('authenticated'),
  unauthenticatedArgumentsMax: setting(count(8, 1024), 'arguments in a command before AUTH', '10'),
  unauthenticatedMaxBytes: setting(
    size('1KiB', '1MiB'),
    'longest argument before AUTH, and most unread replies; a request may be twice as long',
    '16KiB',
  ),
  unauthenticatedTimeoutMs: loginTimeout('authenticate', '5s'),
  ...idleSettings,
})
