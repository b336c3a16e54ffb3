/**
 * A thread of clients that mean harm, for `hostile.test.ts`: what they receive is not looked at. With the same seed they
 * send the same bytes.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { createCommands } from '../../src/commands/all.ts'
import { encodeCommand } from '../launch/raw-client.ts'
import { hostileRequests } from '../unit/resp/hostile-requests.ts'

/** What the clients do. */
export type Attack =
  /** Each sends a batch of requests at once, and reads the replies, or never does. */
  | {
      readonly what: 'batches'
      readonly port: number
      readonly clients: number
      readonly requests: number
      readonly words: readonly (string | number)[]
      readonly reads: boolean
      /** How long those stay that never read, in ms. */
      readonly staysMs: number
    }
  /** Frames from the commands' records, as they are, mutated, or of nothing but chance. */
  | { readonly what: 'frames'; readonly port: number; readonly frames: number; readonly seed: number }
  /** Requests over HTTP of which parts are left to chance: sent in pipelines, read or not, and cut off. */
  | { readonly what: 'http'; readonly port: number; readonly requests: number; readonly seed: number }

/** What they have seen. */
export type AttackReport = { readonly bytesRead: number; readonly sent: number; readonly ms: number }

const connectionsAtOnce = 16
/** How many frames a connection sends that does not break the protocol, and one that may. */
const wholeFrames = 64
const brokenFrames = 4
/** How long a client waits for the end, in ms: a broken frame may ask for bytes that never come. */
const patienceMs = 200
const pipelineMax = 20
const httpLifeMaxMs = 300

/** Runs an attack in a thread of its own. */
export async function attack(plan: Attack): Promise<AttackReport> {
  const worker = new Worker(import.meta.filename, { workerData: plan })
  const [report] = (await once(worker, 'message')) as [AttackReport]
  await worker.terminate()
  return report
}

let bytesRead = 0
let sent = 0

async function opened(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

async function sendBatches(plan: Extract<Attack, { what: 'batches' }>): Promise<void> {
  const batch = Buffer.concat(Array<Uint8Array>(plan.requests).fill(encodeCommand(plan.words)))
  await Promise.all(
    Array.from({ length: plan.clients }, async () => {
      const socket = await opened(plan.port)
      sent += plan.requests
      if (plan.reads) {
        socket.on('data', (chunk: Buffer) => (bytesRead += chunk.length))
        socket.end(batch)
        await once(socket, 'close')
      } else {
        socket.write(batch)
        await pause(plan.staysMs)
        socket.destroy()
      }
    }),
  )
}

async function sendFrames({ port, frames, seed }: Extract<Attack, { what: 'frames' }>): Promise<void> {
  const random = randomFrom(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  // It would end the connection that measures.
  const commands = createCommands()
    .all()
    .map((command) => ({
      ...command,
      ...(command.subcommands && {
        subcommands: command.subcommands.filter(({ name }) => name !== 'kill'),
      }),
    }))
  const requests = [...hostileRequests(commands, ['target', 'share', 'flake', 'text'])].map(({ words }) =>
    encodeCommand(words),
  )
  const frame = (whole: boolean): Uint8Array => {
    const bytes = Buffer.from(requests[below(requests.length)]!)
    if (whole) return bytes
    if (below(4) > 0) return mutated(bytes, below)
    return Buffer.from(Array.from({ length: 1 + below(100) }, () => below(256)))
  }
  const client = async () => {
    while (sent < frames) {
      const whole = random() < 0.2
      const count = Math.min(whole ? wholeFrames : brokenFrames, frames - sent)
      sent += count
      const bytes = Buffer.concat(Array.from({ length: count }, () => frame(whole)))
      const reads = random() < 0.9
      const socket = await opened(port)
      if (reads) socket.on('data', (chunk: Buffer) => (bytesRead += chunk.length))
      const gone = once(socket, 'close')
      const at = below(bytes.length)
      socket.write(bytes.subarray(0, at))
      socket.end(bytes.subarray(at))
      await Promise.race([gone, pause(reads ? 2000 : patienceMs)])
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: connectionsAtOnce }, client))
}

const methods = ['GET', 'POST', 'POST', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'QUERY', 'FOO']
const paths = [
  '/v1/generators/target/next?count=1000',
  '/v1/generators/target/next?count=100000',
  '/v1/generators/target/range?count=9',
  '/v1/generators/absent/next',
  '/v1/generators?limit=1000',
  '/api/segment/get/share',
  '/api/snowflake/get/any',
  '/id-builder/increase-seq-id?code=share',
  '/tinyid/id/nextIdSimple?bizType=share&token=open-0123456789ab&batchSize=1000',
  '/metrics',
  '/docs',
  '/cache',
]

async function sendHttp({ port, requests, seed }: Extract<Attack, { what: 'http' }>): Promise<void> {
  const random = randomFrom(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const client = async () => {
    while (sent < requests) {
      const socket = await opened(port)
      if (below(3) > 0) socket.on('data', (chunk: Buffer) => (bytesRead += chunk.length))
      const count = 1 + below(pipelineMax)
      sent += count
      for (let index = 0; index < count; index++) socket.write(httpRequest(below))
      if (below(2) === 0) socket.end()
      await pause(below(httpLifeMaxMs))
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: 60 }, client))
}

function httpRequest(below: (limit: number) => number): Buffer {
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!
  const bytes = (length: number) => Buffer.from(Array.from({ length }, () => below(256))).toString('latin1')
  const path = below(6) === 0 ? `/${encodeURI(bytes(below(300)))}` : pick(paths)
  const body = below(5) === 0 ? bytes(below(2000)) : ''
  const headers = [
    below(20) === 0 ? '' : 'host: localhost',
    `content-length: ${below(30) === 0 ? below(100_000) : body.length}`,
    pick(['', 'content-type: application/json', 'content-type: a/b', 'accept: text/plain']),
    pick(['', '', '', 'expect: x', 'origin: http://evil.example', `x: ${'y'.repeat(below(20_000))}`]),
  ]
  const head = [`${pick(methods)} ${path} HTTP/1.1`, ...headers.filter((line) => line !== '')].join('\r\n')
  const text = below(15) === 0 ? bytes(below(500)) : `${head}\r\n\r\n${body}`
  return Buffer.from(text, 'latin1')
}

/** One to three bytes changed, taken out or put in. */
function mutated(bytes: Buffer, below: (limit: number) => number): Buffer {
  let result = bytes
  for (let changes = 1 + below(3); changes > 0; changes--) {
    const at = below(result.length)
    const byte = Buffer.of(below(2) === 0 ? below(256) : 0x30 + below(10))
    const rest = result.subarray(at + below(2))
    result = Buffer.concat([result.subarray(0, at), ...(below(3) === 0 ? [] : [byte]), rest])
  }
  return result
}

/** Mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

if (!isMainThread) {
  const plan = workerData as Attack
  const startMs = performance.now()
  if (plan.what === 'batches') await sendBatches(plan)
  else if (plan.what === 'frames') await sendFrames(plan)
  else await sendHttp(plan)
  parentPort!.postMessage({ bytesRead, sent, ms: performance.now() - startMs } satisfies AttackReport)
}
