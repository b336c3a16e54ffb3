// The health check of the image: 0 while the server answers at FAHAO_HTTP, in every state of its store. An answer of TLS is one too,
// such as an alert that the server wants a certificate.
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
request.on('error', ({ code = '', message }) => {
  if (/^(ECONNRESET|EPROTO|ERR_SSL_|HPE_)/.test(code)) process.exit(0)
  console.error(message)
  process.exit(1)
})
