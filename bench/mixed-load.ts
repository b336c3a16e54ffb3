/**
 * The load of mixed-keys.ts, as a process of its own: `node mixed-load.ts '{"port":7379,…}'`. All requests are made
 * beforehand; each connection sends a pipeline of them as soon as the one before is answered. It prints what it measured.
 */
import type { Socket } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { ask, incr, type Login, open } from './name-links.ts'
import { processCpuUs } from './process-cpu.ts'

/** What it sends, and the server that it asks. */
export type MixedLoad = {
  readonly port: number
  /** Of the server, whose CPU time is read. */
  readonly pid: number
  readonly login?: Login
  readonly names: number
  /** How often each name is asked: all alike, or the n-th one 1/n as often as the first. */
  readonly spread: 'uniform' | 'Zipf'
  readonly pipeline: number
  readonly seconds: number
}

/** What it measured; the latency is that of a pipeline. */
export type MixedFigures = { readonly perSecond: number; readonly cpuUs: number; readonly p99Us: number }

const connections = 50
const requestsMade = 400_000
const kinds = ['seq', 'seg', 'sno'] as const

/** A name of 8 to 64 bytes; its first three letters say of which kind it is. */
export function mixedName(index: number): string {
  const length = 4 + ((Math.imul(index + 1, 0x9e3779b1) >>> 8) % 57)
  return `${kinds[index % kinds.length]}:${index.toString(36).padStart(length, '0')}`
}

if (process.argv[1] === import.meta.filename) {
  const load: MixedLoad = JSON.parse(process.argv[2]!)
  console.log(JSON.stringify(await run(load)))
  process.exit()
}

async function run(load: MixedLoad): Promise<MixedFigures> {
  const pipelines = prepared(load)
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(load.port, load.login)))
  const latencies = createHistogram()
  let sent = 0
  const endMs = performance.now() + load.seconds * 1000
  const sendOn = async (socket: Socket) => {
    for (let nowMs = performance.now(); nowMs < endMs; ) {
      await ask(socket, pipelines[sent++ % pipelines.length]!, load.pipeline)
      const doneMs = performance.now()
      latencies.record(Math.max(1, Math.round((doneMs - nowMs) * 1000)))
      nowMs = doneMs
    }
  }
  const before = processCpuUs(load.pid)
  const fromMs = performance.now()
  await Promise.all(sockets.map(sendOn))
  const requests = sent * load.pipeline
  return {
    perSecond: (requests / (performance.now() - fromMs)) * 1000,
    cpuUs: (processCpuUs(load.pid) - before) / requests,
    p99Us: latencies.percentile(99),
  }
}

function prepared({ names, spread, pipeline }: MixedLoad): Buffer[] {
  const draw = spread === 'uniform' ? () => Math.floor(Math.random() * names) : zipf(names)
  return Array.from({ length: Math.ceil(requestsMade / pipeline) }, () => {
    let requests = ''
    for (let request = 0; request < pipeline; request++) requests += incr(mixedName(draw()))
    return Buffer.from(requests, 'latin1')
  })
}

/** Draws n with a chance in proportion to 1/(n + 1); which names are frequent has nothing to do with their order. */
function zipf(names: number): () => number {
  const sums = new Float64Array(names)
  let sum = 0
  for (let index = 0; index < names; index++) {
    sum += 1 / (index + 1)
    sums[index] = sum
  }
  return () => {
    const wanted = Math.random() * sum
    let [low, high] = [0, names - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle]! < wanted) low = middle + 1
      else high = middle
    }
    return low
  }
}
