/** Commands that people can copy, with the names and ports of this very server. */
import type { FastifyRequest } from 'fastify'

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
