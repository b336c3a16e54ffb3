/** The settings of the MySQL proxy. */
import { type Address, addressText } from '../base/address.ts'
import {
  address,
  configError,
  count,
  duration,
  engineUrl,
  optional,
  orOff,
  size,
  text,
  type ValueType,
  words,
  wordsOf,
} from './config-values.ts'
import {
  connectionSettings,
  idleSettings,
  listenerSettings,
  loginTimeout,
  pendingSettings,
  unreadTotalSettings,
} from './listener-settings.ts'
import { setting } from './setting.ts'

/** The MySQL server behind the proxy. */
export type UpstreamUrl = {
  readonly address: Address
  /** Whether the proxy speaks TLS with the server. */
  readonly isTls: boolean
  /** The user that checks whether tables refuse rows without an id; undefined: no table is filled in. */
  readonly user?: string
  readonly password?: string
}

const defaultPort = 3306

/**
 * `mysql://USER:PASSWORD@HOST:PORT`, or `mysqls://…` with TLS. The user is the proxy's own, who looks at the filled tables. Users,
 * passwords and databases of clients are their own.
 */
export const upstreamUrl: ValueType<UpstreamUrl> = {
  read(given) {
    const [, scheme, login, place = '', more] =
      /^(mysqls?):\/\/(?:([^/?]*)@)?([^/?@]+)\/?(.*)$/.exec(given) ?? []
    if (scheme === undefined || more !== '') {
      throw configError(
        `${shown(given)} is no MySQL server; write mysql://USER:PASSWORD@HOST:PORT, or mysqls:// with TLS, without a database`,
      )
    }
    const hasPort = /:\d+$/.test(place) && !/^\[?[^\]]*:[^\]]*:[^\]]*$/.test(place)
    const text = hasPort ? place : `${place}:${defaultPort}`
    return { address: address.read(text), isTls: scheme === 'mysqls', ...loginOf(login) }
  },
  show: ({ address, isTls, user }) =>
    `mysql${isTls ? 's' : ''}://${user === undefined ? '' : `${encodeURIComponent(user)}@`}${addressText(address)}`,
  takes: 'URL',
}

/** The user and the password of a URL, in which other characters than letters and digits may be written as %40. */
function loginOf(login: string | undefined): Pick<UpstreamUrl, 'user' | 'password'> {
  if (login === undefined) return {}
  const [user = '', ...password] = login.split(':')
  try {
    return { user: decodeURIComponent(user), password: decodeURIComponent(password.join(':')) }
  } catch {
    throw configError('the user or the password of a URL has a % that begins no character; write it as %25')
  }
}

/** The URLs of the nodes of one service, each with its password hidden where it is shown. */
const serviceUrls: ValueType<readonly string[]> = {
  ...words('URL'),
  read(given) {
    const urls = wordsOf(given)
    if (urls.length === 0) throw configError("'' is no URL; write http://HOST:7380")
    return urls
  },
  show: (urls) => urls.map(engineUrl.show).join(' '),
}

/** An address with a password in it is not repeated. */
function shown(given: string): string {
  return given.includes('@') ? 'a URL with a user' : `'${given.slice(0, 60)}'`
}

/** The limits of the listener. */
export const proxyListener = listenerSettings('proxy', {
  ...connectionSettings('a load balancer'),
  ...pendingSettings('logged in'),
  loginTimeoutMs: loginTimeout('log in, the connection to the server included', '10s'),
  ...unreadTotalSettings(
    'results',
    'unread results, held statements and prepared statements',
    'the proxy drops the client that has read nothing for the longest time',
    ['24h', '10m'],
  ),
  statementMaxBytes: setting(
    size('1MiB', '1GiB'),
    'longest statement into which ids are filled; a longer one passes as it came',
    '16MiB',
  ),
  statementsMax: setting(
    count(1, 1_000_000),
    'prepared statements of one connection that are filled in',
    '16384',
  ),
  idTimeoutMs: setting(
    duration('100ms', '10m'),
    'how long an INSERT waits for its ids before its client gets an error that it may retry',
    '5s',
  ),
  ...idleSettings,
})

/** The settings of the group. */
export const mysqlProxySettings = {
  mysqlProxy: setting(
    orOff(address),
    'where clients of MySQL connect, whose connections go on to upstream',
    'off',
  ),
  upstream: setting(
    optional(upstreamUrl),
    'the MySQL or MariaDB server behind the proxy: mysql://USER:PASSWORD@HOST, or mysqls:// with TLS; that user looks whether the tables of `table` refuse rows without an id',
  ),
  table: setting(
    words('DATABASE.TABLE.COLUMN=GENERATOR'),
    'a column whose ids are filled in where an INSERT gives none, such as shop.orders.id=order; repeatable',
  ),
  mysqlProxyUser: setting(
    optional(text('NAME')),
    'the user of Fahao with whose permissions the proxy takes ids; the users of MySQL are others. `fahao proxy` logs in as that user, with its password in FAHAO_PASSWORD',
  ),
  proxyUrl: setting(
    serviceUrls,
    '`fahao proxy`: the server that its ids come from, over HTTP or RESP; of several nodes of one service the URL of each, which are tried in turn; repeatable. `fahao serve` is that server itself',
    'http://127.0.0.1:7380',
  ),
  proxyTokenFile: setting(
    optional(text('FILE')),
    '`fahao proxy`: a file with a token for that server, instead of a user; or give the token in FAHAO_TOKEN',
  ),
  proxyCa: setting(
    optional(text('FILE')),
    '`fahao proxy`: the authority that signed the certificate of that server, in PEM',
  ),
  proxyCert: setting(
    optional(text('FILE')),
    '`fahao proxy`: the certificate to present to that server, in PEM, if it asks for one',
  ),
  proxyKey: setting(optional(text('FILE')), '`fahao proxy`: the private key of proxy-cert, in PEM'),
  proxyMetrics: setting(
    orOff(address),
    '`fahao proxy`: where /metrics and /healthz are served. `fahao serve` has them where http is',
    'off',
  ),
  upstreamCa: setting(
    optional(text('FILE')),
    "the authorities that sign the certificate of upstream, in PEM; default: the system's",
  ),
  ...proxyListener.settings,
}
