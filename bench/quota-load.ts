/**
 * A client of the section `quota`, as a process of its own: `node quota-load.ts '{"port":7379,…}'`. Sends requests in small
 * batches every few milliseconds, whatever the replies, and prints what became of them. A busy loop would send more evenly,
 * and take the processor from the server.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { encodeCommand } from '../test/launch/raw-client.ts'

/** What it sends. */
export type QuotaLoad = {
  readonly port: number
  readonly command: readonly string[]
  readonly connections: number
  readonly ratePerSecond: number
  readonly seconds: number
}

/** What became of it; latencies in µs, from the moment of sending. */
export type QuotaAnswers = {
  readonly sent: number
  readonly refused: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

const [newline, dash] = [10, 45]
const { port, command, connections, ratePerSecond, seconds }: QuotaLoad = JSON.parse(process.argv[2]!)
const request = encodeCommand(command).toString('latin1')
const latencies = createHistogram()
let sent = 0
let answered = 0
let refused = 0

async function open() {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  const sentUs: number[] = []
  let next = 0
  let lineStart = true
  socket.on('data', (chunk) => {
    const nowUs = performance.now() * 1000
    for (const byte of chunk) {
      if (lineStart && byte === dash) refused++
      lineStart = byte === newline
      if (!lineStart) continue
      answered++
      latencies.record(Math.max(1, Math.round(nowUs - sentUs[next++]!)))
    }
  })
  return (count: number) => {
    for (let each = 0; each < count; each++) sentUs.push(performance.now() * 1000)
    socket.write(request.repeat(count), 'latin1')
  }
}

const links = await Promise.all(Array.from({ length: connections }, open))
const startMs = performance.now()
for (let turn = 0; ; turn++) {
  const elapsed = (performance.now() - startMs) / 1000
  if (elapsed >= seconds) break
  const due = Math.floor(elapsed * ratePerSecond) - sent
  const share = Math.max(1, Math.ceil(due / connections))
  for (let left = due, link = turn; left > 0; left -= share, link++) {
    links[link % connections]!(Math.min(share, left))
    sent += Math.min(share, left)
  }
  await pause(1)
}
while (answered < sent) await pause(5)
const [p50, p99] = [latencies.percentile(50), latencies.percentile(99)]
const answers: QuotaAnswers = { sent, refused, p50, p99, max: latencies.max }
process.stdout.write(JSON.stringify(answers), () => process.exit())
