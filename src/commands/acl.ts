/** ACL: users and their permissions, in Redis's words. */
import { Access } from '../auth/access.ts'
import { readRules, rulesOf, type User } from '../auth/user.ts'
import { FahaoError } from '../base/errors.ts'
import { demandAccessInTurns } from './access.ts'
import { type Arguments, syntaxError } from './arguments.ts'
import { type Command, MapReply, ok, type Reply } from './command.ts'
import { container } from './command-help.ts'
import type { CommandContext } from './context.ts'
import { changeEach } from './recording.ts'
import type { CommandTable } from './table.ts'

const common = { flags: ['noscript', 'loading', 'stale'], permission: 'connection', group: 'server' } as const
const administration = { ...common, flags: ['admin', ...common.flags], permission: 'admin' } as const
const username = { name: 'username', type: 'string' } as const
const genpassBitsDefault = 256
/** How many entries ACL LOG shows, as Redis. */
const logDefault = 10
const genpassBitsMax = 4096

/** ACL and its subcommands. `table`: all commands, for DRYRUN. */
export function aclCommand(table: () => CommandTable): Command {
  return container({
    ...common,
    flags: [],
    name: 'acl',
    summary: 'A container for commands about users.',
    subcommands: [
      {
        ...common,
        name: 'whoami',
        arity: 2,
        summary: 'Returns the user of this connection.',
        reply: 'A name.',
        handler: ({ session }) => session.access.user,
      },
      {
        ...administration,
        name: 'users',
        arity: 2,
        summary: 'Lists the names of all users.',
        reply: 'An array of names.',
        handler: ({ server }) => server.access.users.all().map(({ name }) => name),
      },
      {
        ...administration,
        name: 'list',
        arity: 2,
        summary: 'Lists all users with their rules.',
        reply: 'An array of lines: `user`, the name, and the rules that make this user with ACL SETUSER.',
        notes: 'Passwords are shown as `#` and the stored hash, which ACL SETUSER accepts.',
        handler: ({ server }) =>
          server.access.users.all().map((user) => ['user', user.name, ...rulesOf(user)].join(' ')),
      },
      {
        ...administration,
        name: 'getuser',
        arity: 3,
        summary: 'Describes a user.',
        reply:
          'A map: flags, passwords (stored hashes), commands, keys, channels, selectors; nil if there is none.',
        arguments: [username],
        handler: ({ server }, args) => userReply(server.access.users.get(args.text(0))),
      },
      {
        ...administration,
        name: 'setuser',
        arity: -3,
        summary: 'Creates or changes a user.',
        reply: '`OK`.',
        notes:
          'Rules apply from left to right: `on`, `off`, `>password`, `<password`, `#hash`, `!hash`, `nopass`, `resetpass`, `~pattern` (names of generators), `allkeys`, `resetkeys`, `+command`, `-command`, `+@category`, `-@category`, `+command|subcommand`, `allcommands`, `nocommands`, `reset`. A new user is `off`, with `-@all +@connection`. Its name has no white space, slash or colon. The change is in force on every node within a second, on open connections too; connections of a user that is `off` end. `default` is the user of connections without a login while no other user exists, and none from then on unless it is set. A change that leaves no user to change users is refused.',
        arguments: [username, { name: 'rule', type: 'string', optional: true, multiple: true }],
        change: { event: 'user-set', objects: (args) => [args.text(0)] },
        handler: setUser,
      },
      {
        ...administration,
        name: 'deluser',
        arity: -3,
        summary: 'Removes users, and ends their connections.',
        reply: 'An integer: how many there were.',
        arguments: [{ ...username, multiple: true }],
        change: { event: 'user-deleted', objects: (args) => args.texts() },
        handler: removeUsers,
      },
      {
        ...common,
        name: 'cat',
        arity: -2,
        summary: 'Lists the categories, or the commands of one.',
        reply: 'An array of names.',
        notes: 'Names that begin with `http|` are operations that only HTTP has.',
        arguments: [{ name: 'category', type: 'string', optional: true }],
        handler: categories,
      },
      {
        ...administration,
        name: 'dryrun',
        arity: -4,
        summary: 'Returns whether a user may run a command, without running it.',
        reply: '`OK`, or why not.',
        arguments: [
          username,
          { name: 'command', type: 'string' },
          { name: 'arg', type: 'string', optional: true, multiple: true },
        ],
        handler: (context, args) => dryRun(context, args, table()),
      },
      {
        ...administration,
        name: 'log',
        arity: -2,
        summary: 'Lists the refusals of this node, or forgets them.',
        reply:
          'An array of maps, newest first: count, reason (`auth`, `command`, `key`), context (`toplevel`, `multi`), object, username, age-seconds, client-info, entry-id, timestamp-created, timestamp-last-updated; `OK` for RESET.',
        notes:
          'The last 128 refusals, in memory; 10 of them unless a count is given. Refusals that are alike are counted together for a minute. `fahao audit` shows those of all nodes, from the store.',
        arguments: [
          {
            name: 'operation',
            type: 'oneof',
            optional: true,
            arguments: [
              { name: 'count', type: 'integer' },
              { name: 'reset', type: 'pure-token', token: 'RESET' },
            ],
          },
        ],
        change: { event: 'log-reset', objects: (args) => (isReset(args) ? [''] : []) },
        handler: refusals,
      },
      {
        ...common,
        name: 'genpass',
        arity: -2,
        summary: 'Generates a password.',
        reply: 'Hexadecimal digits, of 256 bits by default.',
        arguments: [{ name: 'bits', type: 'integer', optional: true }],
        handler: generatePassword,
      },
    ],
  })
}

function refusals({ server }: CommandContext, args: Arguments): Reply {
  const { aclLog } = server.audit
  if (args.length > 1) throw syntaxError()
  if (isReset(args)) {
    aclLog.reset()
    return ok
  }
  const wanted = args.length === 0 ? BigInt(logDefault) : args.integer(0)
  const nowMs = aclLog.nowMs()
  return aclLog.entries(Math.max(0, Number(wanted))).map(
    (entry) =>
      new MapReply([
        ['count', entry.count],
        ['reason', entry.reason],
        ['context', entry.context],
        ['object', entry.object],
        ['username', entry.username],
        ['age-seconds', String((nowMs - entry.updatedMs) / 1000)],
        ['client-info', entry.clientInfo],
        ['entry-id', entry.id],
        ['timestamp-created', entry.createdMs],
        ['timestamp-last-updated', entry.updatedMs],
      ]),
  )
}

function isReset(args: Arguments): boolean {
  return args.length === 1 && args.token(0) === 'RESET'
}

async function setUser({ server }: CommandContext, args: Arguments): Promise<Reply> {
  const [name, ...rules] = args.texts()
  const { users, subjects, passwords } = server.access
  await users.set(name!, readRules(rules, subjects, passwords))
  return ok
}

function removeUsers({ server }: CommandContext, args: Arguments): Promise<Reply> {
  return changeEach(args.texts(), (name) => server.access.users.remove(name))
}

function userReply(user: User | undefined): Reply {
  if (user === undefined) return null
  return new MapReply([
    ['flags', [user.enabled ? 'on' : 'off', ...(user.nopass ? ['nopass'] : [])]],
    ['passwords', user.passwords],
    ['commands', user.commands.join(' ')],
    ['keys', user.patterns.map((pattern) => `~${pattern}`).join(' ')],
    ['channels', ''],
    ['selectors', []],
  ])
}

function categories({ server }: CommandContext, args: Arguments): Reply {
  const { subjects } = server.access
  if (args.length === 0) return subjects.categories
  if (args.length > 1) throw syntaxError()
  const wanted = args.text(0).toLowerCase()
  if (!subjects.categories.includes(wanted)) {
    throw new FahaoError('ERR', `Unknown category '${wanted.slice(0, 64)}'`)
  }
  return subjects.all.filter((subject) => subject.categories.includes(wanted)).map(({ name }) => name)
}

async function dryRun({ server }: CommandContext, args: Arguments, table: CommandTable): Promise<Reply> {
  const name = args.text(0)
  const user = server.access.users.get(name)
  if (user === undefined) throw new FahaoError('ERR', `User '${name.slice(0, 64)}' not found`)
  const request = table.resolve(args.parts.slice(1))
  try {
    await demandAccessInTurns(Access.of(user, server.access.subjects), request, server.turns)
    return ok
  } catch (error) {
    if (error instanceof FahaoError) return error.message
    throw error
  }
}

function generatePassword(_: CommandContext, args: Arguments): Reply {
  if (args.length > 1) throw syntaxError()
  const bits = args.length === 0 ? BigInt(genpassBitsDefault) : args.integer(0)
  if (bits < 1n || bits > BigInt(genpassBitsMax)) {
    throw new FahaoError(
      'ERR',
      `ACL GENPASS argument must be the number of bits for the output password, a positive number up to ${genpassBitsMax}`,
    )
  }
  const digits = Math.ceil(Number(bits) / 4)
  const bytes = crypto.getRandomValues(new Uint8Array(Math.ceil(digits / 2)))
  return Buffer.from(bytes).toString('hex').slice(0, digits)
}
