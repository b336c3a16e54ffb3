/**
 * CLIENT TRACKING, for libraries with a cache. An id must never come from a cache, so every key that such a connection
 * reads is invalidated at once, after the reply.
 *
 * Invariants
 *  1. While a connection tracks, each reply to a read is followed by an `invalidate` push for the keys that it names.
 *  2. A connection tracks in RESP3 only, on its own behalf: there is no connection to push to elsewhere.
 */
import { FahaoError } from '../base/errors.ts'
import { type Arguments, syntaxError } from './arguments.ts'
import { type Command, Invalidating, ok, oneOf, type Reply } from './command.ts'
import type { CommandContext } from './context.ts'
import { keysIn } from './table.ts'

const modeTokens = ['BCAST', 'OPTIN', 'OPTOUT', 'NOLOOP'] as const

/** CLIENT TRACKING and CLIENT CACHING; `client.ts` adds what all subcommands of CLIENT have. */
export const trackingSubcommands = [
  {
    name: 'tracking',
    arity: -3,
    summary: 'Accepted, so that libraries with a cache work; what they read is invalidated at once.',
    reply: '`OK`.',
    notes:
      'An id must never come from a cache: each reply to a read of such a connection is followed by a push that invalidates the names in it. Needs RESP3; `REDIRECT` is refused.',
    arguments: [
      oneOf('status', 'ON', 'OFF'),
      { name: 'prefix', type: 'string', token: 'PREFIX', optional: true, multiple: true, repeatsToken: true },
      ...modeTokens.map(
        (token) => ({ name: token.toLowerCase(), type: 'pure-token', token, optional: true }) as const,
      ),
    ],
    handler: track,
  },
  {
    name: 'caching',
    arity: 3,
    summary:
      'Accepted on a connection that tracks with OPTIN or OPTOUT; nothing is kept in caches in any case.',
    reply: '`OK`.',
    arguments: [oneOf('mode', 'YES', 'NO')],
    handler({ session }: CommandContext, args: Arguments): Reply {
      const token = args.oneOf(0, 'YES', 'NO')
      const mode = token === 'YES' ? 'optin' : 'optout'
      if (session.trackingModes?.has(mode)) return ok
      throw new FahaoError(
        'ERR',
        `CLIENT CACHING ${token} needs CLIENT TRACKING ON ${mode.toUpperCase()} first`,
      )
    },
  },
] satisfies readonly Partial<Command>[]

/** The command, with an invalidation after its replies if it reads keys and the connection tracks. */
export function invalidating(command: Command): Command {
  const { handler, keys, permission } = command
  if (handler === undefined || keys === undefined || permission !== 'read') return command
  return {
    ...command,
    handler(context, args) {
      const reply = handler(context, args)
      return isTracked(command, context) ? invalidated(command, args, reply) : reply
    },
  }
}

/** Whether the client caches replies to this command. */
export function isTracked({ permission }: Command, { session }: CommandContext): boolean {
  return session.trackingModes !== undefined && session.protocol === 3 && permission === 'read'
}

/** The reply, and after it an invalidation of the names in the request. */
export function invalidated(
  command: Command,
  args: Arguments,
  reply: Reply | Promise<Reply>,
): Reply | Promise<Reply> {
  const names = keysIn(command, args)
  if (!(reply instanceof Promise)) return new Invalidating(reply, names)
  return reply.then((answer) => new Invalidating(answer, names))
}

function track({ session }: CommandContext, args: Arguments): Reply {
  const status = args.oneOf(0, 'ON', 'OFF')
  const modes = trackingModes(args)
  if (status === 'ON' && session.protocol === 2) {
    throw new FahaoError('ERR', 'CLIENT TRACKING needs RESP3: send HELLO 3 first')
  }
  session.trackingModes = status === 'ON' ? modes : undefined
  return ok
}

function trackingModes(args: Arguments): ReadonlySet<string> {
  const modes = new Set<string>()
  let hasPrefix = false
  for (let index = 1; index < args.length; index++) {
    const token = args.token(index)
    if (token === 'PREFIX' && index + 1 < args.length) {
      hasPrefix = true
      index++
    } else if (token === 'REDIRECT') {
      throw new FahaoError(
        'ERR',
        'CLIENT TRACKING takes no REDIRECT here: invalidations go to the connection that reads',
      )
    } else if (modeTokens.some((mode) => mode === token)) modes.add(token.toLowerCase())
    else throw syntaxError()
  }
  if (hasPrefix && !modes.has('bcast')) {
    throw new FahaoError('ERR', 'PREFIX option requires BCAST mode to be enabled')
  }
  if (modes.has('optin') && modes.has('optout')) {
    throw new FahaoError('ERR', "You can't specify both OPTIN mode and OPTOUT mode")
  }
  return modes
}
