/**
 * Every setting of a node in one schema, the source of flags, environment variables, keys of the file, defaults,
 * CONFIG GET and the reference page. A key is the property's name in code, with its unit last. Its written name has no
 * unit and has hyphens: `leadMaxMs` is `lead-max`, --lead-max, FAHAO_LEAD_MAX.
 */
import { z } from 'zod'
import type { GeneratorInput } from '../catalogue/generator-options.ts'
import { shardsMax } from '../cluster/slots.ts'
import { compatApis, compatListeners, compatUsers, tokenRules } from './compat-settings.ts'
import {
  address,
  aSwitch,
  count,
  duration,
  engineUrl,
  nodeIndex,
  oneOf,
  optional,
  origins,
  orOff,
  size,
  someOf,
  text,
  whole,
  words,
  workerStrategy,
} from './config-values.ts'
import { autoCreateRules } from './creation-rules.ts'
import { connectionSettings, listenerSettings, unreadTotalSettings } from './listener-settings.ts'
import { mysqlProxySettings } from './mysql-proxy-settings.ts'
import { postgresSettings } from './postgres-settings.ts'
import { respListener } from './resp-settings.ts'
import { type About, abouts, setting } from './setting.ts'
import { defaultCiphers, tlsCiphers, tlsProtocols } from './tls-suites.ts'

/** The engine unless another one is configured. */
export const defaultEngine = 'sqlite:./data/fahao.db'

/** The listeners that TLS can be set up for. */
const tlsListeners = ['resp', 'http', 'postgres', 'mysql-proxy'] as const

/** The limits of HTTP. */
export const httpListener = listenerSettings('http', {
  ...connectionSettings('a proxy'),
  bodyMaxBytes: setting(size('1KiB', '64MiB'), 'longest body of a request', '64KiB'),
  headerMaxBytes: setting(size('1KiB', '1MiB'), 'longest headers of a request', '8KiB'),
  requestTimeoutMs: setting(duration('100ms', '10m'), 'how long a client may take to send a request', '10s'),
  ...unreadTotalSettings(
    'an answer',
    'unread answers and long bodies',
    'the server drops one of these clients',
  ),
})

/** Every setting by group, in the order of help. */
const groups = {
  Basics: {
    engine: setting(
      engineUrl,
      'where bounds are kept: sqlite:FILE; mysql://, postgres:// or etcd:// for several nodes; memory: for tests (nothing is kept)',
      defaultEngine,
    ),
    resp: setting(orOff(address), 'where Redis clients connect', '127.0.0.1:7379'),
    http: setting(orOff(address), 'where HTTP is served', '127.0.0.1:7380'),
    insecure: setting(
      aSwitch,
      'allow addresses that other machines can reach although there are no users and so there is no login',
      'off',
    ),
    unsafeEngine: setting(
      aSwitch,
      'start on a server whose settings may lose acknowledged writes in a crash, or on an SQLite store that several machines can mount',
      'off',
    ),
    requireStore: setting(
      aSwitch,
      'refuse to start without an existing store, such as behind a mistyped engine, instead of making an empty one',
      'off',
    ),
    autoCreate: setting(
      autoCreateRules,
      "create an unknown generator when its name matches, such as 'order:*=sequence', or with options 'a:*=segment,step=1'; repeatable",
    ),
    generatorsMax: setting(
      optional(count(1, 1_000_000_000)),
      'generators that there may be for a client to create another one, as by auto-create; see also ID.NAMESPACE GENERATORS',
    ),
    familyNamesMax: setting(
      count(1000, 50_000_000),
      'names of families that are in memory at most, at some 100 bytes each; beyond that, those not used lately give way, and go on higher',
      '1000000',
    ),
    logLevel: setting(
      oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
      'the lowest level that is logged',
      'info',
    ),
    auditMax: setting(
      count(64, 1_000_000),
      'entries that the audit trail keeps: so many of changes of administrators, of changes of other users, of logins, and of refused requests',
      '4000',
    ),
  },
  Access: {
    usersGraceMs: setting(
      duration('1m', '365d'),
      'how long users can log in while the engine is away, by what this node knows of them',
      '1d',
    ),
  },
  Cluster: {
    cluster: setting(
      optional(text('NAME')),
      'join the cluster of this name: nodes on one engine, of which one at a time leads each strict generator',
    ),
    shards: setting(
      optional(count(1, shardsMax)),
      'number of parts into which leadership is split; the first node fixes it, 16 unless given',
    ),
    leaseTtlMs: setting(
      optional(duration('100ms', '10m')),
      'how long a node may go without renewing its lease before other nodes take over its shards; the first node fixes it, 3s unless given',
    ),
    leaderWaitMs: setting(
      optional(duration('0s', '10m')),
      'how long a request waits for a leader before CLUSTERDOWN; default: as long as a take-over lasts (4.8s with a lease of 3s), at most 10s',
    ),
    announce: setting(
      optional(address),
      'where clients and other nodes reach RESP here; default: the address of resp',
    ),
    announceHttp: setting(
      optional(address),
      'where other nodes reach HTTP here; default: the address of http',
    ),
    forward: setting(
      aSwitch,
      'forward RESP requests for generators of other leaders, instead of answering MOVED',
      'off',
    ),
  },
  Issuing: {
    workerId: setting(
      workerStrategy,
      'the node part of snowflakes: pool, static:N, env:NAME, hostname, ordinal, ip-low-bits, ip-sum, ipv6-low-bits, ipv6-sum',
      'pool',
    ),
    nodeIndex: setting(
      optional(nodeIndex),
      'this node in formats with {node}; of one width on all nodes, with zeros in front: 01 to 12',
    ),
    leadMs: setting(
      optional(duration('1s', '24h')),
      'time that snowflakes reserve ahead, and for which they continue without the engine; default 10m, or 2m with a fixed --worker-id, whose ids may then be 2.5m ahead of the clock after a kill',
    ),
    leadMaxMs: setting(
      duration('1s', '365d'),
      'a clock that jumps further ahead is followed only after it has stayed there for 5s',
      '1h',
    ),
    callTimeoutMs: setting(duration('10ms', '10m'), 'how long a call to the engine may take', '5s'),
    failoverGap: setting(
      whole(0n, 10n ** 18n),
      'raise every bound by this much at once when the engine has forgotten writes; 0: stop reserving until `fahao advance` is run',
      '0',
    ),
    idleAfterMs: setting(
      orOff(duration('1s', '365d')),
      'a generator leaves memory, and gives back the ids that it holds, when nothing was asked of it for this time; those with a step of their own or of the clock stay while fewer than 10,000 are in use',
      '10m',
    ),
    waitersMax: setting(count(1, 10_000_000), 'requests that may wait for ids at once', '100000'),
    shutdownTimeoutMs: setting(
      duration('0s', '10m'),
      'how long a stop may take to answer what is under way',
      '10s',
    ),
  },
  Requests: {
    listenBacklog: setting(
      count(1, 65_535),
      'connections of each port that the kernel holds until they are accepted; Linux holds at most net.core.somaxconn',
      '4096',
    ),
    countMax: setting(count(1, 1_000_000), 'ids that one request may ask for', '100000'),
    incrbyMax: setting(
      whole(1n, 10n ** 18n),
      'largest step of INCRBY, and most ids as ranges or runs',
      '1000000000000',
    ),
    roundingGuard: setting(
      oneOf(['strict', 'known', 'off'], { on: 'strict', true: 'strict', false: 'off' }),
      'clients that get no integers above 2^53−1: strict: all except libraries that are known to read them exactly; known: only libraries that are known to round them; off: none',
      'strict',
    ),
  },
  RESP: respListener.settings,
  HTTP: {
    httpNames: setting(
      words('NAME'),
      'further names under which HTTP is reached, as a proxy passes them in Host; repeatable',
    ),
    httpOrigins: setting(
      origins,
      'origins whose web pages may use HTTP, such as https://console.example.org; repeatable',
    ),
    ...httpListener.settings,
    compat: setting(
      compatApis,
      'serve the APIs of these as well, on the same port: leaf, idbuilder, tinyid, cosid; repeatable',
    ),
    compatHttp: setting(
      compatListeners,
      'serve one of these APIs on a port of its own, such as leaf=127.0.0.1:8080; repeatable',
    ),
    compatUser: setting(
      compatUsers,
      'the user of requests without credentials to one of these APIs, such as leaf=alice; repeatable',
    ),
    tinyidTokens: setting(
      tokenRules,
      "tokens of tinyid's API and the generators that each may use, beside the tokens in the store; repeatable",
    ),
    metricsSeriesMax: setting(
      count(0, 5000),
      'busy generators with series of their own in /metrics, and as many in need; the others are summed',
      '200',
    ),
  },
  PostgreSQL: postgresSettings,
  'MySQL proxy': mysqlProxySettings,
  TLS: {
    tlsCert: setting(
      optional(text('FILE')),
      'the certificate of this server and its chain, in PEM; clients then connect with TLS, and only with it',
    ),
    tlsKey: setting(optional(text('FILE')), 'the private key of tls-cert, in PEM'),
    tlsCa: setting(
      optional(text('FILE')),
      "the authorities that sign the certificates of clients and of other nodes, in PEM; default: the system's, for other nodes only",
    ),
    tlsClientAuth: setting(
      oneOf(['off', 'optional', 'required']),
      'certificates of clients: off: not asked for; optional: checked if presented; required: no connection without one',
      'off',
    ),
    tlsProtocols: setting(
      tlsProtocols,
      'the versions of TLS that are spoken with clients and other nodes; repeatable',
      'TLSv1.2 TLSv1.3',
    ),
    tlsCiphers: setting(
      tlsCiphers,
      'the suites of TLS 1.2 that are offered, as a list of OpenSSL; those of TLS 1.3 are always offered; repeatable',
      defaultCiphers,
    ),
    tlsOn: setting(someOf(tlsListeners), 'the listeners that speak TLS; repeatable', tlsListeners.join(' ')),
    tlsHandshakeTimeoutMs: setting(
      duration('100ms', '1m'),
      'how long a client may take for its handshake',
      '5s',
    ),
  },
}

/** The schema of every setting. */
export const settingsSchema = z.object({
  ...groups.Basics,
  ...groups.Access,
  ...groups.Cluster,
  ...groups.Issuing,
  ...groups.Requests,
  ...groups.RESP,
  ...groups.HTTP,
  ...groups.PostgreSQL,
  ...groups['MySQL proxy'],
  ...groups.TLS,
})

/** The value of every setting, as read. */
export type Settings = z.output<typeof settingsSchema>

/** A checked, frozen configuration. Each setting is documented in docs/reference/configuration.md. */
export type Config = Readonly<Omit<Settings, 'leadMs'>> & {
  /** Time that snowflakes reserve ahead, in ms. */
  readonly leadMs: number
  /** Generators that must exist, in the order of the file. */
  readonly generators: readonly (readonly [name: string, options: GeneratorInput])[]
}

/** Where a setting's value comes from: `--resp`, `FAHAO_RESP`, `fahao.yaml:3:1`, `default`. */
export type Sources = Readonly<Record<SettingKey, string>>

/** A setting's name in code. */
export type SettingKey = keyof typeof settingsSchema.shape

/** A setting with its names. */
export type Setting = About & {
  readonly key: SettingKey
  /** The heading of the setting in help and on the reference page. */
  readonly group: string
  /** `lead-max`: the name in the file, in CONFIG GET, and after the dashes of the flag. */
  readonly name: string
  /** `FAHAO_LEAD_MAX`. */
  readonly variable: string
}

/** Every setting, in the order of help. */
export const settings: readonly Setting[] = Object.freeze(
  Object.entries(groups).flatMap(([group, shape]) =>
    (Object.entries(shape) as [SettingKey, z.ZodType][]).map(([key, schema]) => {
      const name = hyphenated(key.replace(/(?:Ms|Bytes)$/, ''))
      return Object.freeze({ ...abouts.get(schema)!, key, group, name, variable: variableOf(name) })
    }),
  ),
)

/** `lead-max` → `FAHAO_LEAD_MAX`. */
export function variableOf(name: string): string {
  return `FAHAO_${name.toUpperCase().replaceAll('-', '_')}`
}

/** `leadMax` → `lead-max`. */
export function hyphenated(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
