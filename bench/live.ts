/** Live streams: what 50 open ones cost a node, beside the same load without them. */
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { processCpuUs, residentBytes } from './process-cpu.ts'
import type { Section } from './report.ts'
import { type Effort, interleaved, spreadOf } from './rounds.ts'

const streams = 50
/** A node has so many streams of one network. */
const streamsPerAddress = 16
/** More generators than a stream tells of, each asked for ids ten times a second. */
const names = Array.from({ length: 500 }, (_, index) => `shop.orders:${index}`)
const askedEveryMs = 100
const coreMost = 2

/** The CPU of a server with this many streams, and without any. */
export async function live(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const args = ['--auto-create', '*=segment', '--rounding-guard', 'off', '--log-level', 'warn']
  const server = await startFahao(lifetime, { args })
  const client = await RawClient.connect(server.resp, lifetime)
  const load = setInterval(() => {
    for (const name of names) void client.command('INCR', name)
  }, askedEveryMs)
  const { port } = new URL(server.http)
  const seconds = Math.max(effort.seconds, 10)
  const before = residentBytes(server.pid)
  let bytes = 0
  const measured = await interleaved([streams, 0], effort.rounds, async (count) => {
    const open = await Promise.all(
      Array.from({ length: count }, (_, index) => openStream(Number(port), index)),
    )
    for (const { answer } of open)
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
    // The history has been read.
    await pause(2)
    const [cpuUs, readBefore] = [processCpuUs(server.pid), bytes]
    await pause(seconds)
    const [coreUs, read] = [processCpuUs(server.pid) - cpuUs, bytes - readBefore]
    for (const { sent } of open) sent.destroy()
    return { percent: coreUs / seconds / 10_000, bytesPerSecond: count === 0 ? 0 : read / seconds / count }
  })
  const memory = (residentBytes(server.pid) - before) / 2 ** 20
  clearInterval(load)
  const [withStreams, without] = [measured.get(streams)!, measured.get(0)!]
  const percentOf = (rounds: typeof without) => rounds.map(({ percent }) => percent)
  const more = percentOf(withStreams).map((percent, round) => percent - without[round]!.percent)
  const how = `${names.length} generators, ${names.length * (1000 / askedEveryMs)} ids a second over one connection; ${seconds} s with ${streams} streams of \`/v1/live\` that are read, and ${seconds} s with none, interleaved, ${effort.rounds} rounds.`
  const figures = [
    { what: `CPU of ${streams} streams`, unit: '% of a core', budget: { most: coreMost }, ...spreadOf(more) },
    { what: 'CPU of the server without streams', unit: '% of a core', ...spreadOf(percentOf(without)) },
    { what: 'CPU of the server with them', unit: '% of a core', ...spreadOf(percentOf(withStreams)) },
    { what: 'bytes of a stream', unit: '/s', ...spreadOf(withStreams.map((each) => each.bytesPerSecond)) },
    { what: 'resident memory at the end, more than before', unit: 'MiB', ...spreadOf([memory]) },
  ]
  await server.kill()
  return [{ name: 'HTTP: live streams', how, figures }]
}

async function openStream(
  port: number,
  index: number,
): Promise<{ readonly sent: ClientRequest; readonly answer: IncomingMessage }> {
  const localAddress = `127.0.0.${1 + Math.floor(index / streamsPerAddress)}`
  const sent = request({ host: '127.0.0.1', port, path: '/v1/live', localAddress, agent: false })
  sent.end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  if (answer.statusCode !== 200) throw new Error(`a stream was answered ${answer.statusCode}`)
  answer.on('error', () => {})
  sent.on('error', () => {})
  return { sent, answer }
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000))
}
