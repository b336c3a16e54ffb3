/** ID.NAMESPACE: the namespaces, and what they have counted on this node. */

import { FahaoError } from '../base/errors.ts'
import { type NamespaceOptions, optionWords } from '../quotas/namespace.ts'
import type { Quota } from '../quotas/quotas.ts'
import type { Arguments } from './arguments.ts'
import { type Command, MapReply, ok, type Reply } from './command.ts'
import type { CommandContext } from './context.ts'
import { container } from './usage.ts'

const common = { group: 'id', flags: [] } as const
const administration = { ...common, flags: ['admin'], permission: 'admin' } as const
const reading = { ...common, flags: ['readonly'], permission: 'read' } as const
const name = { name: 'name', type: 'string' } as const
const fields =
  'name, match, owner, user, idsPerSecond, idsPerDay, generators, leases, waiting (the limits that are set)'
const figures = 'issued, refused, waitingNow, shareOfDay'

/** ID.NAMESPACE and its subcommands. */
export const namespaceCommand: Command = container({
  ...common,
  permission: 'read',
  name: 'id.namespace',
  summary: 'A container for commands about namespaces.',
  subcommands: [
    {
      ...administration,
      name: 'set',
      change: { event: 'namespace-set', objects: named },
      arity: -5,
      summary: 'Creates or replaces a namespace: a pattern of generator names, an owner, quotas.',
      reply: '`OK`.',
      notes:
        'Limits that are left out do not apply. RATE: ids per second, with a burst of one second. DAILY: ids per UTC day. GENERATORS: how many generators may match. LEASES: how many worker ids callers may hold of generators and pools that match; claims on different nodes within one second can exceed it; 0 permits none, and is the default for generators where RATE or DAILY is set, because ids of worker leases are not counted. WAITING: how many requests may wait for ids. USER: only requests of this user are counted. In force on every node within a second; all but GENERATORS and LEASES are counted by each node.',
      arguments: [
        name,
        { name: 'pattern', type: 'pattern', token: 'MATCH' },
        { name: 'owner', type: 'string', token: 'OWNER', optional: true },
        { name: 'user', type: 'string', token: 'USER', optional: true },
        { name: 'n', type: 'integer', token: 'RATE', optional: true },
        { name: 'n', type: 'integer', token: 'DAILY', optional: true },
        { name: 'n', type: 'integer', token: 'GENERATORS', optional: true },
        { name: 'n', type: 'integer', token: 'LEASES', optional: true },
        { name: 'n', type: 'integer', token: 'WAITING', optional: true },
      ],
      async handler({ server }, args) {
        await server.meters.namespaces.set(args.text(0), readOptions(args))
        return ok
      },
    },
    {
      ...administration,
      name: 'drop',
      change: { event: 'namespace-deleted', objects: named },
      arity: 3,
      summary: 'Drops a namespace. Generators stay as they are.',
      reply: '1, or 0 where there was none.',
      arguments: [name],
      handler: async ({ server }, args) => ((await server.meters.namespaces.drop(args.text(0))) ? 1 : 0),
    },
    {
      ...reading,
      name: 'get',
      arity: 3,
      summary: 'Shows a namespace.',
      reply: `A map: ${fields}, and since this node started ${figures}; nil where there is none.`,
      arguments: [name],
      handler(context, args) {
        const { server, session } = context
        const quota = server.meters.quotas.oneShownTo(session.access, args.text(0))
        return quota === undefined ? null : mapOf(quota, context)
      },
    },
    {
      ...reading,
      name: 'list',
      arity: 2,
      summary: 'Shows every namespace.',
      reply: 'An array of maps as `ID.NAMESPACE GET` replies them, in the order of their names.',
      async handler(context) {
        const { server, session } = context
        const shown = await server.meters.quotas.shownTo(session.access, server.turns)
        return shown.map((quota) => mapOf(quota, context))
      },
    },
  ],
})

function named(args: Arguments): string[] {
  return [args.text(0)]
}

function mapOf(quota: Quota, { server }: CommandContext): MapReply {
  const { issued, refused, waiting, shareOfDay } = quota.figures(server.timeline.nowUs())
  return new MapReply([
    ...Object.entries(quota.namespace),
    ['issued', issued],
    ['refused', refused],
    ['waitingNow', waiting],
    ['shareOfDay', shareOfDay === undefined ? null : String(shareOfDay)],
  ] as (readonly [string, Reply])[])
}

const byWord = new Map<string, keyof NamespaceOptions>(
  Object.entries(optionWords).map(([option, word]) => [word, option as keyof NamespaceOptions]),
)

function readOptions(args: Arguments): Partial<Record<keyof NamespaceOptions, string>> {
  const given: Partial<Record<keyof NamespaceOptions, string>> = {}
  for (const [token, value] of args.options(1)) {
    const option = byWord.get(token)
    if (option === undefined) {
      const words = [...byWord.keys()].join(', ')
      throw new FahaoError('ERR', `after the name come pairs of a word and a value, each word once: ${words}`)
    }
    given[option] = args.text(value)
  }
  return given
}
