/**
 * Every setting of a node in one schema, the source of flags, environment variables, keys of the file, defaults,
 * CONFIG GET and the reference page. A key is the property's name in code, with its unit last. Its written name has no
 * unit and has hyphens: `leadMaxMs` is `lead-max`, --lead-max, FAHAO_LEAD_MAX.
 */
import { z } from 'zod'
import { describe, FahaoError } from '../base/errors.ts'
import type { GeneratorInput } from '../catalogue/options.ts'
import { shardsMax } from '../cluster/slots.ts'
import { compatApis, compatListeners, tokenRules } from './compat-settings.ts'
import {
  address,
  aSwitch,
  autoCreateRules,
  count,
  duration,
  oneOf,
  optional,
  orOff,
  size,
  text,
  type ValueType,
  whole,
  words,
  workerStrategy,
} from './config-values.ts'

/** Headings of the settings in help and on the reference page. */
export const settingGroups = ['Basics', 'Cluster', 'Issuing', 'Requests', 'RESP', 'HTTP'] as const

/** The description of a setting, besides its schema. */
type About = {
  readonly group: (typeof settingGroups)[number]
  /** One line, for help and the reference page. */
  readonly meaning: string
  /** The default in its written form; empty: none. */
  readonly defaultText: string
  readonly type: ValueType<unknown>
}

/** The engine unless another one is configured. */
export const defaultEngine = 'sqlite:./data/fahao.db'

const abouts = z.registry<About>()

/** Every setting, in the order of help. */
export const settingsSchema = z.object({
  engine: setting(
    'Basics',
    text('URL'),
    defaultEngine,
    'where bounds are kept: sqlite:FILE; mysql://, postgres:// or etcd:// for several nodes; memory: for tests (nothing is kept)',
  ),
  resp: setting('Basics', orOff(address), '127.0.0.1:7379', 'where Redis clients connect'),
  http: setting('Basics', orOff(address), '127.0.0.1:7380', 'where HTTP is served'),
  insecure: setting(
    'Basics',
    aSwitch,
    'off',
    'allow addresses that other machines can reach, although there is no login',
  ),
  unsafeEngine: setting(
    'Basics',
    aSwitch,
    'off',
    'start on a server whose settings may lose acknowledged writes in a crash, or on an SQLite store that several machines can mount',
  ),
  requireStore: setting(
    'Basics',
    aSwitch,
    'off',
    'refuse to start without an existing store, such as behind a mistyped engine, instead of making an empty one',
  ),
  autoCreate: setting(
    'Basics',
    autoCreateRules,
    '',
    "create an unknown generator when its name matches, such as 'order:*=sequence'; repeatable",
  ),
  logLevel: setting(
    'Basics',
    oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    'info',
    'the lowest level that is logged',
  ),

  cluster: setting(
    'Cluster',
    optional(text('NAME')),
    '',
    'join the cluster of this name: nodes on one engine, of which one at a time leads each strict generator',
  ),
  shards: setting(
    'Cluster',
    optional(count(1, shardsMax)),
    '',
    'number of parts into which leadership is split; the first node fixes it, 16 unless given',
  ),
  leaseTtlMs: setting(
    'Cluster',
    optional(duration('100ms', '10m')),
    '',
    'how long a node may go without renewing its lease before other nodes take over its shards; the first node fixes it, 3s unless given',
  ),
  leaderWaitMs: setting(
    'Cluster',
    optional(duration('0s', '10m')),
    '',
    'how long a request waits for a leader before CLUSTERDOWN; default: as long as a take-over lasts (4.8s with a lease of 3s), at most 10s',
  ),
  announce: setting(
    'Cluster',
    optional(address),
    '',
    'where clients and other nodes reach RESP here; default: the address of resp',
  ),
  announceHttp: setting(
    'Cluster',
    optional(address),
    '',
    'where other nodes reach HTTP here; default: the address of http',
  ),
  forward: setting(
    'Cluster',
    aSwitch,
    'off',
    'forward RESP requests for generators of other leaders, instead of answering MOVED',
  ),

  workerId: setting(
    'Issuing',
    workerStrategy,
    'pool',
    'the node part of snowflakes: pool, static:N, env:NAME, hostname, ordinal, ip-low-bits, ip-sum',
  ),
  nodeIndex: setting('Issuing', optional(count(0, 999_999_999)), '', 'this node in formats with {node}'),
  leadMs: setting(
    'Issuing',
    optional(duration('1s', '24h')),
    '',
    'time that snowflakes reserve ahead, and for which they continue without the engine; default 10m, or 10s with a fixed --worker-id',
  ),
  leadMaxMs: setting(
    'Issuing',
    duration('1s', '365d'),
    '1h',
    'a clock that jumps further ahead is followed only after it has stayed there for 5s',
  ),
  callTimeoutMs: setting('Issuing', duration('10ms', '10m'), '5s', 'how long a call to the engine may take'),
  failoverGap: setting(
    'Issuing',
    whole(0n, 10n ** 18n),
    '0',
    'raise every bound by this much at once when the engine has forgotten writes; 0: stop reserving until `fahao advance` is run',
  ),
  waitersMax: setting('Issuing', count(1, 10_000_000), '100000', 'requests that may wait for ids at once'),
  shutdownTimeoutMs: setting(
    'Issuing',
    duration('0s', '10m'),
    '10s',
    'how long a stop may take to answer what is under way',
  ),

  countMax: setting('Requests', count(1, 1_000_000), '100000', 'ids that one request may ask for'),
  incrbyMax: setting('Requests', whole(1n, 10n ** 18n), '1000000000000', 'largest step of INCRBY'),
  roundingGuard: setting(
    'Requests',
    oneOf(['strict', 'known', 'off'], { on: 'strict', true: 'strict', false: 'off' }),
    'strict',
    'clients that get no integers above 2^53−1: strict: all except libraries that are known to read them exactly; known: only libraries that are known to round them; off: none',
  ),

  respInlineMaxBytes: setting('RESP', size('1KiB', '1MiB'), '64KiB', 'longest line of an inline command'),
  respBulkMaxBytes: setting('RESP', size('1KiB', '512MiB'), '64KiB', 'longest argument'),
  respRequestMaxBytes: setting('RESP', size('16KiB', '1GiB'), '1MiB', 'longest request'),
  respArgumentsMax: setting('RESP', count(16, 1_048_576), '1024', 'arguments in a command'),
  respUnreadMaxBytes: setting(
    'RESP',
    size('64KiB', '1GiB'),
    '1MiB',
    'unread replies of one client; above this the server does not read its requests',
  ),
  respUnreadTimeoutMs: setting(
    'RESP',
    duration('1s', '1h'),
    '30s',
    'how long a client may leave replies unread before it is dropped',
  ),
  respUnreadTotalMaxBytes: setting(
    'RESP',
    size('1MiB', '64GiB'),
    '256MiB',
    'unread replies of all clients together; above this the server drops the client that has read nothing for the longest time',
  ),
  respConnectionsMax: setting('RESP', count(1, 1_000_000), '10000', 'connections at once'),
  respIdleTimeoutMs: setting(
    'RESP',
    orOff(duration('1s', '24d')),
    'off',
    'close connections that have been silent for this long',
  ),

  httpNames: setting(
    'HTTP',
    words('NAME'),
    '',
    'further names under which HTTP is reached, as a proxy passes them in Host; repeatable',
  ),
  httpConnectionsMax: setting('HTTP', count(1, 1_000_000), '10000', 'connections at once'),
  httpBodyMaxBytes: setting('HTTP', size('1KiB', '64MiB'), '64KiB', 'longest body of a request'),
  httpHeaderMaxBytes: setting('HTTP', size('1KiB', '1MiB'), '16KiB', 'longest headers of a request'),
  httpRequestTimeoutMs: setting(
    'HTTP',
    duration('100ms', '10m'),
    '10s',
    'how long a client may take to send a request',
  ),
  httpUnreadTimeoutMs: setting(
    'HTTP',
    duration('1s', '1h'),
    '30s',
    'how long a client may leave an answer unread before it is dropped',
  ),
  httpUnreadTotalMaxBytes: setting(
    'HTTP',
    size('1MiB', '64GiB'),
    '256MiB',
    'unread answers of all clients together; above this the server drops one of these clients',
  ),
  compat: setting(
    'HTTP',
    compatApis,
    '',
    'serve the APIs of these as well, on the same port: leaf, idbuilder, tinyid; repeatable',
  ),
  compatHttp: setting(
    'HTTP',
    compatListeners,
    '',
    'serve one of these APIs on a port of its own, such as leaf=127.0.0.1:8080; repeatable',
  ),
  tinyidTokens: setting(
    'HTTP',
    tokenRules,
    '',
    "tokens of tinyid's API and the generators that each may use, beside the tokens in the store; repeatable",
  ),
  metricsSeriesMax: setting(
    'HTTP',
    count(0, 100_000),
    '200',
    'generators with series of their own in /metrics; the others are summed',
  ),
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
  /** `lead-max`: the name in the file, in CONFIG GET, and after the dashes of the flag. */
  readonly name: string
  /** `FAHAO_LEAD_MAX`. */
  readonly variable: string
}

/** Every setting, in the order of help. */
export const settings: readonly Setting[] = Object.freeze(
  (Object.keys(settingsSchema.shape) as SettingKey[]).map((key) => {
    const name = nameOf(key)
    return Object.freeze({ ...abouts.get(settingsSchema.shape[key])!, key, name, variable: variableOf(name) })
  }),
)

/** `lead-max` → `FAHAO_LEAD_MAX`. */
export function variableOf(name: string): string {
  return `FAHAO_${name.toUpperCase().replaceAll('-', '_')}`
}

function nameOf(key: string): string {
  return hyphenated(key.replace(/(?:Ms|Bytes)$/, ''))
}

/** `leadMax` → `lead-max`. */
export function hyphenated(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** @param defaultText the default in its written form; empty: none. */
function setting<Value>(
  group: About['group'],
  type: ValueType<Value>,
  defaultText: string,
  meaning: string,
): z.ZodType<Value> {
  const one = [z.string(), z.number(), z.bigint(), z.boolean()]
  const given = type.list
    ? z.union([...one, z.array(z.string())], { error: 'wants one text, or a list of texts' })
    : z.union(one, { error: 'wants a single value' })
  // A prefault applies before the parse: a default after the parse would also replace `off`.
  return given
    .prefault(defaultText)
    .transform((value, context) => {
      try {
        return type.read([value].flat().join(' '))
      } catch (error) {
        context.addIssue(error instanceof FahaoError ? error.message : describe(error))
        return z.NEVER
      }
    })
    .register(abouts, { group, meaning, defaultText, type: type as ValueType<unknown> })
}
