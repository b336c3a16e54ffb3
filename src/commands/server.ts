/** INFO, CONFIG, TIME, ROLE, ACL: the server itself. */
import { globMatcher, matchWork } from '../base/glob.ts'
import type { Arguments } from './arguments.ts'
import { type Command, MapReply, type Reply, VerbatimText } from './command.ts'
import { container } from './command-help.ts'
import type { CommandContext } from './context.ts'
import { infoText } from './info-text.ts'

const common = { flags: ['loading', 'stale'], group: 'server' } as const

/**
 * Settings of Redis that programs read at their start, such as redis-benchmark. Every id is below a durable bound before it
 * leaves: that is what appendonly promises.
 */
const redisSettings = [
  ['appendonly', 'yes'],
  ['databases', '1'],
  ['save', ''],
] as const

/** INFO, CONFIG GET, TIME, ROLE, ACL WHOAMI. */
export const serverCommands: readonly Command[] = [
  {
    ...common,
    name: 'info',
    arity: -1,
    permission: 'connection',
    summary: 'Describes the server.',
    reply: 'Lines of `field:value` under `# Section` titles.',
    notes:
      'Sections: server, clients, memory, persistence, stats, replication, cpu, cluster, keyspace, and those of Fahao. `keys` counts the generators in use on this node: INFO answers when the engine does not. `redis_version` is the version whose protocol is spoken.',
    arguments: [{ name: 'section', type: 'string', optional: true, multiple: true }],
    handler: (context, args) =>
      new VerbatimText(
        infoText(
          context,
          args.texts().map((text) => text.toLowerCase()),
        ),
      ),
  },
  {
    ...common,
    name: 'time',
    arity: 1,
    flags: ['loading', 'stale', 'fast'],
    permission: 'connection',
    summary: 'Returns the time that ids are made from: it never goes back.',
    reply: 'An array of two strings: Unix seconds, and microseconds within the second.',
    handler({ server }) {
      const nowUs = server.timeline.nowUs()
      return [String(Math.floor(nowUs / 1_000_000)), String(nowUs % 1_000_000)]
    },
  },
  // Sent by Lettuce to the nodes of a static topology.
  {
    ...common,
    name: 'role',
    arity: 1,
    flags: ['loading', 'stale', 'fast'],
    permission: 'connection',
    summary: 'Returns that this node accepts writes.',
    reply: 'An array: `master`, 0, and an empty array of replicas.',
    handler: () => ['master', 0, []],
  },
  container({
    ...common,
    flags: [],
    name: 'config',
    permission: 'admin',
    summary: 'A container for commands about the configuration.',
    subcommands: [
      {
        ...common,
        flags: ['admin', 'loading', 'stale'],
        name: 'get',
        arity: -3,
        permission: 'admin',
        summary: 'Returns the settings whose names match a pattern. Secrets are left out.',
        reply: 'A map from name to value.',
        notes:
          'Settings are changed by flags, environment or the config file, and need a restart: there is no CONFIG SET. Options of generators are changed with ID.ALTER.',
        arguments: [{ name: 'parameter', type: 'pattern', multiple: true }],
        handler: configGet,
      },
    ],
  }),
]

async function configGet({ server }: CommandContext, args: Arguments): Promise<Reply> {
  const settings = new Map<string, string>([...redisSettings, ...server.settings()])
  const found = new Set<string>()
  for (const pattern of args.parts.map((_, index) => args.pattern(index))) {
    // The pattern is compiled, and matched with short names.
    await server.turns.take((settings.size * matchWork(pattern)) / 8 + pattern.length * 16)
    const matches = globMatcher(pattern)
    for (const name of settings.keys()) if (matches(name)) found.add(name)
  }
  return new MapReply([...settings].filter(([name]) => found.has(name)))
}
