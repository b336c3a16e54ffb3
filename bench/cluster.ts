/** Clusters: what leading costs a node, and what more nodes bring where there are many generators. */
import { setTimeout as pause } from 'node:timers/promises'
import { shardTable, slotOf } from '../src/cluster/slots.ts'
import { type EtcdCluster, startEtcd } from '../test/launch/etcd.ts'
import { type FahaoServer, startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { processCpuUs } from './process-cpu.ts'
import { type RedisLoad, redisBenchmark } from './redis-benchmark.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

const shards = 12
const shardOfSlot = shardTable(shards)
const flags = ['--auto-create', '*=sequence', '--log-level', 'warn']
/** A clustered node's CPU per request, to one that stands alone. */
const leadingMost = 1.05
const pipelines = [1, 16, 128] as const
const firstRequests = { 1: 10_000, 16: 100_000, 128: 300_000 } as const
/**
 * What leading costs is a twentieth at most, and less than what two processes that run the same code differ by: so there are
 * several of each, and many short rounds.
 */
const copies = 2
const roundsPerRound = 3
/** Generators of each node, where there are many. */
const many = 1000

/** Nodes, each with a tag of which it leads the slot. */
type Party = { readonly what: string; readonly nodes: readonly { server: FahaoServer; tag: string }[] }
type Measured = { readonly perSecond: number; readonly cpuUs: number }

/** What leading costs, then how it scales. */
export async function cluster(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const etcd = await startEtcd(lifetime)
  const alone: Party[] = []
  const led: Party[] = []
  for (let copy = 0; copy < copies; copy++) {
    const server = await startFahao(lifetime, { args: flags })
    alone.push({ what: 'standalone on SQLite', nodes: [{ server, tag: 'alone' }] })
    led.push(await startNodes(lifetime, etcd, 1, copy))
  }
  // Before there are others, who look at their records now and then.
  const costs = await leading(alone, led, effort)
  const parties = [led[0]!, await startNodes(lifetime, etcd, 2), await startNodes(lifetime, etcd, 3)]
  return [costs, await scaling(parties, effort)]
}

async function leading(
  alone: readonly Party[],
  led: readonly Party[],
  { rounds, seconds, quick }: Effort,
): Promise<Section> {
  const effort = { rounds: rounds * roundsPerRound, seconds: seconds / 2, quick }
  const figures: Figure[] = []
  const absolute: Figure[] = []
  for (const pipeline of pipelines) {
    const measured = await measureAll([...alone, ...led], effort, pipeline, 1)
    const sums = (parties: readonly Party[], what: keyof Measured) =>
      Array.from({ length: effort.rounds }, (_, round) =>
        parties.reduce((sum, party) => sum + measured.get(party)![round]![what], 0),
      )
    const cpu = (parties: readonly Party[]) => sums(parties, 'cpuUs')
    const rate = (parties: readonly Party[]) => sums(parties, 'perSecond')
    const at = `pipeline ${pipeline}`
    figures.push(
      {
        what: `${at}: CPU per request, leader in a cluster to standalone`,
        unit: '×',
        budget: { most: leadingMost },
        ...ratioOf(cpu(led), cpu(alone)),
      },
      { what: `${at}: throughput, the same`, unit: '×', ...ratioOf(rate(led), rate(alone)) },
    )
    absolute.push(
      { what: `${at}: standalone, CPU per request`, unit: 'µs', ...meanSpreadOf(cpu(alone)) },
      { what: `${at}: leader, CPU per request`, unit: 'µs', ...meanSpreadOf(cpu(led)) },
    )
  }
  const how = `INCR of one sequence, \`redis-benchmark -c 50\`, about ${effort.seconds} s each, interleaved; ${copies} processes of each, ratios of their sums round by round, median of ${effort.rounds}. The leaders stand on one etcd, each in a cluster of its own.`
  return { name: 'Cluster: what leading costs', how, figures: [...figures, ...absolute] }
}

/** Of one process, where sums of all were measured. */
function meanSpreadOf(sums: readonly number[]) {
  return spreadOf(sums.map((sum) => sum / copies))
}

async function scaling(parties: readonly Party[], effort: Effort): Promise<Section> {
  const figures: Figure[] = []
  for (const pipeline of [16, 128] as const) {
    const rounds = await measureAll(parties, effort, pipeline, many)
    const of = (party: Party, what: keyof Measured) => rounds.get(party)!.map((each) => each[what])
    const at = `pipeline ${pipeline}`
    const one = parties[0]!
    for (const party of parties.slice(1)) {
      figures.push(
        {
          what: `${at}: ids per second, ${party.what} to one`,
          unit: '×',
          ...ratioOf(of(party, 'perSecond'), of(one, 'perSecond')),
        },
        {
          what: `${at}: CPU per id, ${party.what} to one`,
          unit: '×',
          ...ratioOf(of(party, 'cpuUs'), of(one, 'cpuUs')),
        },
      )
    }
    for (const party of parties) {
      const perSecond = of(party, 'perSecond').map((value) => value / 1000)
      figures.push({ what: `${at}: ${party.what}, ids`, unit: 'k/s', ...spreadOf(perSecond) })
      figures.push({ what: `${at}: ${party.what}, CPU per id`, unit: 'µs', ...spreadOf(of(party, 'cpuUs')) })
    }
  }
  const how = `As above, each node asked by a \`redis-benchmark\` of its own for ${many} sequences that it leads, all at once; CPU is that of the nodes. The clients, the nodes and etcd share this machine’s processors, so ids per second tell less than CPU per id.`
  return { name: 'Cluster: one, two and three nodes', how, figures }
}

async function measureAll(
  parties: readonly Party[],
  effort: Effort,
  pipeline: (typeof pipelines)[number],
  keys: number,
) {
  const requests = new Map<Party, number>()
  for (const party of parties) {
    // Every name is met with near certainty, so that what is measured creates none.
    await ask(party, { keys, pipeline: 16, requests: keys * 20 })
    const { perSecond } = await ask(party, { keys, pipeline, requests: firstRequests[pipeline] })
    const each = (perSecond * effort.seconds) / party.nodes.length
    requests.set(party, Math.ceil(each / pipeline) * pipeline)
  }
  return await interleaved(parties, effort.rounds, (party) =>
    ask(party, { keys, pipeline, requests: requests.get(party)! }),
  )
}

/** Asks every node at once. */
async function ask({ nodes }: Party, load: RedisLoad): Promise<Measured> {
  const cpuUs = () => nodes.reduce((sum, { server }) => sum + processCpuUs(server.pid), 0)
  const before = cpuUs()
  const rates = await Promise.all(
    nodes.map(({ server, tag }) =>
      redisBenchmark(server.resp, { ...load, command: ['INCR', `{${tag}}__rand_int__`] }),
    ),
  )
  return {
    perSecond: rates.reduce((sum, rate) => sum + rate, 0),
    cpuUs: (cpuUs() - before) / (load.requests * nodes.length),
  }
}

async function startNodes(lifetime: Lifetime, etcd: EtcdCluster, count: number, copy = 0): Promise<Party> {
  const engine = etcd.url(`nodes${count}-${copy}`)
  const args = ['--cluster', 'bench', '--shards', `${shards}`, ...flags]
  const servers = await Promise.all(
    Array.from({ length: count }, () => startFahao(lifetime, { engine, args })),
  )
  const nodes = []
  for (const server of servers) nodes.push({ server, tag: await tagLedBy(server, count) })
  return { what: count === 1 ? 'one node' : `${count} nodes`, nodes }
}

type Status = {
  readonly self: string
  readonly nodes: readonly unknown[]
  readonly shards: readonly { readonly leader: string | null; readonly wanted: string | null }[]
}

/** A tag in a slot that the node leads, once every shard is where it belongs. */
async function tagLedBy(server: FahaoServer, count: number): Promise<string> {
  for (;;) {
    const answer = await fetch(`${server.http}/v1/cluster`)
    const { self, nodes, shards: all } = (await answer.json()) as Status
    const settled =
      nodes.length === count && all.every(({ leader, wanted }) => leader !== null && leader === wanted)
    const tags = Array.from({ length: 1000 }, (_, at) => `t${at}`)
    const own = tags.find((tag) => all[shardOfSlot[slotOf(tag)]!]!.leader === self)
    if (settled && own !== undefined) return own
    await pause(100)
  }
}
