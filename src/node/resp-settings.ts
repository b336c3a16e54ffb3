/** The settings of RESP. */
import { count, duration, orOff, size } from './config-values.ts'
import { setting } from './setting.ts'

/** By their names in code, in the order of help. */
export const respSettings = {
  respInlineMaxBytes: setting(size('1KiB', '1MiB'), 'longest line of an inline command', '64KiB'),
  respBulkMaxBytes: setting(size('1KiB', '512MiB'), 'longest argument', '64KiB'),
  respRequestMaxBytes: setting(size('16KiB', '1GiB'), 'longest request', '1MiB'),
  respArgumentsMax: setting(count(16, 1_048_576), 'arguments in a command', '1024'),
  respTransactionMaxBytes: setting(
    size('16KiB', '1GiB'),
    'requests that a client may queue between MULTI and EXEC',
    '1MiB',
  ),
  respTransactionRequestsMax: setting(count(16, 1_048_576), 'the same, in requests', '65536'),
  respUnreadMaxBytes: setting(
    size('64KiB', '1GiB'),
    'unread replies of one client; above this the server does not read its requests',
    '1MiB',
  ),
  respUnreadTimeoutMs: setting(
    duration('1s', '1h'),
    'how long a client may leave replies unread before it is dropped',
    '30s',
  ),
  respUnreadTotalMaxBytes: setting(
    size('1MiB', '64GiB'),
    'unread replies and unfinished requests of all clients together; above this the server drops the client that has read nothing for the longest time',
    '256MiB',
  ),
  respConnectionsMax: setting(count(1, 1_000_000), 'connections at once', '10000'),
  respConnectionsPerAddressMax: setting(
    orOff(count(1, 1_000_000)),
    'connections at once from one IPv4 address or one /64 of IPv6; off where clients share an address, as behind a load balancer',
    'off',
  ),
  respUnauthenticatedConnectionsMax: setting(
    count(1, 1_000_000),
    'connections at once that have not authenticated; a new one takes the place of the oldest of them',
    '1000',
  ),
  respUnauthenticatedArgumentsMax: setting(count(8, 1024), 'arguments in a command before AUTH', '10'),
  respUnauthenticatedMaxBytes: setting(
    size('1KiB', '1MiB'),
    'longest argument before AUTH, and most unread replies; a request may be twice as long',
    '16KiB',
  ),
  respUnauthenticatedTimeoutMs: setting(
    duration('100ms', '10m'),
    'how long a client may take to authenticate',
    '5s',
  ),
  respIdleTimeoutMs: setting(
    orOff(duration('1s', '24d')),
    'close connections that have been silent for this long',
    'off',
  ),
}
