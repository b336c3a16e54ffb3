/** The operations on the cluster: its state, pinning a shard, draining a node. */
import { z } from 'zod'
import { FahaoError } from '../base/errors.ts'
import { type ClusterStatus, refuseLoneDrain } from '../cluster/status.ts'
import type { EngineStatus } from '../engine/engine.ts'
import type { ClusterView, Services } from './context.ts'
import { httpOperation } from './operation.ts'

const nodeId = z.string().meta({ description: 'new at each start of a node' })

const statusShape = z
  .object({
    cluster: z.string(),
    self: nodeId.meta({ description: 'the node that was asked' }),
    leaseLeftMs: z.number().meta({
      description: 'how long it may lead without another renewal; 0: it may not, and all else is from before',
    }),
    engine: z
      .object({
        state: z.enum(['up', 'down']),
        reason: z.string().nullable().meta({ description: 'why it is down: the last failure' }),
      })
      .meta({ description: 'whether the engine answers the node that was asked' }),
    versions: z
      .array(z.string())
      .meta({ description: 'those that its nodes run; more than one while it is being upgraded' }),
    nodes: z.array(
      z.object({
        id: nodeId,
        resp: z.string().nullable(),
        http: z.string().nullable(),
        version: z.string(),
        joined: z.string().meta({ description: 'ISO 8601, by the node’s own clock' }),
        draining: z.boolean(),
        silentMs: z.number().meta({ description: 'since the node that was asked saw its newest renewal' }),
        leads: z.int().meta({ description: 'how many of the shards that have a leader' }),
      }),
    ),
    shards: z.array(
      z.object({
        shard: z.int(),
        firstSlot: z.int(),
        lastSlot: z.int(),
        leader: nodeId
          .nullable()
          .meta({ description: 'the living node that its record names, whether or not it can issue' }),
        epoch: z.int().meta({ description: 'grows with each new leader' }),
        nobodyForMs: z
          .number()
          .nullable()
          .meta({ description: 'null if its leader can issue: it has sent a heartbeat within a lease' }),
        restsForMs: z.number().nullable().meta({
          description:
            'how long no node takes it: after an advance of the store, or where a counter has refused its leader, another leader may still issue; null: any may take it',
        }),
        wanted: nodeId.nullable().meta({ description: 'the node that should lead it' }),
        isWish: z.boolean().meta({ description: 'whether that was asked for with move' }),
      }),
    ),
  })
  .meta({ id: 'ClusterStatus', description: 'the cluster as the node that was asked sees it' })

/** The cluster, as an answer. */
export type ClusterAnswer = z.output<typeof statusShape>

const moveBody = z
  .strictObject({
    shard: z.int().min(0),
    to: z.string().nullable().meta({ description: 'id of a node; null: let the assignment decide again' }),
  })
  .meta({ id: 'ClusterMove' })

const drainBody = z
  .strictObject({ draining: z.boolean().meta({ description: 'false: take part again' }) })
  .meta({ id: 'ClusterDrain' })

const tag = 'cluster'

const shownNode = '4c8daeed57ba193b4d94df49ccbd7191b9b3cb86'
const shownCluster: ClusterAnswer = {
  cluster: 'ids',
  self: shownNode,
  leaseLeftMs: 1839.6,
  engine: { state: 'up', reason: null },
  versions: ['0.1.0'],
  nodes: [
    {
      id: shownNode,
      resp: '10.0.0.1:7379',
      http: '10.0.0.1:7380',
      version: '0.1.0',
      joined: '2026-11-28T11:10:11.866Z',
      draining: false,
      silentMs: 731.5,
      leads: 1,
    },
  ],
  shards: [
    {
      shard: 0,
      firstSlot: 0,
      lastSlot: 16_383,
      epoch: 1,
      isWish: false,
      leader: shownNode,
      nobodyForMs: null,
      restsForMs: null,
      wanted: shownNode,
    },
  ],
}

const status = httpOperation({
  name: 'http|cluster',
  permissions: { 'http|cluster': ['read', 'cluster'] },
  summary: 'Shows the cluster as this node sees it: its nodes, and the leader of each slot.',
  http: {
    id: 'getCluster',
    method: 'GET',
    path: '/v1/cluster',
    tag,
    answer: ['The cluster.', statusShape],
    errors: ['ERR'],
    example: { answer: shownCluster },
  },
  run: ({ server }) => statusJson(clusterOf(server).status(), server.engine.status()),
})

const move = httpOperation({
  name: 'http|cluster-move',
  permissions: { 'http|cluster-move': ['admin', 'cluster', 'dangerous'] },
  change: 'cluster-move',
  summary: 'Pins a shard to a node, until that node ends.',
  notes: 'Answers when the pin is recorded; the shard is handed over a moment later.',
  http: {
    id: 'moveShard',
    method: 'POST',
    path: '/v1/cluster/move',
    tag,
    body: moveBody,
    answer: ['The pin, as it is recorded.', moveBody],
    errors: ['ERR', 'CONFLICT', 'UNAVAILABLE', 'UNKNOWN'],
    example: { body: { shard: 0, to: null }, answer: { shard: 0, to: null } },
  },
  changed: ({ shard, to }) => `shard ${shard} to ${to ?? 'its assigned node'}`,
  async run({ server }, pin) {
    await clusterOf(server).move(pin.shard, pin.to ?? undefined)
    return pin
  },
})

const drain = httpOperation({
  name: 'cluster|failover',
  change: 'cluster-drain',
  summary: 'Makes this node hand over everything that it leads and take over nothing, or take part again.',
  notes:
    'Ids in order per node are issued here all the same. A restart ends it. Refused where no other node could take over.',
  http: {
    id: 'drainNode',
    method: 'POST',
    path: '/v1/cluster/drain',
    tag,
    body: drainBody,
    answer: ['As it is now.', drainBody],
    errors: ['ERR', 'UNAVAILABLE', 'UNKNOWN'],
    example: { body: { draining: true }, answer: { draining: true } },
  },
  changed: ({ draining }) => (draining ? 'on' : 'off'),
  async run({ server }, { draining }) {
    const cluster = clusterOf(server)
    if (draining) refuseLoneDrain(cluster.status())
    await cluster.drain(draining)
    return { draining }
  },
})

/** Everything at `/v1/cluster`. */
export const clusterOperations = [status, move, drain]

function clusterOf({ cluster }: Services): ClusterView {
  if (cluster !== undefined) return cluster
  throw new FahaoError('ERR', 'this node takes part in no cluster; start it with --cluster NAME')
}

function statusJson(
  { cluster, self, leaseLeftMs, versions, nodes, shards }: ClusterStatus,
  { state, reason }: EngineStatus,
): ClusterAnswer {
  return {
    cluster,
    self,
    leaseLeftMs,
    engine: { state, reason: reason ?? null },
    versions: [...versions],
    nodes: nodes.map(({ id, resp, http, version, joinedMs, draining, silentMs, leads }) => {
      const joined = new Date(joinedMs).toISOString()
      return { id, resp: resp ?? null, http: http ?? null, version, joined, draining, silentMs, leads }
    }),
    shards: shards.map(({ leader, nobodyForMs, restsForMs, wanted, ...shard }) => ({
      ...shard,
      leader: leader?.id ?? null,
      nobodyForMs: nobodyForMs ?? null,
      restsForMs: restsForMs ?? null,
      wanted: wanted === '' ? null : wanted,
    })),
  }
}
