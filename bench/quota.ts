/** Namespaces: what a client at twenty times its quota does to the latency of another namespace. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type FahaoServer, startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { processCpuUs } from './process-cpu.ts'
import type { QuotaAnswers, QuotaLoad } from './quota-load.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

const runFile = promisify(execFile)
const times = 20
const connections = 20
/** The steady client of the other namespace. */
const steady = { command: ['INCR', 'good:order'], connections: 8, ratePerSecond: 1000 }
/** The load of the other client starts this much earlier, and ends later. */
const marginSeconds = 0.4

/**
 * The measured server and its steady client share one processor; the client beyond its quota has another one, as on a
 * machine of its own. Otherwise the figures tell how the kernel shares processors.
 */
const [measured, remote] = ['0', '1'].map((processor) => ['taskset', '--cpu-list', processor] as const)

/** Where the client beyond its quota sends its requests. */
type Place = 'nowhere' | 'another server' | 'the same server'
const places: readonly Place[] = ['nowhere', 'another server', 'the same server']

type Round = {
  readonly p99: number
  readonly refused: number
  readonly cpuSeconds: number
  readonly greedy: QuotaAnswers | undefined
}

/** Two quotas: a small one of single requests, a large one of pipelines. */
export async function quota(lifetime: Lifetime, { rounds, seconds }: Effort): Promise<Section[]> {
  const server = await startFahao(lifetime, { wrapper: measured! })
  const other = await startFahao(lifetime, { wrapper: remote! })
  const admins = [
    await RawClient.connect(server.resp, lifetime),
    await RawClient.connect(other.resp, lifetime),
  ]
  for (const admin of admins) {
    for (const name of ['good:order', 'bad:order']) await admin.command('ID.CREATE', name, 'KIND', 'sequence')
    await admin.command('ID.NAMESPACE', 'SET', 'good', 'MATCH', 'good:*', 'RATE', 1_000_000)
  }
  const sections: Section[] = []
  for (const idsPerSecond of [1000, 20_000]) {
    for (const admin of admins)
      await admin.command('ID.NAMESPACE', 'SET', 'bad', 'MATCH', 'bad:*', 'RATE', idsPerSecond)
    const all = await interleaved(places, rounds, (place) =>
      round(place, server, other, idsPerSecond, seconds),
    )
    sections.push(sectionOf(idsPerSecond, seconds, all))
  }
  return sections
}

async function round(
  place: Place,
  server: FahaoServer,
  other: FahaoServer,
  idsPerSecond: number,
  seconds: number,
): Promise<Round> {
  const target = place === 'another server' ? other : server
  const longer = seconds + 2 * marginSeconds
  const bad = { command: ['INCR', 'bad:order'], connections, ratePerSecond: idsPerSecond * times }
  const greedy =
    place === 'nowhere' ? undefined : send(remote!, { ...bad, port: target.resp, seconds: longer })
  await new Promise((resolve) => setTimeout(resolve, marginSeconds * 1000))
  const before = processCpuUs(server.pid)
  const { p99, refused } = await send(['nice', '-n', '-15', ...measured!], {
    ...steady,
    port: server.resp,
    seconds,
  })
  return { p99, refused, cpuSeconds: (processCpuUs(server.pid) - before) / 1e6, greedy: await greedy }
}

async function send([program, ...processor]: readonly string[], load: QuotaLoad): Promise<QuotaAnswers> {
  const path = join(import.meta.dirname, 'quota-load.ts')
  const { stdout } = await runFile(program!, [...processor, process.execPath, path, JSON.stringify(load)])
  return JSON.parse(stdout)
}

function sectionOf(idsPerSecond: number, seconds: number, rounds: ReadonlyMap<Place, Round[]>): Section {
  const [alone, elsewhere, here] = places.map((place) => rounds.get(place)!) as [Round[], Round[], Round[]]
  const p99 = (rounds: readonly Round[]) => rounds.map((each) => each.p99)
  const figure = (
    what: string,
    unit: string,
    spread: ReturnType<typeof spreadOf>,
    budget?: Figure['budget'],
  ) => ({
    what,
    unit,
    ...spread,
    ...(budget && { budget }),
  })
  const refusedPerSecond = here.map(({ greedy }) => greedy!.refused / (seconds + 2 * marginSeconds))
  const cpu = here.map((each, index) => {
    const extra = each.cpuSeconds - alone[index]!.cpuSeconds
    return (extra / seconds / refusedPerSecond[index]!) * 1e6
  })
  return {
    name: `Namespaces: ${idsPerSecond * times} requests a second against a quota of ${idsPerSecond}`,
    how: `${connections} connections send ${times} times what their namespace may issue, whatever the replies; ${steady.connections} others draw ${steady.ratePerSecond} ids a second from another namespace and are timed. The server and these share one processor; the load comes from another one. For comparison it is also sent to another server there. ${seconds} s each, interleaved.`,
    figures: [
      figure('p99 beside the load, to p99 alone', '×', ratioOf(p99(here), p99(alone)), { most: 1.5 }),
      figure(
        'p99 beside the load, to p99 with the load on another server',
        '×',
        ratioOf(p99(here), p99(elsewhere)),
      ),
      figure('p99 alone', 'µs', spreadOf(p99(alone))),
      figure('p99 with the load on another server', 'µs', spreadOf(p99(elsewhere))),
      figure('p99 beside the load', 'µs', spreadOf(p99(here))),
      figure('requests of the other namespace refused', '', spreadOf(here.map(({ refused }) => refused)), {
        most: 0,
      }),
      figure('refused requests per second', '', spreadOf(refusedPerSecond)),
      figure('server CPU per refused request', 'µs', spreadOf(cpu)),
    ],
  }
}
