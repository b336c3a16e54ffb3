/** The text of INFO: the fields that libraries expect of every Redis, then Fahao's own sections. */
import { addressOf } from '../base/address.ts'
import type { CommandContext, InfoSection } from './context.ts'

/**
 * The version of Redis whose commands and replies Fahao follows. HELLO and INFO state it for libraries that choose their
 * features by it. 7.4 is the first version with which the client-side caches of libraries work.
 */
export const redisVersion = '7.4.0'

/** Words for every section. */
const everything = new Set(['all', 'default', 'everything'])

/** The text of these sections, in lower case; of all if none is named. */
export function infoText(context: CommandContext, asked: readonly string[]): string {
  const all = asked.length === 0 || asked.some((section) => everything.has(section))
  const sections = new Map(Object.entries(commonSections(context)))
  // A section of Fahao may add fields to one that every Redis has.
  for (const { title, fields } of context.server.info(context.session.access))
    sections.set(title, [...(sections.get(title) ?? []), ...fields])
  return [...sections]
    .filter(([title]) => all || asked.includes(title.toLowerCase()))
    .map(([title, fields]) => `# ${title}\r\n${fields.map((field) => `${field.join(':')}\r\n`).join('')}`)
    .join('\r\n')
}

type Fields = InfoSection['fields']

/** The fields that libraries read of every Redis, by section. Memory has no limit, and no command blocks. */
function commonSections({ server, catalogue, session }: CommandContext): Readonly<Record<string, Fields>> {
  const upSeconds = Math.floor((server.timeline.monoUs() - server.startedMonoUs) / 1_000_000)
  const { heapUsed, external, rss } = process.memoryUsage()
  const traffic = server.traffic()
  const cpu = process.cpuUsage()
  let inUse = 0
  for (const _ of catalogue.inUse()) inUse++
  return {
    Server: [
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
    Clients: [
      ['connected_clients', [...server.sessions()].length],
      ['blocked_clients', 0],
    ],
    Memory: [
      ['used_memory', heapUsed + external],
      ['used_memory_human', mebibytes(heapUsed + external)],
      ['used_memory_rss', rss],
      ['used_memory_rss_human', mebibytes(rss)],
      ['maxmemory', 0],
      ['maxmemory_policy', 'noeviction'],
    ],
    Persistence: [
      ['loading', 0],
      ['async_loading', 0],
      ['rdb_bgsave_in_progress', 0],
      ['aof_rewrite_in_progress', 0],
    ],
    Stats: [
      ['total_connections_received', traffic.connectionsTotal],
      ['total_commands_processed', traffic.commands],
      ['total_net_input_bytes', traffic.bytesIn],
      ['total_net_output_bytes', traffic.bytesOut],
      ['rejected_connections', traffic.connectionsRejected],
      ['expired_keys', 0],
      ['evicted_keys', 0],
    ],
    Replication: [
      ['role', 'master'],
      ['connected_slaves', 0],
      ['master_replid', server.runId],
      ['master_repl_offset', 0],
    ],
    CPU: [
      ['used_cpu_sys', (cpu.system / 1_000_000).toFixed(6)],
      ['used_cpu_user', (cpu.user / 1_000_000).toFixed(6)],
    ],
    Cluster: [['cluster_enabled', server.cluster === undefined ? 0 : 1]],
    Keyspace: inUse === 0 ? [] : [['db0', `keys=${inUse},expires=0,avg_ttl=0`]],
  }
}

/** As Redis writes it: `12.34M`. */
function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(2)}M`
}
