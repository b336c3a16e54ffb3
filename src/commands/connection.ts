/** Commands about the connection itself: PING, HELLO, AUTH, SELECT and others. CLIENT is in `client.ts`. */
import type { Access } from '../auth/access.ts'
import { addressOf } from '../base/address.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import { recordRefusal } from '../operations/refusals.ts'
import { type Arguments, givenTwice, syntaxError } from './arguments.ts'
import { type Command, MapReply, ok, type Reply, SimpleString } from './command.ts'
import type { ClientSession, CommandContext } from './context.ts'
import { redisVersion } from './info-text.ts'
import { wrongArity } from './table.ts'

const flags = ['loading', 'stale', 'fast'] as const
const beforeAuth = ['no_auth', ...flags] as const
const pong = Object.freeze(new SimpleString('PONG'))
const wasReset = Object.freeze(new SimpleString('RESET'))
const common = { flags, permission: 'connection', group: 'connection' } as const

/** PING, ECHO, QUIT, RESET, SELECT, AUTH, HELLO, READONLY, READWRITE, ASKING. */
export const connectionCommands: readonly Command[] = [
  {
    ...common,
    name: 'ping',
    arity: -1,
    summary: 'Replies, to show that the connection works.',
    reply: '`PONG`, or the message.',
    arguments: [{ name: 'message', type: 'string', optional: true }],
    handler(_, args) {
      if (args.length > 1) throw wrongArity('ping')
      return args.length === 0 ? pong : args.bytes(0)
    },
  },
  {
    ...common,
    name: 'echo',
    arity: 2,
    summary: 'Sends the message back.',
    reply: 'The message.',
    arguments: [{ name: 'message', type: 'string' }],
    handler: (_, args) => args.bytes(0),
  },
  {
    ...common,
    flags: beforeAuth,
    name: 'quit',
    arity: -1,
    summary: 'Closes the connection after the reply.',
    reply: '`OK`.',
    handler({ session }) {
      session.close()
      return ok
    },
  },
  {
    ...common,
    flags: beforeAuth,
    name: 'reset',
    arity: 1,
    summary:
      'Resets the connection to its state when it was opened: RESP2, no name, no transaction, and as before authentication.',
    reply: '`RESET`.',
    notes: 'The library name and version stay, as in Redis.',
    handler({ session, server }) {
      session.protocol = 2
      session.trackingModes = undefined
      session.transaction.clear()
      session.name = ''
      session.access = server.access.initialOf(session.certificateName)
      return wasReset
    },
  },
  {
    ...common,
    name: 'select',
    arity: 2,
    summary: 'Selects database 0, the only one.',
    reply: '`OK`.',
    arguments: [{ name: 'index', type: 'integer' }],
    handler(_, args) {
      if (args.integer(0) !== 0n) throw new FahaoError('ERR', 'DB index is out of range')
      return ok
    },
  },
  {
    ...common,
    flags: beforeAuth,
    name: 'auth',
    arity: -2,
    summary: 'Authenticates the connection.',
    reply: '`OK`.',
    arguments: [
      { name: 'username', type: 'string', optional: true },
      { name: 'password', type: 'string' },
    ],
    handler: authenticate,
  },
  {
    ...common,
    flags: beforeAuth,
    name: 'hello',
    arity: -1,
    summary: 'Chooses the protocol, and can also authenticate and name the connection.',
    reply: 'A map: server, version, proto, id, mode, role, modules.',
    notes:
      '`server` and `version` are those of the Redis whose protocol is spoken, for libraries that choose features by them; `fahao_version` is that of Fahao.',
    arguments: [
      {
        name: 'arguments',
        type: 'block',
        optional: true,
        arguments: [
          { name: 'protover', type: 'integer' },
          {
            name: 'auth',
            type: 'block',
            token: 'AUTH',
            optional: true,
            arguments: [
              { name: 'username', type: 'string' },
              { name: 'password', type: 'string' },
            ],
          },
          { name: 'clientname', type: 'string', token: 'SETNAME', optional: true },
        ],
      },
    ],
    handler: hello,
  },
  accepted('readonly', 'replies never come from a standby, so nothing changes'),
  accepted('readwrite', 'reverts READONLY'),
  accepted('asking', 'slots are never half moved, so nothing changes'),
]

/** A command that cluster-aware libraries send, and that needs no action here. */
function accepted(name: string, why: string): Command {
  const summary = `Accepted from cluster-aware libraries; ${why}.`
  return { ...common, name, arity: 1, summary, reply: '`OK`.', handler: () => ok }
}

const defaultUser = 'default'

/** The longest name of a connection or a library. Connections keep theirs. */
const nameBytesMax = 256

/** Checks a name as Redis does: printable, no spaces; and its length. May be empty. `what` begins the error. */
export function checkedName(args: Arguments, index: number, what: string): string {
  if (args.parts[index]!.length > nameBytesMax) {
    throw new FahaoError('LIMIT', `${what} cannot be longer than ${nameBytesMax} bytes; send a shorter one`)
  }
  if (args.parts[index]!.some((byte) => byte < 0x21 || byte > 0x7e)) {
    throw new FahaoError('ERR', `${what} cannot contain spaces, newlines or special characters.`)
  }
  return args.text(index)
}

async function authenticate(context: CommandContext, args: Arguments): Promise<Reply> {
  const { session, server } = context
  if (args.length > 2) throw syntaxError()
  const named = args.length === 2
  if (!named && server.access.users.initial !== undefined) {
    throw new FahaoError(
      'ERR',
      'AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
    )
  }
  const user = named ? args.text(0) : defaultUser
  session.access = await login(context, 'AUTH', user, args.text(named ? 1 : 0))
  return ok
}

/** The permissions of a user with this password. A failure is in ACL LOG, under the name of the command. */
async function login(
  context: CommandContext,
  command: string,
  user: string,
  password: string,
): Promise<Access> {
  const { session, server } = context
  try {
    return await server.access.login(user, password, hostOf(session), 'resp')
  } catch (error) {
    // A name that no user has may be a password in the wrong place.
    const username = server.access.users.get(user) === undefined ? '(unknown)' : user
    if (hasCode(error, 'WRONGPASS')) recordRefusal(context, { reason: 'auth', object: command, username })
    throw error
  }
}

function hostOf({ address }: ClientSession): string {
  return addressOf(address).host
}

function hello(context: CommandContext, args: Arguments): Reply | Promise<Reply> {
  const { session } = context
  const protocol = args.length === 0 ? session.protocol : askedProtocol(args)
  let credentials: readonly [user: string, password: string] | undefined
  let name: string | undefined
  for (let index = 1; index < args.length; ) {
    const token = args.token(index)
    if ((token === 'AUTH' && credentials) || (token === 'SETNAME' && name !== undefined))
      throw givenTwice(token)
    if (token === 'AUTH' && index + 2 < args.length) {
      credentials = [args.text(index + 1), args.text(index + 2)]
      index += 3
    } else if (token === 'SETNAME' && index + 1 < args.length) {
      name = checkedName(args, index + 1, 'Client names')
      index += 2
    } else {
      throw new FahaoError('ERR', `Syntax error in HELLO option '${args.text(index).slice(0, 64)}'`)
    }
  }
  if (credentials === undefined) return greet(context, protocol, session.access, name)
  return login(context, 'HELLO', ...credentials).then((access) => greet(context, protocol, access, name))
}

/** Applies what HELLO asks for, once all of it is known to be right. */
function greet(
  { session, server }: CommandContext,
  protocol: 2 | 3,
  access: Access,
  name: string | undefined,
): Reply {
  if (access.user === '') {
    throw new FahaoError(
      'NOAUTH',
      'HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time',
    )
  }
  session.access = access
  if (name !== undefined) session.name = name
  session.protocol = protocol
  return new MapReply([
    ['server', 'redis'],
    ['version', redisVersion],
    ['fahao_version', server.version],
    ['proto', protocol],
    ['id', session.id],
    ['mode', server.cluster === undefined ? 'standalone' : 'cluster'],
    ['role', 'master'],
    ['modules', []],
  ])
}

function askedProtocol(args: Arguments): 2 | 3 {
  const text = args.text(0)
  if (!/^-?\d{1,18}$/.test(text)) {
    throw new FahaoError('ERR', 'Protocol version is not an integer or out of range')
  }
  const version = Number(text)
  if (version !== 2 && version !== 3) throw new FahaoError('NOPROTO', 'unsupported protocol version')
  return version
}
