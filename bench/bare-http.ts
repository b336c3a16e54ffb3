/** A minimal HTTP server: one constant body. `node bench/bare-http.ts PORT TYPE BODY` */
import { createServer } from 'node:http'

const [port, type = '', body = ''] = process.argv.slice(2)
const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body) }

createServer((_request, response) => {
  response.writeHead(200, headers)
  response.end(body)
}).listen(Number(port), '127.0.0.1')
