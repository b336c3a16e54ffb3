/** Random requests to a real process over HTTP: it does not crash, its memory is bounded, and another client is answered. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startFahao } from '../launch/fahao.ts'

/** Requests: a short form in CI, and as the promise has it where FAULT_ROUNDS is set. */
const requests = process.env.FAULT_ROUNDS === undefined ? 3000 : 100_000
const seed = Number(process.env.FAULT_SEED ?? '20260101')
const connectionsMax = 60
const memoryMaxMiB = 700

test('random requests neither end the server nor keep others waiting', { timeout: 900_000 }, async (t) => {
  const server = await startFahao(t, {
    args: [
      '--log-level',
      'fatal',
      '--compat',
      'leaf,tinyid,idbuilder',
      '--tinyid-tokens',
      'open-0123456789ab=order',
    ],
  })
  const client = await server.connect()
  await client.command('ID.CREATE', 'order', 'KIND', 'segment')
  await client.command('ID.CREATE', 'witness', 'KIND', 'sequence')
  const port = Number(new URL(server.http).port)
  const random = randomOf(seed)
  const witness = watch(server.http)
  let peakMiB = 0
  const sockets = new Set<Socket>()
  for (let sent = 0; sent < requests; ) {
    sent += attack(port, random, sockets)
    while (sockets.size >= connectionsMax) await pause(1)
    if (random(5) === 0) peakMiB = Math.max(peakMiB, residentMiB(server.pid))
    await pause(0)
  }
  for (const socket of sockets) socket.destroy()
  const { latenciesMs, ids } = await witness.stop()
  report(t, latenciesMs, peakMiB)
  assert.equal((await fetch(`${server.http}/healthz`)).status, 200)
  assert.ok(peakMiB < memoryMaxMiB, `${peakMiB} MiB`)
  assert.deepEqual(
    ids,
    ids.map((_, at) => at + 1),
    'the witness got every id once, in order',
  )
  assert.ok(quantile(latenciesMs, 0.5) < 50, `median ${quantile(latenciesMs, 0.5)} ms`)
})

type Random = (below: number) => number

/** mulberry32. */
function randomOf(seed: number): Random {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const methods = ['GET', 'POST', 'POST', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'QUERY', 'FOO']
const paths = [
  '/v1/generators/order/next?count=1000',
  '/v1/generators/order/next?count=100000',
  '/v1/generators/order/range?count=9',
  '/v1/generators/absent/next',
  '/v1/generators?limit=1000',
  '/api/segment/get/order',
  '/api/snowflake/get/any',
  '/id-builder/increase-seq-id?code=order',
  '/tinyid/id/nextIdSimple?bizType=order&token=open-0123456789ab&batchSize=1000',
  '/metrics',
  '/docs',
  '/cache',
]

/** One connection whose replies are read, read slowly or never, and which ends in some way; returns how many requests it sent. */
function attack(port: number, random: Random, sockets: Set<Socket>): number {
  const socket = connect(port, '127.0.0.1')
  sockets.add(socket)
  socket.on('error', () => {})
  socket.on('close', () => sockets.delete(socket))
  const sent = 1 + random(20)
  for (let index = 0; index < sent; index++) socket.write(requestOf(random))
  const lifeMs = random(300)
  if (random(3) === 0) socket.pause()
  else socket.resume()
  if (random(2) === 0) socket.end()
  setTimeout(() => socket.destroy(), lifeMs)
  return sent
}

function requestOf(random: Random): Buffer {
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)]!
  const bytes = (length: number) => Buffer.from(Array.from({ length }, () => random(256))).toString('latin1')
  const path = random(6) === 0 ? `/${encodeURI(bytes(random(300)))}` : pick(paths)
  const body = random(5) === 0 ? bytes(random(2000)) : ''
  const headers = [
    random(20) === 0 ? '' : 'host: localhost',
    `content-length: ${random(30) === 0 ? random(100_000) : body.length}`,
    pick(['', 'content-type: application/json', 'content-type: a/b', 'accept: text/plain']),
    pick(['', '', '', 'expect: x', 'origin: http://evil.example', `x: ${'y'.repeat(random(20_000))}`]),
  ]
  const head = [`${pick(methods)} ${path} HTTP/1.1`, ...headers.filter((line) => line !== '')].join('\r\n')
  const text = random(15) === 0 ? bytes(random(500)) : `${head}\r\n\r\n${body}`
  return Buffer.from(text, 'latin1')
}

/** A client that draws one id after the other. */
function watch(base: string) {
  const latenciesMs: number[] = []
  const ids: number[] = []
  let stopped = false
  const done = (async () => {
    while (!stopped) {
      const from = performance.now()
      const answer = await fetch(`${base}/v1/generators/witness/next`, { method: 'POST' })
      const body = (await answer.json()) as { ids: string[] }
      latenciesMs.push(performance.now() - from)
      ids.push(Number(body.ids[0]))
      await pause(5)
    }
  })()
  return {
    async stop() {
      stopped = true
      await done
      return { latenciesMs, ids }
    },
  }
}

function residentMiB(pid: number): number {
  const [, kib] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!
  return Number(kib) / 1024
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)]!
}

function report(t: TestContext, latenciesMs: readonly number[], peakMiB: number): void {
  const at = (share: number) => quantile(latenciesMs, share).toFixed(1)
  t.diagnostic(
    `${requests} requests, seed ${seed}: memory ${peakMiB.toFixed(0)} MiB at most; another client waited ` +
      `${at(0.5)} ms in the median, ${at(0.99)} ms at 99 %, ${at(1)} ms at most, ${latenciesMs.length} times`,
  )
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
