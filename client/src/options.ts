/** Options of a client, and the settings that they and the URLs make. */
import { FahaoError } from '../../src/base/errors.ts'
import { type ClientEvent, withoutErrors } from './events.ts'

/** Options of `connect`. */
export type ClientOptions = {
  /** The user to log in as. Default: the one in the URL. */
  readonly username?: string
  /** The user's password. Default: the one in the URL. */
  readonly password?: string
  /** A token instead of a password. Over RESP it needs `username`, the token's user. */
  readonly token?: string
  /** TLS of `rediss:` URLs, as `node:tls` takes it: `ca`, `cert`, `key`, `servername`, … */
  readonly tls?: Readonly<Record<string, unknown>>
  /** How long `connect` tries to reach a node, in ms. Default 3,000. */
  readonly connectTimeoutMs?: number
  /**
   * Connect at the first request of a generator, and resolve at once: for programs that may start before the service. Wrong
   * credentials are an error of that request then. Default: false.
   */
  readonly lazyConnect?: boolean
  /** How long a call waits for the service at most, with all its retries, in ms. Default 10,000. */
  readonly timeoutMs?: number
  /** How long one request waits for the answer of one node, in ms. Default 3,000. */
  readonly attemptTimeoutMs?: number
  /**
   * How long ids should last without the service, in ms, at the present rate. Default 60,000, at most 450,000: the service
   * leases for twice that. Alterations and drops of a generator reach this process within twice that time.
   */
  readonly horizonMs?: number
  /** A name of this process for lists of leases: a host, a service. */
  readonly holder?: string
  /** Receives events for a log. What it throws, or its promise rejects with, is ignored. */
  readonly onEvent?: (event: ClientEvent) => void
  /** Replaces the `fetch` of this runtime for `http:` and `https:` URLs. */
  readonly fetch?: typeof fetch
}

/** Options with every default in place. */
export type Settings = {
  readonly username: string | undefined
  /** A password, or a token over RESP. */
  readonly password: string | undefined
  readonly token: string | undefined
  readonly tls: Readonly<Record<string, unknown>> | undefined
  readonly connectTimeoutMs: number
  readonly lazyConnect: boolean
  readonly timeoutMs: number
  readonly attemptTimeoutMs: number
  readonly horizonMs: number
  readonly holder: string | undefined
  readonly onEvent: (event: ClientEvent) => void
  readonly fetch: typeof fetch
}

/** How a node is spoken to. */
export type Protocol = 'redis:' | 'rediss:' | 'http:' | 'https:'

const protocols: readonly string[] = ['redis:', 'rediss:', 'http:', 'https:'] satisfies Protocol[]

/** The most nodes of a client. With more, it would rarely ask one of them, and know little of its state. */
const nodesMax = 100

/** Half of the longest lease: a renewal is due when that much is left. */
const horizonMaxMs = 450_000

/** Checks the URLs of nodes, which have one protocol. Throws ERR. */
export function parseUrls(given: string | readonly string[]): URL[] {
  const texts = typeof given === 'string' ? [given] : given
  // A program without types may have read an unset variable.
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string'))
    throw new FahaoError('ERR', `the URL of a node is a text, not ${given}; write redis://HOST:7379`)
  if (texts.length === 0 || texts.length > nodesMax)
    throw new FahaoError('ERR', `${texts.length} URLs of nodes are given; give 1 to ${nodesMax}`)
  const urls = texts.map(parseUrl)
  if (new Set(urls.map(({ protocol }) => protocol)).size > 1)
    throw new FahaoError('ERR', 'the URLs of one client have different protocols; give one')
  return urls
}

function parseUrl(text: string): URL {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new FahaoError(
      'ERR',
      `'${hideSecrets(text)}' is no URL; write redis://HOST:7379 or http://HOST:7380`,
    )
  }
  if (!protocols.includes(url.protocol) || url.hostname === '')
    throw new FahaoError(
      'ERR',
      `'${hideSecrets(text)}' is no URL of a node; write redis://, rediss://, http:// or https:// and a host`,
    )
  return url
}

function hideSecrets(text: string): string {
  return text.replace(/\/\/.*@/, '//***@').slice(0, 200)
}

/** The URL whose login all nodes get, also those that are learned later; the first one if none has a login. */
function loginOf(urls: readonly URL[]): URL {
  const [first, ...others] = urls.filter(({ username, password }) => username !== '' || password !== '')
  if (others.some(({ username, password }) => username !== first!.username || password !== first!.password))
    throw new FahaoError('ERR', 'the URLs of one client have different logins; give one')
  return first ?? urls[0]!
}

/** Completes options. Throws ERR for those that contradict each other. */
export function settingsOf(urls: readonly URL[], options: ClientOptions): Settings {
  const url = loginOf(urls)
  const inUrl = (part: string) => (part === '' ? undefined : decodeURIComponent(part))
  const username = options.username ?? inUrl(url.username)
  const password = options.password ?? inUrl(url.password)
  const { token } = options
  if (token !== undefined && password !== undefined)
    throw new FahaoError('ERR', 'a password and a token are given; give one of them')
  if (token !== undefined && username === undefined && url.protocol.startsWith('redis'))
    throw new FahaoError('ERR', 'over RESP a token needs username, the name of its user')
  return {
    username,
    password,
    token,
    tls: options.tls,
    connectTimeoutMs: duration('connectTimeoutMs', options.connectTimeoutMs, 3000),
    lazyConnect: options.lazyConnect === true,
    timeoutMs: duration('timeoutMs', options.timeoutMs, 10_000),
    attemptTimeoutMs: duration('attemptTimeoutMs', options.attemptTimeoutMs, 3000),
    horizonMs: duration('horizonMs', options.horizonMs, 60_000, horizonMaxMs),
    holder: options.holder,
    onEvent: withoutErrors(options.onEvent ?? (() => {})),
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
  }
}

function duration(name: string, value: number | undefined, usual: number, max = 86_400_000): number {
  if (value === undefined) return usual
  if (!(value >= 1) || value > max) throw new FahaoError('ERR', `${name} is ${value}; give 1 to ${max} ms`)
  return value
}
