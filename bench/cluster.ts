/** Clusters: the cost of leading for a node, and the gain of more nodes with many generators. */
import { setTimeout as pause } from 'node:timers/promises'
import { shardTable, slotOf } from '../src/cluster/slots.ts'
import { type EtcdCluster, startEtcd } from '../test/launch/etcd.ts'
import { type FahaoServer, startFahao } from '../test/launch/fahao.ts'
import { type Lifetime, Scope } from '../test/launch/lifetime.ts'
import { processCpuUs } from './process-cpu.ts'
import { type RedisLoad, redisBenchmark } from './redis-benchmark.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

const shards = 12
const shardOfSlot = shardTable(shards)
const flags = ['--auto-create', '*=sequence', '--log-level', 'warn']
/** CPU per request of a clustered node, relative to a single node. */
const leadingMost = 1.05
const pipelines = [1, 16, 128] as const
const firstRequests = { 1: 30_000, 16: 200_000, 128: 500_000 } as const
/**
 * Two processes of one kind differ by a fifth and more at any load, by the order of compilation and the layout of memory.
 * So each round starts fresh processes, and alternates between them.
 */
const turns = 4
/** The cost of leading is a small part of that difference, and needs more rounds. */
const leadingRoundsPerRound = 5
/**
 * Warm-up before a measurement. A young process collects more garbage, in proportion to its loaded code: that is a cost of
 * the start.
 */
const warmUp = { keys: 1, pipeline: 128, requests: 5_000_000 } as const
/** Generators of each node, in the case of many. */
const many = 1000

/** Nodes, each with a tag whose slot it leads. */
type Party = { readonly what: string; readonly nodes: readonly { server: FahaoServer; tag: string }[] }
type Measured = { readonly perSecond: number; readonly cpuUs: number }
type Pipeline = (typeof pipelines)[number]
/** By pipeline, then by party, then by round. */
type Table = ReadonlyMap<Pipeline, readonly (readonly Measured[])[]>

/** The cost of leading, then the scaling. */
export async function cluster(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const etcd = await startEtcd(lifetime)
  return [await leading(etcd, effort), await scaling(etcd, effort)]
}

async function leading(etcd: EtcdCluster, { rounds, seconds, quick }: Effort): Promise<Section> {
  const effort = { rounds: quick ? rounds : rounds * leadingRoundsPerRound, seconds: seconds / turns, quick }
  const table = await onFreshProcesses(effort, pipelines, 1, async (scope, round) => {
    const server = await startFahao(scope, { args: flags })
    const alone = { what: 'standalone on SQLite', nodes: [{ server, tag: 'alone' }] }
    const led = await startNodes(scope, etcd, 1, `alone-${round}`)
    for (const party of [alone, led]) await ask(party, warmUp)
    return [alone, led]
  })
  const figures: Figure[] = []
  const absolute: Figure[] = []
  for (const [pipeline, [alone = [], led = []]] of table) {
    const at = `pipeline ${pipeline}`
    figures.push(
      {
        what: `${at}: CPU per request, leader in a cluster to standalone`,
        unit: '×',
        budget: { most: leadingMost },
        ...ratioOf(all(led, 'cpuUs'), all(alone, 'cpuUs')),
      },
      {
        what: `${at}: throughput, the same`,
        unit: '×',
        ...ratioOf(all(led, 'perSecond'), all(alone, 'perSecond')),
      },
    )
    absolute.push(
      { what: `${at}: standalone, CPU per request`, unit: 'µs', ...spreadOf(all(alone, 'cpuUs')) },
      { what: `${at}: leader, CPU per request`, unit: 'µs', ...spreadOf(all(led, 'cpuUs')) },
    )
  }
  const how = `INCR of one sequence, \`redis-benchmark -c 50\`; a pair of fresh processes in each round, after ${warmUp.requests / 1e6} million requests each, asked ${turns} times each for about ${effort.seconds} s, in turns; median of ${effort.rounds} pairs. The leader stands on etcd, alone in its cluster.`
  return { name: 'Cluster: what leading costs', how, figures: [...figures, ...absolute] }
}

async function scaling(etcd: EtcdCluster, effort: Effort): Promise<Section> {
  const counts = [1, 2, 3]
  const each = { ...effort, seconds: effort.seconds / 2 }
  const table = await onFreshProcesses(each, [16, 128], many, async (scope, round) => {
    const parties = []
    for (const count of counts) parties.push(await startNodes(scope, etcd, count, `${count}-${round}`))
    return parties
  })
  const figures: Figure[] = []
  for (const [pipeline, [one = [], ...more]] of table) {
    const at = `pipeline ${pipeline}`
    for (const [index, nodes] of more.entries()) {
      const what = `${counts[index + 1]} nodes to one`
      figures.push(
        {
          what: `${at}: ids per second, ${what}`,
          unit: '×',
          ...ratioOf(all(nodes, 'perSecond'), all(one, 'perSecond')),
        },
        { what: `${at}: CPU per id, ${what}`, unit: '×', ...ratioOf(all(nodes, 'cpuUs'), all(one, 'cpuUs')) },
      )
    }
    for (const [index, nodes] of [one, ...more].entries()) {
      const what = nameOf(counts[index]!)
      const perSecond = all(nodes, 'perSecond').map((value) => value / 1000)
      figures.push({ what: `${at}: ${what}, ids`, unit: 'k/s', ...spreadOf(perSecond) })
      figures.push({ what: `${at}: ${what}, CPU per id`, unit: 'µs', ...spreadOf(all(nodes, 'cpuUs')) })
    }
  }
  const how = `As above, each node asked by a \`redis-benchmark\` of its own for ${many} sequences that it leads, all at once, ${turns} times for about ${each.seconds} s; fresh processes in each of ${effort.rounds} rounds; CPU is that of the nodes. The clients, the nodes and etcd share this machine’s processors, so ids per second tell less than CPU per id.`
  return { name: 'Cluster: one, two and three nodes', how, figures }
}

function all(measured: readonly Measured[], what: keyof Measured): number[] {
  return measured.map((each) => each[what])
}

/** Starts fresh parties in each round, and measures each `turns` times, alternating. */
async function onFreshProcesses(
  effort: Effort,
  pipelines: readonly Pipeline[],
  keys: number,
  start: (scope: Scope, round: number) => Promise<Party[]>,
): Promise<Table> {
  const table = new Map<Pipeline, Measured[][]>(pipelines.map((pipeline) => [pipeline, []]))
  for (let round = 0; round < effort.rounds; round++) {
    const scope = new Scope()
    try {
      const parties = await start(scope, round)
      for (const pipeline of pipelines) {
        const measured = await measureAll(parties, { ...effort, rounds: turns }, pipeline, keys)
        for (const [at, party] of parties.entries()) {
          const columns = table.get(pipeline)!
          columns[at] = [...(columns[at] ?? []), meanOf(measured.get(party)!)]
        }
      }
    } finally {
      await scope.end()
    }
  }
  return table
}

function meanOf(measured: readonly Measured[]): Measured {
  const mean = (what: keyof Measured) => measured.reduce((sum, each) => sum + each[what], 0) / measured.length
  return { perSecond: mean('perSecond'), cpuUs: mean('cpuUs') }
}

async function measureAll(parties: readonly Party[], effort: Effort, pipeline: Pipeline, keys: number) {
  const requests = new Map<Party, number>()
  for (const party of parties) {
    // Nearly every name occurs in the warm-up, so that the measurement creates none.
    await ask(party, { keys, pipeline: 16, requests: keys * 20 })
    const { perSecond } = await ask(party, { keys, pipeline, requests: firstRequests[pipeline] })
    const each = (perSecond * effort.seconds) / party.nodes.length
    requests.set(party, Math.ceil(each / pipeline) * pipeline)
  }
  return await interleaved(parties, effort.rounds, (party) =>
    ask(party, { keys, pipeline, requests: requests.get(party)! }),
  )
}

/** Sends requests to all nodes at once. */
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

/** @param name of the store that they share. @param checkout an earlier build. */
export async function startNodes(
  lifetime: Lifetime,
  etcd: EtcdCluster,
  count: number,
  name: string,
  checkout?: string,
): Promise<Party> {
  const engine = etcd.url(name)
  const args = ['--cluster', 'bench', '--shards', `${shards}`, ...flags]
  const servers = await Promise.all(
    Array.from({ length: count }, () =>
      startFahao(lifetime, { engine, args, ...(checkout && { checkout }) }),
    ),
  )
  const nodes = []
  for (const server of servers) nodes.push({ server, tag: await tagLedBy(server, count) })
  return { what: nameOf(count), nodes }
}

function nameOf(count: number): string {
  return count === 1 ? 'one node' : `${count} nodes`
}

type Status = {
  readonly self: string
  readonly nodes: readonly unknown[]
  readonly shards: readonly { readonly leader: string | null; readonly wanted: string | null }[]
}

/** A tag in a slot that the node leads, once every shard has its assigned leader. */
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
