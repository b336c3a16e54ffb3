// The health check of the image: 0 while the server answers on its port of HTTP, in every state of its store.
import { get as http } from 'node:http'
import { get as https } from 'node:https'

const { FAHAO_HTTP = '', FAHAO_TLS_CERT = '' } = process.env
const port = FAHAO_HTTP.split(':').at(-1)
const [get, scheme] = FAHAO_TLS_CERT === '' ? [http, 'http'] : [https, 'https']
// The server's own certificate need not name this host.
const request = get(
  `${scheme}://localhost:${port}/healthz`,
  { rejectUnauthorized: false, timeout: 2000 },
  ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1),
)
request.on('timeout', () => request.destroy(new Error('no answer within 2 s')))
request.on('error', ({ message }) => {
  console.error(message)
  process.exit(1)
})
