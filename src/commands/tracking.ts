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
import { type Command, Invalidating, ok, type Reply } from './command.ts'
import type { CommandContext, Tracking } from './context.ts'

const common = {
  keys: [0, 0, 0],
  flags: ['noscript', 'loading', 'stale'],
  permission: 'connection',
  group: 'connection',
} as const
const modeTokens = ['BCAST', 'OPTIN', 'OPTOUT', 'NOLOOP'] as const

/** CLIENT TRACKING and CLIENT CACHING. */
export const trackingSubcommands: readonly Command[] = [
  {
    ...common,
    name: 'tracking',
    arity: -3,
    summary: 'Accepted, so that libraries with a cache work; what they read is invalidated at once.',
    reply: '`OK`.',
    notes:
      'An id must never come from a cache: each reply to a read of such a connection is followed by a push that invalidates the names in it. Needs RESP3; `REDIRECT` is refused.',
    arguments: [
      {
        name: 'status',
        type: 'oneof',
        arguments: [
          { name: 'on', type: 'pure-token', token: 'ON' },
          { name: 'off', type: 'pure-token', token: 'OFF' },
        ],
      },
      { name: 'prefix', type: 'string', token: 'PREFIX', optional: true, multiple: true },
      ...modeTokens.map(
        (token) => ({ name: token.toLowerCase(), type: 'pure-token', token, optional: true }) as const,
      ),
    ],
    handler: track,
  },
  {
    ...common,
    name: 'caching',
    arity: 3,
    summary:
      'Accepted on a connection that tracks with OPTIN or OPTOUT; nothing is kept in caches in any case.',
    reply: '`OK`.',
    arguments: [
      {
        name: 'mode',
        type: 'oneof',
        arguments: [
          { name: 'yes', type: 'pure-token', token: 'YES' },
          { name: 'no', type: 'pure-token', token: 'NO' },
        ],
      },
    ],
    handler({ session }, args) {
      const token = args.token(0)
      if (token !== 'YES' && token !== 'NO') throw syntaxError()
      const mode = token === 'YES' ? 'optin' : 'optout'
      if (session.tracking?.modes.has(mode)) return ok
      throw new FahaoError(
        'ERR',
        `CLIENT CACHING ${token} needs CLIENT TRACKING ON ${mode.toUpperCase()} first`,
      )
    },
  },
]

/** The command, with an invalidation after its replies if it reads keys and the connection tracks. */
export function invalidating(command: Command): Command {
  const { handler, keys, permission } = command
  if (handler === undefined || keys[0] === 0 || permission !== 'read') return command
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
  return session.tracking !== undefined && session.protocol === 3 && permission === 'read'
}

/** The reply, and after it an invalidation of the names in the request. */
export function invalidated(
  { keys }: Command,
  args: Arguments,
  reply: Reply | Promise<Reply>,
): Reply | Promise<Reply> {
  const names = namesIn(args, keys)
  if (!(reply instanceof Promise)) return new Invalidating(reply, names)
  return reply.then((answer) => new Invalidating(answer, names))
}

/** Copies: the reply may be later than the request's bytes are valid. */
function namesIn(args: Arguments, [first, last, step]: Command['keys']): Uint8Array[] {
  const names: Uint8Array[] = []
  const end = last < 0 ? args.length + last : last - 1
  for (let index = first - 1; index <= end; index += step) names.push(Uint8Array.from(args.bytes(index)))
  return names
}

function track({ session }: CommandContext, args: Arguments): Reply {
  const status = args.token(0)
  if (status !== 'ON' && status !== 'OFF') throw syntaxError()
  const tracking = optionsOf(args)
  if (status === 'ON' && session.protocol === 2) {
    throw new FahaoError('ERR', 'CLIENT TRACKING needs RESP3: send HELLO 3 first')
  }
  session.tracking = status === 'ON' ? tracking : undefined
  return ok
}

function optionsOf(args: Arguments): Tracking {
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
  return { modes }
}
