/** TLS: INCR beside Redis with TLS, and beside the same server without. */
import { join } from 'node:path'
import { makeCertificates } from '../test/launch/certificates.ts'
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { temporaryFolder } from '../test/launch/places.ts'
import { startRedis } from '../test/launch/redis.ts'
import { processCpuUs } from './process-cpu.ts'
import { redisBenchmark } from './redis-benchmark.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

type Contender = { readonly name: string; readonly port: number; readonly pid: number; readonly ca?: string }

const pipelines = [1, 16, 128] as const
const firstRequests = { 1: 10_000, 16: 100_000, 128: 300_000 } as const

/** INCR of 50 clients that stay connected: handshakes are not measured. */
export async function tls(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const files = await makeCertificates(join(temporaryFolder(lifetime), 'tls'))
  const { ca } = files
  const args = ['--auto-create', '*=sequence', '--rounding-guard', 'off', '--log-level', 'warn']
  const ours = await startFahao(lifetime, { args, tls: files })
  const plain = await startFahao(lifetime, { args })
  const redis: Contender = { name: 'Redis, TLS', ca, ...(await startRedis(lifetime, { tls: files })) }
  const fahao: Contender = { name: 'Fahao, TLS', ca, port: ours.resp, pid: ours.pid }
  const without: Contender = { name: 'Fahao, no TLS', port: plain.resp, pid: plain.pid }
  const figures: Figure[] = []
  const absolute: Figure[] = []
  for (const pipeline of pipelines) {
    const rounds = await measureAll([redis, fahao, without], effort, pipeline)
    const ratio = (kind: 'perSecond' | 'cpuUs', peer: Contender) =>
      ratioOf(
        ...([fahao, peer].map((each) => rounds.get(each)!.map((one) => one[kind])) as [number[], number[]]),
      )
    const at = `pipeline ${pipeline}`
    figures.push(
      { what: `${at}: throughput to ${redis.name}`, unit: '×', ...ratio('perSecond', redis) },
      { what: `${at}: server CPU per request to ${redis.name}`, unit: '×', ...ratio('cpuUs', redis) },
      { what: `${at}: server CPU per request to ${without.name}`, unit: '×', ...ratio('cpuUs', without) },
    )
    for (const [{ name }, measured] of rounds) {
      const perSecond = spreadOf(measured.map(({ perSecond }) => perSecond / 1000))
      const cpuUs = spreadOf(measured.map(({ cpuUs }) => cpuUs))
      absolute.push({ what: `${at}: ${name}, requests`, unit: 'k/s', ...perSecond })
      absolute.push({ what: `${at}: ${name}, CPU per request`, unit: 'µs', ...cpuUs })
    }
  }
  const how = `\`redis-benchmark --tls -c 50\`, about ${effort.seconds} s each, interleaved; ratios round by round, median of ${effort.rounds}.`
  return [{ name: 'RESP: INCR with TLS', how, figures: [...figures, ...absolute] }]
}

async function measureAll(
  contenders: readonly Contender[],
  effort: Effort,
  pipeline: (typeof pipelines)[number],
) {
  const requests = new Map<Contender, number>()
  for (const contender of contenders) {
    const load = { pipeline, requests: firstRequests[pipeline], ...(contender.ca && { ca: contender.ca }) }
    await redisBenchmark(contender.port, load)
    const perSecond = await redisBenchmark(contender.port, load)
    requests.set(contender, Math.ceil((perSecond * effort.seconds) / pipeline) * pipeline)
  }
  return interleaved(contenders, effort.rounds, async (contender) => {
    const { port, pid, ca } = contender
    const count = requests.get(contender)!
    const before = processCpuUs(pid)
    const perSecond = await redisBenchmark(port, { pipeline, requests: count, ...(ca && { ca }) })
    return { perSecond, cpuUs: (processCpuUs(pid) - before) / count }
  })
}
