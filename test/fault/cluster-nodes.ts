/** Three nodes that are a cluster, what each says of it, and the faults between them and their engine. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { shardTable, slotOf } from '../../src/cluster/slots.ts'
import { type View, viewOf } from '../launch/cluster.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { startTcpProxy, type TcpProxy } from '../launch/tcp-proxy.ts'
import type { ClusterEngine } from './cluster-engines.ts'

/** The lease of a cluster that is given none, in ms: the default of the server. */
export const defaultLeaseMs = 3000

const shards = 4
const shardOfSlot = shardTable(shards)

/** How to start the nodes. */
export type ClusterOptions = {
  /** In ms. Default: that of the server. */
  readonly leaseMs?: number
  /** A proxy of its own between each node and each server of the engine. */
  readonly proxied?: boolean
  /** Further flags of each node, and what each has in its environment. */
  readonly args?: (index: number) => readonly string[]
  readonly env?: (index: number) => Readonly<Record<string, string>>
  /** Where each says that it is reached; default: where it is. */
  readonly announced?: readonly number[]
  /** Folder of another build. Default: this checkout. */
  readonly checkout?: string
}

/** A node, and what stands between it and its engine; empty where nothing does. */
export type ClusterNode = {
  readonly server: FahaoServer
  readonly proxies: readonly TcpProxy[]
  /** The port that it announces. */
  readonly announced: number
}

/** Starts three nodes on an unused place of an engine; resolves when all have joined and every shard is led. */
export async function startCluster(
  t: Lifetime,
  engine: ClusterEngine,
  {
    leaseMs = defaultLeaseMs,
    proxied = false,
    args = () => [],
    env = () => ({}),
    announced = [],
    checkout,
  }: ClusterOptions = {},
): Promise<TestCluster> {
  const place = await engine.newPlace()
  const nodes = await Promise.all(
    [0, 1, 2].map(async (index): Promise<ClusterNode> => {
      const proxies = proxied ? await Promise.all(engine.ports.map((port) => startTcpProxy(t, port))) : []
      const url = proxies.reduce(
        (text, { port }, at) => text.replace(`127.0.0.1:${engine.ports[at]}`, `127.0.0.1:${port}`),
        place,
      )
      const cluster = ['--cluster', 'ids', '--shards', `${shards}`, '--lease-ttl', `${leaseMs}ms`]
      const port = announced[index]
      const elsewhere = port === undefined ? [] : ['--announce', `127.0.0.1:${port}`]
      const server = await startFahao(t, {
        engine: url,
        args: [...cluster, '--log-level', 'info', ...elsewhere, ...args(index)],
        env: env(index),
        checkout,
      })
      return { server, proxies, announced: port ?? server.resp }
    }),
  )
  const cluster = new TestCluster(nodes, place, leaseMs)
  await cluster.untilComplete()
  return cluster
}

/** Three nodes that run. */
export class TestCluster {
  readonly nodes: readonly ClusterNode[]
  /** The engine's URL, past all proxies. */
  readonly engine: string
  readonly leaseMs: number

  constructor(nodes: readonly ClusterNode[], engine: string, leaseMs: number) {
    this.nodes = nodes
    this.engine = engine
    this.leaseMs = leaseMs
  }

  /** The longest time that a shard may have no leader, in ms: lease, margin and a second. */
  get vacancyMs(): number {
    return this.leaseMs * 1.1 + 1000
  }

  get ports(): number[] {
    return this.nodes.map(({ server }) => server.resp)
  }

  /** The cluster as a node sees it. */
  status({ server }: ClusterNode): Promise<View> {
    return viewOf(server)
  }

  /** The leader of a generator, as the asked node sees it; undefined: none. */
  async leaderOf(generator: string, asked = this.nodes[0]!): Promise<ClusterNode | undefined> {
    const { nodes, shards } = await this.status(asked)
    const { leader, nobodyForMs } = shards[shardOf(generator)]!
    const node = nodes.find(({ id }) => id === leader)
    return nobodyForMs === null
      ? this.nodes.find(({ announced }) => node?.resp.endsWith(`:${announced}`))
      : undefined
  }

  /** The leader of a generator; waits until `asked` sees one. */
  async untilLed(generator: string, asked = this.nodes[0]!): Promise<ClusterNode> {
    return await eventually(`no node leads ${generator}`, async () => {
      return await this.leaderOf(generator, asked)
    })
  }

  /** Every node knows the others, and every shard is led. */
  async untilComplete(): Promise<void> {
    await this.#until('the cluster is not complete', ({ shards }) =>
      shards.every(({ nobodyForMs }) => nobodyForMs === null),
    )
  }

  /** What is more, every shard is led where it should be, and each node leads one. */
  async untilSettled(): Promise<void> {
    await this.#until(
      'the cluster is not settled',
      ({ nodes, shards }) =>
        shards.every(({ nobodyForMs, leader, wanted }) => nobodyForMs === null && leader === wanted) &&
        nodes.every(({ leads }) => leads > 0),
    )
  }

  async #until(complaint: string, holds: (status: View) => boolean): Promise<void> {
    for (const node of this.nodes) {
      await eventually(complaint, async () => {
        const status = await this.status(node)
        return (status.nodes.length === this.nodes.length && holds(status)) || undefined
      })
    }
  }

  /** Pins the shard of a generator to another node; resolves when the pin is recorded. */
  async move(generator: string, to: ClusterNode): Promise<void> {
    const { self } = await this.status(to)
    const body = JSON.stringify({ shard: shardOf(generator), to: self })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${to.server.http}/v1/cluster/move`, { method: 'POST', headers, body })
    assert.equal(answer.status, 200, await answer.text())
  }

  /** Creates a generator, wherever it is led. */
  async create(name: string, kind: string, ...options: string[]): Promise<void> {
    const reply = await this.ask(name, 'ID.CREATE', name, 'KIND', kind, ...options)
    assert.equal(reply instanceof ReplyError ? reply.text : reply, 'OK')
  }

  /** Sends a command about a generator to its leader. */
  async ask(generator: string, ...command: (string | number)[]) {
    const leader = await this.untilLed(generator)
    const client = await leader.server.connect()
    try {
      return await client.command(...command)
    } finally {
      await client.close()
    }
  }
}

/** The shard of a generator. */
export function shardOf(generator: string): number {
  return shardOfSlot[slotOf(generator)]!
}

/** A connection to a node, which the caller closes. */
export function connectTo({ server }: ClusterNode): Promise<RawClient> {
  return server.connect()
}

/** Looks again and again until there is something; fails with `complaint` after half a minute. */
export async function eventually<Found>(
  complaint: string,
  look: () => Promise<Found | undefined>,
  withinMs = 30_000,
): Promise<Found> {
  const giveUpAt = performance.now() + withinMs
  let failure: unknown
  for (;;) {
    try {
      const found = await look()
      if (found !== undefined) return found
      failure = undefined
    } catch (error) {
      failure = error
    }
    if (performance.now() > giveUpAt)
      throw new Error(`after ${withinMs} ms: ${complaint}`, { cause: failure })
    await pause(20)
  }
}
