/** What a connection gets that sends something else than HTTP. */
import type { Socket } from 'node:net'
import { HttpRefusal, problemOf, problemType } from './problem.ts'

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

/** Answers a request that took too long to arrive. */
export function answerLate(socket: Socket): void {
  answerUnreadable(Object.assign(new Error('late'), { code: lateCode }), socket)
}

/** Answers what Node cannot read as HTTP, as far as there is anybody to read it. */
export function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.writableFinished) return void socket.destroy()
  // The connection closes once its last answer has left.
  if (!socket.writable) return
  const problem = problemOf(refusalOf(error), '')
  const body = JSON.stringify(problem)
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    `content-type: ${problemType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/** What Node says of bytes that it cannot read. */
type Unread = { readonly rawPacket?: Buffer; readonly bytesParsed?: number }

/** The method of a request line that is sound but for its method, which HTTP does not have (RFC 9110, 9.1). */
function unknownMethod({ rawPacket, bytesParsed = 0 }: Unread): string | undefined {
  if (rawPacket === undefined) return undefined
  const start = rawPacket.lastIndexOf(10, bytesParsed - 1) + 1
  const line = rawPacket.toString('latin1', bytesParsed === 0 ? 0 : start, start + lineCharactersMax)
  return /^([\w!#$%&'*+.^`|~-]{1,40}) \S+ HTTP\/1\.[01]\r?\n/.exec(line)?.[1]
}

function refusalOf(error: NodeJS.ErrnoException & Unread): HttpRefusal {
  const { code } = error
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new HttpRefusal(431, 'the headers are larger than http-header-max; send less')
  }
  if (isLate(error)) {
    return new HttpRefusal(408, 'the request took longer than http-request-timeout to arrive')
  }
  const method = unknownMethod(error)
  if (method !== undefined) return new HttpRefusal(501, `no method '${method}' is known here`)
  return new HttpRefusal(400, 'this is no HTTP; Redis clients have a port of their own')
}
