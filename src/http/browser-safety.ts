/**
 * Protects a server from web pages of other origins. Two attacks are prevented:
 *  - DNS rebinding, a foreign name that resolves to this server: the Host header must be one of the server's own.
 *  - requests across origins, which a browser sends even if it hides the answer: a request that changes state must come
 *    from the server's own origin, from one in `http-origins`, or from no page.
 * Bodies must be application/json, which no page can send to another origin without a preflight; `cors.ts` answers it
 * for `http-origins` alone.
 * The compatible APIs issue by GET and read forms, as their clients need it: there the second rule applies to GET too.
 */
import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import { HttpRefusal } from './problem.ts'

/** Far more than clients and proxies send. */
const headersMax = 100
const tooManyHeaders = new HttpRefusal(431, `a request has at most ${headersMax} headers; send less`)

/** The refusal of a request that a foreign web page may have caused. */
export type Guard = (request: IncomingMessage) => HttpRefusal | undefined

/**
 * A guard for a server bound to `host`. It accepts in the Host header loopback names, addresses (which cannot be rebound),
 * `host` itself and `names`. A server that is bound to more than loopback and has no `names` accepts any name. Pages of
 * `origins` may change state.
 */
export function makeGuard(
  host: string,
  names: readonly string[] = [],
  origins: ReadonlySet<string> = new Set(),
): Guard {
  const own = new Set([host, ...names].map((name) => bare(name.toLowerCase())))
  const anyName = names.length === 0 && !isLoopbackName(bare(host.toLowerCase()))
  let known: string | undefined
  return (request) => {
    // Before Node makes an object of them.
    if (request.rawHeaders.length > 2 * headersMax) return tooManyHeaders
    const { host } = request.headers
    // RFC 9112, 3.2.
    if (host === undefined && request.httpVersion === '1.1') {
      return new HttpRefusal(400, 'a request of HTTP/1.1 needs a Host header')
    }
    if (!isSingleHost(request)) {
      return new HttpRefusal(
        400,
        'a request names one host: once in Host, and the same in a target with a host',
      )
    }
    if (host !== known) {
      if (!anyName && !isOwn(host, own)) return foreignHost(host)
      known = host
    }
    return request.method === 'GET' || request.method === 'HEAD'
      ? undefined
      : refuseForeignPage(request, origins)
  }
}

/**
 * The refusal of a request that a page of another origin has caused, according to its browser. `origins`: those whose
 * pages may.
 */
export function refuseForeignPage(
  { headers }: Pick<IncomingMessage, 'headers'>,
  origins: ReadonlySet<string>,
): HttpRefusal | undefined {
  if (headers.origin !== undefined && origins.has(headers.origin)) return undefined
  if (headers['sec-fetch-site'] === 'cross-site') return foreignPage()
  if (headers.origin !== undefined && !isSameOrigin(headers.origin, headers.host)) return foreignPage()
  return undefined
}

/**
 * RFC 9112, 3.2: one Host header, which is that of a target in absolute form. Proxies and this server could otherwise see
 * different hosts in one request. Node keeps the first of several.
 */
function isSingleHost({ url = '', rawHeaders, headers }: IncomingMessage): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts > 1) return false
  const [, authority] = url.startsWith('/') ? [] : (/^https?:\/\/([^/?#]*)/i.exec(url) ?? [])
  return authority === undefined || authority.toLowerCase() === headers.host?.toLowerCase()
}

/** Whether a name or address is that of the loopback interface: localhost, 127.0.0.0/8, ::1. */
function isLoopbackName(name: string): boolean {
  if (isIPv4(name)) return name.startsWith('127.')
  return name === 'localhost' || name === '::1' || name.endsWith('.localhost')
}

/** A request without a Host header is not from a browser: browsers always send one. */
function isOwn(header: string | undefined, own: ReadonlySet<string>): boolean {
  if (header === undefined) return true
  const name = bare(header.toLowerCase().replace(/:\d*$/, ''))
  return isLoopbackName(name) || isIPv4(name) || isIPv6(name) || own.has(name)
}

/** A host without the brackets of an IPv6 address. */
function bare(host: string): string {
  const inner = /^\[(.*)\]$/.exec(host)?.[1]
  return inner !== undefined && isIPv6(inner) ? inner : host
}

function isSameOrigin(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false
  const { protocol } = new URL(origin)
  // A host is the same with and without the default port of its scheme.
  return URL.canParse(`${protocol}//${host}`) && new URL(`${protocol}//${host}`).origin === origin
}

function foreignHost(host: string | undefined): HttpRefusal {
  return new HttpRefusal(
    421,
    `'${String(host).slice(0, 100)}' is no name of this server; use localhost, or add it to http-names`,
  )
}

function foreignPage(): HttpRefusal {
  return new HttpRefusal(403, 'a web page of another origin may not do this; nothing was changed or issued')
}
