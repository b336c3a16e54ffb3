/** The text of INFO: the fields that libraries expect of every Redis, then Fahao's own sections. */
import { addressOf } from '../base/address.ts'
import type { CommandContext, InfoSection, Traffic } from './context.ts'

/**
 * The version of Redis whose commands and replies Fahao follows. HELLO and INFO state it for libraries that choose their
 * features by it. 7.4 is the first with which caches of libraries work.
 */
export const redisVersion = '7.4.0'

/** Words for every section. */
const everything = new Set(['all', 'default', 'everything'])

/** The text of these sections, in lower case; of all if none is named. */
export function infoText(context: CommandContext, sections: readonly string[]): string {
  const all = sections.length === 0 || sections.some((section) => everything.has(section))
  return [...merged([...commonSections(context), ...context.server.info()])]
    .filter(([title]) => all || sections.includes(title.toLowerCase()))
    .map(([title, fields]) => `# ${title}\r\n${fields.map((field) => `${field.join(':')}\r\n`).join('')}`)
    .join('\r\n')
}

type Fields = InfoSection['fields']

function commonSections({ server, catalogue, session }: CommandContext): InfoSection[] {
  const upSeconds = Math.floor((server.timeline.monoUs() - server.startedMonoUs) / 1_000_000)
  return [
    {
      title: 'Server',
      fields: [
        ['redis_version', redisVersion],
        ['redis_mode', server.cluster === undefined ? 'standalone' : 'cluster'],
        ['server_name', 'fahao'],
        ['fahao_version', server.version],
        ['process_id', process.pid],
        ['run_id', server.runId],
        ['tcp_port', server.respPort ?? addressOf(session.localAddress).port],
        ['server_time_usec', server.timeline.nowUs()],
        ['uptime_in_seconds', upSeconds],
        ['uptime_in_days', Math.floor(upSeconds / 86_400)],
      ],
    },
    {
      title: 'Clients',
      fields: [
        ['connected_clients', [...server.sessions()].length],
        // No command blocks.
        ['blocked_clients', 0],
      ],
    },
    { title: 'Memory', fields: memory() },
    {
      title: 'Persistence',
      fields: [
        ['loading', 0],
        ['async_loading', 0],
        ['rdb_bgsave_in_progress', 0],
        ['aof_rewrite_in_progress', 0],
      ],
    },
    { title: 'Stats', fields: stats(server.traffic()) },
    {
      title: 'Replication',
      fields: [
        ['role', 'master'],
        ['connected_slaves', 0],
        ['master_replid', server.runId],
        ['master_repl_offset', 0],
      ],
    },
    { title: 'CPU', fields: cpu() },
    { title: 'Cluster', fields: [['cluster_enabled', server.cluster === undefined ? 0 : 1]] },
    { title: 'Keyspace', fields: keyspace([...catalogue.inUse()].length) },
  ]
}

/** The memory in use, and all that the process has from the system. Neither has a limit. */
function memory(): Fields {
  const { heapUsed, external, rss } = process.memoryUsage()
  return [
    ['used_memory', heapUsed + external],
    ['used_memory_human', human(heapUsed + external)],
    ['used_memory_rss', rss],
    ['used_memory_rss_human', human(rss)],
    ['maxmemory', 0],
    ['maxmemory_policy', 'noeviction'],
  ]
}

function stats(traffic: Traffic): Fields {
  return [
    ['total_connections_received', traffic.connectionsTotal],
    ['total_commands_processed', traffic.commands],
    ['total_net_input_bytes', traffic.bytesIn],
    ['total_net_output_bytes', traffic.bytesOut],
    ['rejected_connections', traffic.connectionsRejected],
    ['expired_keys', 0],
    ['evicted_keys', 0],
  ]
}

function cpu(): Fields {
  const { system, user } = process.cpuUsage()
  return [
    ['used_cpu_sys', (system / 1_000_000).toFixed(6)],
    ['used_cpu_user', (user / 1_000_000).toFixed(6)],
  ]
}

/** As Redis writes it: `12.34M`. */
function human(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(2)}M`
}

function keyspace(inUse: number): Fields {
  return inUse === 0 ? [] : [['db0', `keys=${inUse},expires=0,avg_ttl=0`]]
}

/** Sections of one title as one, in the order in which they first come. */
function merged(sections: readonly InfoSection[]): Map<string, Fields> {
  const byTitle = new Map<string, Fields>()
  for (const { title, fields } of sections) byTitle.set(title, [...(byTitle.get(title) ?? []), ...fields])
  return byTitle
}
