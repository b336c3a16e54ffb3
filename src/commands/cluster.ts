/** CLUSTER: which node leads which slots, for the libraries of Redis Cluster, and handing them over. */
import { FahaoError } from '../base/errors.ts'
import { slotCount, slotOf } from '../cluster/slots.ts'
import { refuseLoneDrain } from '../cluster/status.ts'
import type { ClusterView } from '../operations/context.ts'
import { type Arguments, syntaxError } from './arguments.ts'
import { type SlotRange, type TableNode, tableNodes } from './cluster-table.ts'
import { type Command, MapReply, ok, oneOf, type Reply, VerbatimText } from './command.ts'
import { container } from './command-help.ts'
import type { CommandContext } from './context.ts'
import { everyGenerator } from './generator-names.ts'

const common = {
  flags: ['loading', 'stale'],
  permission: 'connection',
  group: 'cluster',
} as const

/** CLUSTER and its subcommands. */
export const clusterCommand: Command = container({
  ...common,
  flags: [],
  name: 'cluster',
  summary: 'A container for commands about the cluster.',
  subcommands: [
    {
      ...common,
      name: 'slots',
      arity: 2,
      summary: 'Returns the slots that each node leads.',
      reply:
        'An array of runs: first slot, last slot, and nodes as host, port, id and an empty map: the leader, then those that lead nothing and take over when it dies.',
      notes:
        'Every slot is in it. The nodes behind the leader are no replicas in the sense of Redis: they have no data of their own, and answer `MOVED`. A slot without a leader stands under the node that should lead it, where requests wait; CLUSTER INFO counts the slots that have a leader. The addresses are those that nodes announce.',
      handler: (context) => slots(context),
    },
    {
      ...common,
      name: 'shards',
      arity: 2,
      summary: 'Returns the slots that each node leads, a node at a time.',
      reply:
        'An array of maps: slots (first and last of each run), nodes (an array of the leader, with the role `master`, and those that lead nothing and take over when it dies, with the role `replica`).',
      handler: (context) => shards(context),
    },
    {
      ...common,
      name: 'nodes',
      arity: 2,
      summary: 'Lists the living nodes with the slots that they lead.',
      reply: 'Lines as Redis has them; the port of the cluster bus is 0, since there is none.',
      notes:
        'A node that leads nothing and takes over when another dies is a `slave`. Its line names one master, as in Redis, though it stands by for all.',
      handler: (context) =>
        new VerbatimText(
          table(context)
            .map((node, index, all) => nodeLine(context, node, masterOf(node, index, all)))
            .join(''),
        ),
    },
    {
      ...common,
      name: 'info',
      arity: 2,
      summary: 'Describes the state of the cluster.',
      reply: 'Lines of `field:value`.',
      notes:
        '`cluster_slots_ok` counts the slots that have a leader in this node’s view; `cluster_slots_pfail` those whose leader has sent no heartbeat for a lease, has lost its lease, or is handing them over; `cluster_slots_fail` those without a leader. `cluster_versions` lists the versions of Fahao that the nodes run: more than one while the cluster is being upgraded. `cluster_state` is `fail` only if no slot has a leader: otherwise requests for slots without one wait, and generators that are in order per node need no leader.',
      handler: (context) => new VerbatimText(info(context)),
    },
    {
      ...common,
      name: 'myid',
      arity: 2,
      summary: 'Returns the id of this node.',
      reply: '40 hexadecimal digits; new at each start, and after the node was declared dead.',
      handler: (context) => clusterOf(context).nodeId,
    },
    {
      ...common,
      name: 'keyslot',
      arity: 3,
      summary: 'Returns the slot of a name.',
      reply: 'An integer, 0 to 16383.',
      notes:
        'CRC16 of the name, or of the text between the first `{` and the next `}`: names that share it have the same leader.',
      arguments: [{ name: 'name', type: 'string' }],
      handler: (context, args) => {
        clusterOf(context)
        return slotOf(args.text(0))
      },
    },
    {
      ...common,
      permission: 'read',
      name: 'countkeysinslot',
      arity: 3,
      summary: 'Counts the generators in a slot.',
      reply: 'An integer.',
      notes: 'Reads every name.',
      arguments: [{ name: 'slot', type: 'integer' }],
      handler: (context, args) => countNames(context, slotAt(args, 0)),
    },
    // For operators: redis-cli sends it as it does to Redis Cluster.
    {
      ...common,
      flags: ['admin', 'stale'],
      permission: 'admin',
      change: { event: 'cluster-drain', objects: () => [''] },
      name: 'failover',
      arity: -2,
      summary: 'Demotes this node: it hands over everything that it leads, and takes over nothing.',
      reply: '`OK`, before the hand-over is done.',
      notes:
        'Unlike in Redis it is sent to the leader: there are no replicas to send it to. It is refused while no other node could take over; with `FORCE` it is accepted, and the slots stay until one can. `TAKEOVER` ends it: the node takes part again, and leads again what is assigned to it. A restart ends it too. The same as `fahao cluster drain`.',
      arguments: [{ ...oneOf('options', 'FORCE', 'TAKEOVER'), optional: true }],
      handler: failover,
    },
  ],
})

function clusterOf({ server }: CommandContext): ClusterView {
  if (server.cluster !== undefined) return server.cluster
  throw new FahaoError('ERR', 'This instance has cluster support disabled')
}

function table(context: CommandContext): TableNode[] {
  return tableNodes(clusterOf(context), context.session.localAddress)
}

function slots(context: CommandContext): Reply {
  const nodes = table(context)
  const replicas = nodes.filter(({ isReplica }) => isReplica)
  const place = ({ host, port, id }: TableNode) => [host, port, id, new MapReply([])]
  return nodes
    .flatMap((master) => master.slots.map((run) => ({ ...run, master })))
    .sort((a, b) => a.first - b.first)
    .map(({ first, last, master }) => [first, last, ...[master, ...replicas].map(place)])
}

function shards(context: CommandContext): Reply {
  const nodes = table(context)
  const replicas = nodes.filter(({ isReplica }) => isReplica)
  return nodes
    .filter(({ isReplica }) => !isReplica)
    .map(
      (master) =>
        new MapReply([
          ['slots', master.slots.flatMap(({ first, last }) => [first, last])],
          ['nodes', [master, ...(master.slots.length > 0 ? replicas : [])].map(shardNode)],
        ]),
    )
}

function shardNode({ id, host, port, isReplica }: TableNode): Reply {
  return new MapReply([
    ['id', id],
    ['port', port],
    ['ip', host],
    ['endpoint', host],
    ['role', isReplica ? 'replica' : 'master'],
    ['replication-offset', 0],
    ['health', 'online'],
  ])
}

/** The one master that a line names for a replica: replicas are spread over the masters. Undefined for a master. */
function masterOf({ isReplica }: TableNode, index: number, all: readonly TableNode[]): TableNode | undefined {
  const masters = all.filter(({ slots }) => slots.length > 0)
  return isReplica ? masters[index % masters.length] : undefined
}

function nodeLine({ server }: CommandContext, node: TableNode, master: TableNode | undefined): string {
  const { id, host, port, isSelf, silentMs, slots } = node
  const role = master === undefined ? 'master' : 'slave'
  const heardMs = Math.floor(server.timeline.nowUs() / 1000 - silentMs)
  const fields = [
    id,
    `${host}:${port}@0`,
    isSelf ? `myself,${role}` : role,
    master?.id ?? '-',
    0,
    heardMs,
    (master ?? node).epoch,
    'connected',
  ]
  return `${[...fields, ...slots.map(runText)].join(' ')}\n`
}

function runText({ first, last }: SlotRange): string {
  return first === last ? String(first) : `${first}-${last}`
}

function info(context: CommandContext): string {
  const { self, versions, nodes, shards } = clusterOf(context).status()
  const slotsOf = (some: typeof shards) =>
    some.reduce((sum, { firstSlot, lastSlot }) => sum + lastSlot - firstSlot + 1, 0)
  const led = slotsOf(shards.filter(({ nobodyForMs }) => nobodyForMs === undefined))
  const doubtful = slotsOf(
    shards.filter(({ leader, nobodyForMs }) => leader !== undefined && nobodyForMs !== undefined),
  )
  const highest = (of: typeof shards) => Math.max(0, ...of.map(({ epoch }) => epoch))
  const fields = [
    ['cluster_state', led > 0 ? 'ok' : 'fail'],
    ['cluster_slots_assigned', slotCount],
    ['cluster_slots_ok', led],
    ['cluster_slots_pfail', doubtful],
    ['cluster_slots_fail', slotCount - led - doubtful],
    ['cluster_known_nodes', nodes.length],
    ['cluster_size', new Set(shards.flatMap(({ leader }) => leader?.id ?? [])).size],
    ['cluster_current_epoch', highest(shards)],
    ['cluster_my_epoch', highest(shards.filter(({ leader }) => leader?.id === self))],
    ['cluster_stats_messages_sent', 0],
    ['cluster_stats_messages_received', 0],
    ['total_cluster_links_buffer_limit_exceeded', 0],
    ['cluster_versions', versions.join(',')],
  ]
  return fields.map((field) => `${field.join(':')}\r\n`).join('')
}

function slotAt(args: Arguments, index: number): number {
  const value = args.integer(index)
  if (value >= 0n && value < BigInt(slotCount)) return Number(value)
  throw new FahaoError('ERR', 'Invalid slot')
}

async function countNames(context: CommandContext, wanted: number): Promise<number> {
  clusterOf(context)
  let count = 0
  for await (const part of everyGenerator(context))
    count += part.filter(({ name }) => slotOf(name) === wanted).length
  return count
}

async function failover(context: CommandContext, args: Arguments): Promise<Reply> {
  const cluster = clusterOf(context)
  if (args.length > 1) throw syntaxError()
  const option = args.length === 0 ? undefined : args.oneOf(0, 'FORCE', 'TAKEOVER')
  if (option === undefined) refuseLoneDrain(cluster.status())
  await cluster.drain(option !== 'TAKEOVER')
  return ok
}
