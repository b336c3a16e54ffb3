/** Commands that people can copy, with the names and ports of this very server. */
import type { FastifyRequest } from 'fastify'
import type { ApiRoute } from '../api-route.ts'

/** A word, quoted for a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** The flags with which curl logs in, and asks for the password; none without a user. */
export function curlLogin(user: string | undefined): string {
  return user === undefined ? '' : ` -u ${shellWord(user)}`
}

/** The flags with which redis-cli logs in, and asks for the password; none without a user. */
export function redisCliLogin(user: string | undefined): string {
  return user === undefined ? '' : ` --user ${shellWord(user)} --askpass`
}

/** The curl line of an operation's example. `origin`: such as http://127.0.0.1:7380; `user`: the one that logs in. */
export function curlLine({ method, path, example }: ApiRoute, origin: string, user?: string): string {
  const { name = '', query, body } = example
  const named = path.replace(/\{\w+\}/, encodeURIComponent(name)).replaceAll(/\{(\w+)\}/g, placeholder)
  const url = `${origin}${named}${query === undefined ? '' : `?${query}`}`
  const words = [`curl${curlLogin(user)}`]
  if (method !== 'GET') words.push('-X', method)
  words.push(shellWord(url))
  if (body !== undefined)
    words.push('-H', shellWord('content-type: application/json'), '-d', shellWord(JSON.stringify(body)))
  return words.join(' ')
}

/** `{lease}` → `LEASE`: the example cannot know it. */
function placeholder(_match: string, parameter: string): string {
  return parameter.toUpperCase()
}

/** The origin under which the client has reached this server, by its Host header. */
export function originOf({ headers: { host }, protocol, socket }: FastifyRequest): string {
  const port = socket.localPort ?? 80
  return `${protocol}://${host !== undefined && /^[\w.:[\]-]+$/.test(host) ? host : `127.0.0.1:${port}`}`
}

/** The shortest redis-cli command line for a host, a port and a user. */
export function redisCli(origin: string, respPort: number, isTls: boolean, user?: string): string {
  const { hostname } = new URL(origin)
  const local = hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
  return `redis-cli${redisCliLogin(user)} ${isTls ? '--tls ' : ''}${local ? '' : `-h ${hostname.replaceAll(/[[\]]/g, '')} `}-p ${respPort}`
}
