/** CLIENT: the open connections (CLIENT LIST), their names and libraries, and closing them (CLIENT KILL). */
import { FahaoError } from '../base/errors.ts'
import { clientLine } from '../operations/client-line.ts'
import type { Session } from '../operations/session.ts'
import { type Arguments, syntaxError } from './arguments.ts'
import { type Command, ok, oneOf, type Reply, VerbatimText } from './command.ts'
import { container } from './command-help.ts'
import { checkedName } from './connection.ts'
import type { CommandContext } from './context.ts'
import { trackingSubcommands } from './tracking.ts'

const common = {
  flags: ['noscript', 'loading', 'stale'],
  permission: 'connection',
  group: 'connection',
} as const
const administration = { ...common, flags: ['admin', ...common.flags], permission: 'admin' } as const
/** A switch that has no meaning here: checked, and accepted. */
const acceptedSwitch = {
  arity: 3,
  reply: '`OK`.',
  arguments: [oneOf('enabled', 'ON', 'OFF')],
  handler(_: CommandContext, args: Arguments): Reply {
    args.oneOf(0, 'ON', 'OFF')
    return ok
  },
} as const

/** HTTP's connections have no user of their own, and each request names one; those of the proxy have users of MySQL. */
const ownConnections =
  'Connections of RESP and of PostgreSQL’s protocol. Those of HTTP are counted in the metrics alone; those through the MySQL proxy are in `SHOW PROCESSLIST` of the MySQL server, and `KILL` ends them there.'

const filterDocs = [
  { name: 'client-id', type: 'integer', token: 'ID', optional: true },
  { name: 'username', type: 'string', token: 'USER', optional: true },
  { name: 'ip:port', type: 'string', token: 'ADDR', optional: true },
  { name: 'ip:port', type: 'string', token: 'LADDR', optional: true },
  { name: 'yes/no', type: 'string', token: 'SKIPME', optional: true },
  { name: 'type', type: 'string', token: 'TYPE', optional: true },
] as const

/** CLIENT and its subcommands. */
export const clientCommand: Command = container({
  ...common,
  flags: [],
  name: 'client',
  summary: 'A container for commands about connections.',
  subcommands: [
    {
      ...common,
      name: 'id',
      arity: 2,
      summary: "Returns this connection's id: unique in this process, increasing.",
      reply: 'An integer.',
      handler: ({ session }) => session.id,
    },
    {
      ...common,
      name: 'getname',
      arity: 2,
      summary: "Returns this connection's name.",
      reply: 'The name, or nil.',
      handler: ({ session }) => session.name || null,
    },
    {
      ...common,
      name: 'setname',
      arity: 3,
      summary: 'Names this connection, for CLIENT LIST and the log.',
      reply: '`OK`.',
      arguments: [{ name: 'connection-name', type: 'string' }],
      handler({ session }, args) {
        session.name = checkedName(args, 0, 'Client names')
        return ok
      },
    },
    {
      ...common,
      name: 'setinfo',
      arity: 4,
      summary: 'States the name and version of the library. Libraries send this by themselves.',
      reply: '`OK`.',
      notes:
        'Ids past 2^53−1 are integers for a library that is known to read them exactly, RESP3 big numbers for one that is known to read those, and `UNSAFE` for any other: see `rounding-guard`.',
      arguments: [
        {
          name: 'attr',
          type: 'oneof',
          arguments: [
            { name: 'libname', type: 'string', token: 'LIB-NAME' },
            { name: 'libver', type: 'string', token: 'LIB-VER' },
          ],
        },
      ],
      handler: setInfo,
    },
    {
      ...common,
      name: 'info',
      arity: 2,
      summary: 'Describes this connection.',
      reply: 'One line of `field=value`.',
      handler: ({ session, server }) =>
        new VerbatimText(`${clientLine(session, server.timeline.monoUs())}\n`),
    },
    {
      ...administration,
      name: 'list',
      arity: -2,
      summary: 'Describes the open connections.',
      reply: 'One line of `field=value` for each.',
      notes: ownConnections,
      arguments: [
        { name: 'type', type: 'string', token: 'TYPE', optional: true },
        { name: 'client-id', type: 'integer', token: 'ID', optional: true, multiple: true },
      ],
      handler: list,
    },
    {
      ...administration,
      name: 'kill',
      change: { event: 'client-kill', objects: () => [''] },
      arity: -3,
      summary: 'Closes connections.',
      reply: '`OK` for the form with an address alone; else how many were closed.',
      notes: `\`SKIPME\` is \`yes\` by default: the caller stays. ${ownConnections}`,
      arguments: [{ name: 'ip:port', type: 'string', optional: true }, ...filterDocs],
      handler: kill,
    },
    {
      ...administration,
      ...acceptedSwitch,
      permission: 'connection',
      name: 'no-evict',
      summary: 'Accepted; connections are never evicted.',
    },
    {
      ...common,
      ...acceptedSwitch,
      name: 'no-touch',
      summary: 'Accepted; generators have no idle time to touch.',
    },
    ...trackingSubcommands.map((subcommand) => ({ ...common, ...subcommand })),
  ],
})

function setInfo({ session }: CommandContext, args: Arguments): Reply {
  const attribute = args.token(0)
  const shown = args.text(0).slice(0, 64)
  if (attribute !== 'LIB-NAME' && attribute !== 'LIB-VER') {
    throw new FahaoError('ERR', `Unrecognized option '${shown}'`)
  }
  const value = checkedName(args, 1, shown)
  if (attribute === 'LIB-NAME') session.libraryName = value
  else session.libraryVersion = value
  return ok
}

/** Whether a connection is meant. */
type Filter = (session: Session) => boolean

/** The filters of CLIENT KILL, by token, and how each reads its value. */
const filters: Readonly<Record<string, (args: Arguments, index: number) => Filter>> = {
  ID(args, index) {
    const wanted = clientId(args, index)
    return ({ id }) => id === wanted
  },
  ADDR: (args, index) => addressFilter(args.text(index)),
  LADDR(args, index) {
    const wanted = args.text(index)
    return ({ localAddress }) => localAddress === wanted
  },
  USER(args, index) {
    const wanted = args.text(index)
    return ({ access }) => access.user === wanted
  },
  TYPE: typeFilter,
}

function addressFilter(wanted: string): Filter {
  return ({ address }) => address === wanted
}

/** Every connection here is `normal`. */
function typeFilter(args: Arguments, index: number): Filter {
  const type = args.text(index).toLowerCase()
  if (!['normal', 'master', 'replica', 'slave', 'pubsub'].includes(type)) {
    throw new FahaoError('ERR', `Unknown client type '${args.text(index).slice(0, 64)}'`)
  }
  return () => type === 'normal'
}

function list({ server }: CommandContext, args: Arguments): Reply {
  const matches = args.length === 0 ? () => true : listFilter(args)
  const nowUs = server.timeline.monoUs()
  const lines = [...server.sessions()]
    .filter(matches)
    .sort((a, b) => a.id - b.id)
    .map((session) => `${clientLine(session, nowUs)}\n`)
  return new VerbatimText(lines.join(''))
}

function listFilter(args: Arguments): Filter {
  const token = args.token(0)
  if (token === 'TYPE' && args.length === 2) return typeFilter(args, 1)
  if (token !== 'ID' || args.length === 1) throw syntaxError()
  const ids = idsFrom(args, 1)
  return ({ id }) => ids.includes(id)
}

function kill({ session, server }: CommandContext, args: Arguments): Reply {
  if (args.length === 1) {
    if (closeAll(server.sessions(), [addressFilter(args.text(0))]) > 0) return ok
    throw new FahaoError('ERR', 'No such client')
  }
  const given: Filter[] = []
  let skipMe = true
  for (const [token, value] of args.options(0)) {
    const read = filters[token]
    if (token === 'SKIPME') skipMe = args.oneOf(value, 'YES', 'NO') === 'YES'
    else if (read === undefined) throw syntaxError()
    else given.push(read(args, value))
  }
  return closeAll(server.sessions(), [(other) => !skipMe || other !== session, ...given])
}

/** Closes the connections that all filters match; returns their number. */
function closeAll(sessions: Iterable<Session>, all: readonly Filter[]): number {
  const matching = [...sessions].filter((session) => all.every((matches) => matches(session)))
  for (const session of matching) session.close()
  return matching.length
}

function clientId(args: Arguments, index: number): number {
  const id = args.integer(index)
  if (id < 1n) throw new FahaoError('ERR', 'client-id should be greater than 0')
  return Number(id)
}

function idsFrom(args: Arguments, from: number): number[] {
  const ids: number[] = []
  for (let index = from; index < args.length; index++) {
    const text = args.text(index)
    if (!/^[1-9]\d{0,18}$/.test(text)) throw new FahaoError('ERR', 'Invalid client ID')
    ids.push(Number(text))
  }
  return ids
}
