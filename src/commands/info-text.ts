/** What INFO says: the fields that libraries look for in every Redis, then Fahao's own sections. */
import type { CommandContext, InfoSection } from './context.ts'
import { redisVersion } from './redis-version.ts'

/** Words for every section. */
const everything = new Set(['all', 'default', 'everything'])

/** The text of these sections, in lower case; of all when there are none. */
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
        ['tcp_port', server.respPort ?? portOf(session.localAddress)],
        ['server_time_usec', server.timeline.nowUs()],
        ['uptime_in_seconds', upSeconds],
        ['uptime_in_days', Math.floor(upSeconds / 86_400)],
      ],
    },
    { title: 'Clients', fields: [['connected_clients', [...server.sessions()].length]] },
    {
      title: 'Persistence',
      fields: [
        ['loading', 0],
        ['async_loading', 0],
      ],
    },
    {
      title: 'Replication',
      fields: [
        ['role', 'master'],
        ['connected_slaves', 0],
        ['master_replid', server.runId],
        ['master_repl_offset', 0],
      ],
    },
    { title: 'Cluster', fields: [['cluster_enabled', server.cluster === undefined ? 0 : 1]] },
    { title: 'Keyspace', fields: keyspace([...catalogue.inUse()].length) },
  ]
}

function keyspace(inUse: number): Fields {
  return inUse === 0 ? [] : [['db0', `keys=${inUse},expires=0,avg_ttl=0`]]
}

/** Sections of one title in one place, in the order in which they first come. */
function merged(sections: readonly InfoSection[]): Map<string, Fields> {
  const byTitle = new Map<string, Fields>()
  for (const { title, fields } of sections) byTitle.set(title, [...(byTitle.get(title) ?? []), ...fields])
  return byTitle
}

function portOf(address: string): string {
  return address.slice(address.lastIndexOf(':') + 1)
}
