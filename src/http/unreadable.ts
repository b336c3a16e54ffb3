/** What a connection gets that sends something else than HTTP. */
import { METHODS } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import { HttpRefusal, problemOf, problemType } from './problem.ts'

/** How long a client may take to close its end after ours is closed. */
const lingerMs = 1000
const lineCharactersMax = 8192
const lateCode = 'ERR_HTTP_REQUEST_TIMEOUT'

/** Whether this is about a request that took too long to arrive. */
export function isLate({ code }: NodeJS.ErrnoException): boolean {
  return code === lateCode
}

/** Whether this is about bytes after a request that closes its connection: no request any more (RFC 9112, 9.6). */
export function isIgnored({ code }: NodeJS.ErrnoException): boolean {
  return code === 'HPE_CLOSED_CONNECTION'
}

/** Sends a refusal as the last answer of a connection, and closes the connection. */
export type Refuse = (socket: Socket, refusal: HttpRefusal) => void

/**
 * A connection is closed for good `lingerMs` after its last answer has left this process, and `unreadTimeoutMs` after
 * the answer was written at the latest: a client that does not close its end holds no connection.
 */
export function refuseWithin(unreadTimeoutMs: number, clock: Clock): Refuse {
  return (socket, refusal) => {
    // The connection closes already.
    if (!socket.writable) return
    let deadline = clock.timer(unreadTimeoutMs, () => socket.destroy())
    socket.once('close', () => deadline.cancel())
    socket.end(answerOf(refusal), () => {
      deadline.cancel()
      deadline = clock.timer(lingerMs, () => socket.destroy())
    })
  }
}

function answerOf(refusal: HttpRefusal): string {
  const problem = problemOf(refusal, '')
  const body = JSON.stringify(problem)
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    `content-type: ${problemType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

/** About a request that took too long to arrive. */
export const lateRefusal = new HttpRefusal(408, 'the request took longer than http-request-timeout to arrive')

/** About a method that is not served on any path. */
export function methodRefusal(method: string): HttpRefusal {
  return new HttpRefusal(501, `no method '${method}' is known here`)
}

/** What Node says of bytes that it cannot read. */
type ParseError = { readonly rawPacket?: Buffer; readonly bytesParsed?: number }

/** The method of a request line that is sound but for its method, which HTTP does not have (RFC 9110, 9.1). */
function unknownMethod({ rawPacket, bytesParsed = 0 }: ParseError): string | undefined {
  if (rawPacket === undefined) return undefined
  const start = rawPacket.lastIndexOf(10, bytesParsed - 1) + 1
  const line = rawPacket.toString('latin1', bytesParsed === 0 ? 0 : start, start + lineCharactersMax)
  const method = /^([\w!#$%&'*+.^`|~-]{1,40}) \S+ HTTP\/1\.[01]\r?\n/.exec(line)?.[1]
  return method === undefined || METHODS.includes(method) ? undefined : method
}

/** Why Node cannot read something as HTTP, or not in time. */
export function refusalOf(error: NodeJS.ErrnoException): HttpRefusal {
  const { code } = error
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new HttpRefusal(431, 'the headers are larger than http-header-max; send less')
  }
  if (isLate(error)) return lateRefusal
  if (code === 'HPE_INVALID_URL') {
    return new HttpRefusal(400, 'the path or the query has a character that must be percent-encoded')
  }
  const method = unknownMethod(error as ParseError)
  if (method !== undefined) return methodRefusal(method)
  return new HttpRefusal(400, 'this is no HTTP; Redis clients have a port of their own')
}
