/** The URL of an etcd: its members, the user, the keys' prefix. */
import { readFile } from 'node:fs/promises'
import { describe, FahaoError } from '../../base/errors.ts'

/** A parsed URL. */
export type EtcdAddress = {
  /** `host:port` of each member, in the order of the attempts to connect. */
  readonly endpoints: readonly string[]
  /** The prefix of all keys, followed by a slash. */
  readonly prefix: string
  readonly user: { readonly name: string; readonly password: string } | undefined
  readonly tls: Tls | undefined
  /** The URL without the password. */
  readonly location: string
}

/** Certificates in PEM; without `ca`, the machine's authorities are trusted. */
export type Tls = { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer }

const example = 'etcd://host1:2379,host2:2379,host3:2379/fahao'
const files = ['ca', 'cert', 'key'] as const
const endpointPattern = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i

/**
 * Reads what follows `etcd:` or `etcds:` in a URL: `//[user:password@]host[:port],…[/prefix][?ca=…&cert=…&key=…]`.
 * Rejects with CONFIG, and never shows the password.
 */
export async function addressOf(scheme: 'etcd' | 'etcds', rest: string): Promise<EtcdAddress> {
  const parts = /^\/\/(?:([^@/?]*)@)?([^@/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(rest)
  if (parts === null) throw wrong(`this is no URL of an etcd: write it as ${example}`)
  const [, login, hosts = '', path = '', query = ''] = parts
  const endpoints = hosts.split(',').map((host) => endpoint(host.trim()))
  const prefix = decoded(path.replace(/\/+$/, '')) || 'fahao'
  if (prefix.startsWith('/') || prefix.includes('\0'))
    throw wrong(`the prefix in an etcd URL begins after one slash, as in ${example}`)
  return {
    endpoints,
    prefix,
    user: login === undefined ? undefined : userOf(login),
    tls: await tlsOf(scheme, new URLSearchParams(query)),
    location: `${scheme}://${endpoints.join(',')}/${prefix}`,
  }
}

function endpoint(host: string): string {
  if (!endpointPattern.test(host)) throw wrong(`'${host}' is no HOST:PORT of an etcd; write ${example}`)
  return /:\d+$/.test(host) && !host.endsWith(']') ? host : `${host}:2379`
}

function userOf(login: string): EtcdAddress['user'] {
  const colon = login.indexOf(':')
  if (colon <= 0) throw wrong('an etcd URL names a user as user:password@, each percent-encoded')
  return { name: decoded(login.slice(0, colon)), password: decoded(login.slice(colon + 1)) }
}

async function tlsOf(scheme: 'etcd' | 'etcds', query: URLSearchParams): Promise<Tls | undefined> {
  for (const name of query.keys()) {
    if (!files.includes(name as (typeof files)[number]))
      throw wrong(`an etcd URL takes the parameters ${files.join(', ')}, not '${name}'`)
    if (scheme === 'etcd') throw wrong(`'${name}' is for TLS: write etcds:// instead of etcd://`)
  }
  if (scheme === 'etcd') return undefined
  if (query.has('cert') !== query.has('key'))
    throw wrong('cert and key of an etcd URL belong together: give both, or none')
  const tls: Record<string, Buffer> = {}
  for (const [name, file] of query) tls[name] = await contents(name, file)
  return tls
}

async function contents(name: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw wrong(`the file of '${name}' cannot be read (${describe(error)}); name one in PEM`)
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw wrong('an etcd URL holds a % that encodes nothing; write %25 for the sign itself')
  }
}

function wrong(message: string): FahaoError {
  return new FahaoError('CONFIG', message)
}
