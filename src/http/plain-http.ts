/**
 * What this program uses of `node:http`. When an ES module imports `node:http`, Node reads all of its exports, and some of
 * them load `fetch` and WebSocket: a tenth of the work of a server's start. This way they are not loaded.
 */
import type * as http from 'node:http'

/** As in `node:http`. */
export const { Agent, createServer, IncomingMessage, METHODS, request, ServerResponse, STATUS_CODES } =
  process.getBuiltinModule('node:http')

/** As in `node:http`. */
export type ServerResponse<Request extends http.IncomingMessage = http.IncomingMessage> =
  http.ServerResponse<Request>
