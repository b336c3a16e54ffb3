/** ACL on a server without users. */
import type { Command } from './command.ts'
import { container } from './usage.ts'

const common = { keys: [0, 0, 0], flags: ['loading', 'stale'], permission: 'connection' } as const

/** ACL. */
export const standaloneCommands: readonly Command[] = [
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
