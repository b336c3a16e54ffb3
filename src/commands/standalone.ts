/** What a server says of clusters and users when it has neither: Redis's words, so that libraries fall back. */
import { FahaoError } from '../base/errors.ts'
import type { Command } from './command.ts'
import { container } from './usage.ts'

const common = { keys: [0, 0, 0], flags: ['loading', 'stale'], permission: 'connection' } as const

/** CLUSTER and ACL. */
export const standaloneCommands: readonly Command[] = [
  {
    ...common,
    name: 'cluster',
    arity: -2,
    group: 'cluster',
    summary: 'Tells that this server is not part of a cluster.',
    reply: 'An error.',
    arguments: [{ name: 'subcommand', type: 'string' }],
    handler() {
      throw new FahaoError('ERR', 'This instance has cluster support disabled')
    },
  },
  container({
    ...common,
    name: 'acl',
    arity: -2,
    group: 'server',
    summary: 'A container for commands about users.',
    reply: 'Depends on the subcommand.',
    subcommands: [
      {
        ...common,
        name: 'whoami',
        arity: 2,
        group: 'server',
        summary: 'Returns the user of this connection.',
        reply: 'A name.',
        handler: ({ session }) => session.user,
      },
    ],
  }),
]
