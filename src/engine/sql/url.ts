/** The URL of a database: user, address and options. */
import { readFileSync } from 'node:fs'
import { describe, FahaoError } from '../../base/errors.ts'

/** The address of a database and the credentials. The password is in no other field, and in no message. */
export type Access = {
  /** The URL without the password. */
  readonly location: string
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
  /** The path of a socket, used instead of host and port. */
  readonly socket: string | undefined
  readonly tls: Tls | undefined
  /** The maximum number of connections. */
  readonly pool: number
}

/** The encryption of the connection. Certificates are PEM. */
export type Tls = {
  /** Whether the server has to present a certificate of a trusted authority. */
  readonly rejectUnauthorized: boolean
  /** Whether that certificate may be for another host name. */
  readonly anyName: boolean
  /** The trusted authority, the client's certificate and its key. */
  readonly pem: { readonly ca?: string; readonly cert?: string; readonly key?: string }
}

const pemOf = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const
const files = Object.keys(pemOf) as readonly (keyof typeof pemOf)[]
const parameters: readonly string[] = ['pool', 'socket', 'sslmode', ...files]
const modes = ['disable', 'require', 'verify-ca', 'verify-full']
const poolDefault = 4
const poolMax = 64

/**
 * Reads `//user:password@host:port/database?…`. Throws CONFIG, which names the parameter that is wrong.
 * @param scheme the name of the engine.
 */
export function accessOf(scheme: string, location: string, defaultPort: number): Access {
  const url = parse(scheme, location)
  const given = parametersOf(scheme, url)
  const database = decode(scheme, url.pathname.slice(1))
  const user = decode(scheme, url.username)
  if (database === '' || database.includes('/')) throw wrong(scheme, 'it names no database')
  if (user === '') throw wrong(scheme, 'it names no user')
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost'
  const port = url.port === '' ? defaultPort : Number(url.port)
  const socket = given.get('socket')
  return {
    location: `${scheme}://${url.username}@${socket ?? `${url.hostname || host}:${port}`}/${url.pathname.slice(1)}`,
    host,
    port,
    user,
    password: decode(scheme, url.password),
    database,
    socket,
    tls: tlsOf(scheme, given),
    pool: poolOf(scheme, given.get('pool')),
  }
}

function parse(scheme: string, location: string): URL {
  try {
    if (location.startsWith('//')) return new URL(`${scheme}:${location}`)
  } catch {
    // The error would quote the URL, and with it the password.
  }
  throw wrong(scheme, 'it cannot be read')
}

function decode(scheme: string, text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw wrong(scheme, "a '%' in it is not followed by two hexadecimal digits")
  }
}

function parametersOf(scheme: string, { searchParams }: URL): ReadonlyMap<string, string> {
  const names = [...searchParams.keys()]
  const unknown = names.find((name) => !parameters.includes(name))
  if (unknown !== undefined)
    throw wrong(scheme, `there is no parameter '${unknown.slice(0, 40)}'; use ${parameters.join(', ')}`)
  const twice = names.find((name, at) => names.indexOf(name) < at)
  if (twice !== undefined) throw wrong(scheme, `'${twice}' is given twice`)
  return new Map(searchParams)
}

function poolOf(scheme: string, text: string | undefined): number {
  if (text === undefined) return poolDefault
  const pool = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (pool < 1 || pool > poolMax) throw wrong(scheme, `pool is a number from 1 to ${poolMax}`)
  return pool
}

function tlsOf(scheme: string, given: ReadonlyMap<string, string>): Tls | undefined {
  const mode = given.get('sslmode') ?? 'disable'
  const named = files.filter((name) => given.has(name))
  if (!modes.includes(mode)) throw wrong(scheme, `sslmode is one of ${modes.join(', ')}`)
  if (mode === 'disable') {
    if (named.length > 0) throw wrong(scheme, `'${named[0]}' needs sslmode=verify-full`)
    return undefined
  }
  const pem = Object.fromEntries(named.map((name) => [pemOf[name], readPem(scheme, name, given.get(name)!)]))
  return { rejectUnauthorized: mode !== 'require', anyName: mode !== 'verify-full', pem }
}

function readPem(scheme: string, name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw wrong(scheme, `'${name}' names a file that cannot be read (${describe(error)})`)
  }
}

function wrong(scheme: string, why: string): FahaoError {
  const shape = `${scheme}://user:password@host/database`
  return new FahaoError('CONFIG', `the engine's URL is wrong: ${why}; it looks like ${shape}`)
}
