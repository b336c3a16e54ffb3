/** The last answer of a connection: to bytes that are no HTTP, to a late request, and to a method that no path has. */
import type { Socket } from 'node:net'
import { systemClock } from '../base/clock.ts'
import { METHODS } from './plain-http.ts'
import { HttpRefusal, problemOf, problemType } from './problem.ts'

/** How long a client may take to close its end after the server has closed its own. */
const lingerMs = 1000
const lineCharactersMax = 8192

/** Whether a request has not come in time. */
export function isLate({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ERR_HTTP_REQUEST_TIMEOUT'
}

/** Whether bytes follow a request that closes its connection: they are ignored (RFC 9112, 9.6). */
export function isIgnored({ code }: NodeJS.ErrnoException): boolean {
  return code === 'HPE_CLOSED_CONNECTION'
}

/**
 * Sends the refusal as the last answer, and closes the connection for good `lingerMs` after that has left this process; at the
 * latest after `unreadTimeoutMs`. What the client sends meanwhile is not answered. A connection that is not read any more does not
 * show that its client has closed it.
 */
export function endGently(socket: Socket, unreadTimeoutMs: number, refusal?: HttpRefusal): void {
  // The connection is closing already.
  if (!socket.writable) return
  let deadline = systemClock.timer(unreadTimeoutMs, () => socket.destroy())
  socket.once('close', () => deadline.cancel())
  socket.end(refusal === undefined ? '' : answerOf(refusal), () => {
    deadline.cancel()
    deadline = systemClock.timer(lingerMs, () => socket.destroy())
  })
}

function answerOf(refusal: HttpRefusal): string {
  const problem = problemOf(refusal, '')
  const body = JSON.stringify(problem)
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    `content-type: ${problemType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

/** The refusal of a method that no path has. */
export function methodRefusal(method: string): HttpRefusal {
  return new HttpRefusal(501, `no method '${method}' is known here`)
}

/** Node's error about bytes that it cannot parse. */
type ParseError = { readonly rawPacket?: Buffer; readonly bytesParsed?: number }

/** The method of a valid request line, if HTTP does not have it (RFC 9110, 9.1). */
function unknownMethod({ rawPacket, bytesParsed = 0 }: ParseError): string | undefined {
  if (rawPacket === undefined) return undefined
  const start = rawPacket.lastIndexOf(10, bytesParsed - 1) + 1
  const line = rawPacket.toString('latin1', bytesParsed === 0 ? 0 : start, start + lineCharactersMax)
  const method = /^([\w!#$%&'*+.^`|~-]{1,40}) \S+ HTTP\/1\.[01]\r?\n/.exec(line)?.[1]
  return method === undefined || METHODS.includes(method) ? undefined : method
}

/** The refusal of a request that Node cannot parse, or that is late. */
export function refusalOf(error: NodeJS.ErrnoException): HttpRefusal {
  const { code } = error
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new HttpRefusal(431, 'the headers are larger than http-header-max; send less')
  }
  if (isLate(error)) {
    return new HttpRefusal(408, 'the request took longer than http-request-timeout to arrive')
  }
  if (code === 'HPE_INVALID_URL') {
    return new HttpRefusal(400, 'the path or the query has a character that must be percent-encoded')
  }
  const method = unknownMethod(error as ParseError)
  if (method !== undefined) return methodRefusal(method)
  return new HttpRefusal(400, 'this is no HTTP; Redis clients have a port of their own')
}
