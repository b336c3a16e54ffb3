/** The settings of the PostgreSQL protocol. */
import { address, count, duration, orOff, size } from './config-values.ts'
import { setting } from './setting.ts'

/** By their names in code, in the order of help. */
export const postgresSettings = {
  postgres: setting(orOff(address), 'where PostgreSQL clients connect, to draw with nextval', 'off'),
  postgresMessageMaxBytes: setting(size('16KiB', '64MiB'), 'longest message, so longest statement', '256KiB'),
  postgresStatementsMax: setting(count(1, 100_000), 'prepared statements of a connection', '1000'),
  postgresUnreadMaxBytes: setting(
    size('64KiB', '1GiB'),
    'unread results of one client; above this the server does not read its statements',
    '1MiB',
  ),
  postgresUnreadTimeoutMs: setting(
    duration('1s', '1h'),
    'how long a client may leave results unread before it is dropped',
    '30s',
  ),
  postgresUnreadTotalMaxBytes: setting(
    size('1MiB', '64GiB'),
    'unread results, unfinished messages, prepared statements, portals and cursors of all clients together; above this the server drops the client that has read nothing for the longest time',
    '256MiB',
  ),
  postgresConnectionsMax: setting(count(1, 1_000_000), 'connections at once', '10000'),
  postgresConnectionsPerAddressMax: setting(
    orOff(count(1, 1_000_000)),
    'connections at once from one IPv4 address or one /64 of IPv6; off where clients share an address, as behind a pool',
    'off',
  ),
  postgresUnauthenticatedConnectionsMax: setting(
    count(1, 1_000_000),
    'connections at once that have not logged in; a new one takes the place of the oldest of them',
    '1000',
  ),
  postgresUnauthenticatedTimeoutMs: setting(
    duration('100ms', '10m'),
    'how long a client may take to log in, the handshake of TLS included',
    '5s',
  ),
  postgresIdleTimeoutMs: setting(
    orOff(duration('1s', '24d')),
    'close connections that have been silent for this long',
    'off',
  ),
}
