/**
 * Load over HTTP that costs the machine as little as a client of Node can: each connection sends the same bytes again when
 * its answer is whole. `node bench/http-load.ts PORT CONNECTIONS SECONDS`, with the request as standard input; prints JSON.
 */
import { connect } from 'node:net'

const [port = 0, connections = 0, seconds = 0] = process.argv.slice(2).map(Number)
const request = await new Response(process.stdin as unknown as ReadableStream).bytes()
const started = performance.now()
const end = started + seconds * 1000
let [answered, failed] = [0, 0]
const headEnd = Buffer.from('\r\n\r\n')
const lengthName = Buffer.from('content-length: ')

/** The length of the first answer in `bytes`; 0: its rest has to come. */
function answerLength(bytes: Buffer): number {
  const head = bytes.indexOf(headEnd)
  if (head < 0) return 0
  const at = bytes.indexOf(lengthName)
  if (at < 0 || at > head) throw new Error('the answer has no content-length')
  return head + headEnd.length + Number.parseInt(bytes.toString('latin1', at + lengthName.length, head), 10)
}

function open(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let rest: Buffer | undefined
    socket.on('connect', () => socket.write(request))
    socket.on('error', reject)
    socket.on('close', resolve)
    socket.on('data', (chunk) => {
      const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk])
      const length = answerLength(bytes)
      if (length === 0 || bytes.length < length) {
        rest = bytes
        return
      }
      rest = undefined
      answered++
      // "HTTP/1.1 200"
      if (bytes[9] !== 0x32) failed++
      if (performance.now() < end) socket.write(request)
      else socket.destroy()
    })
  })
}

await Promise.all(Array.from({ length: connections }, open))
console.log(JSON.stringify({ answered, failed, seconds: (performance.now() - started) / 1000 }))
