/** CLIENT: the open connections, their names and libraries, and closing them. */
import { FahaoError } from '../base/errors.ts'
import { type Arguments, syntaxError } from './arguments.ts'
import { type ClientFilter, clientLine, matches } from './client-list.ts'
import { type Command, ok, type Reply, VerbatimText } from './command.ts'
import { checkedName } from './connection.ts'
import type { ClientSession, CommandContext } from './context.ts'
import { trackingSubcommands } from './tracking.ts'
import { container } from './usage.ts'

const common = {
  keys: [0, 0, 0],
  flags: ['noscript', 'loading', 'stale'],
  permission: 'connection',
  group: 'connection',
} as const
const administration = { ...common, flags: ['admin', ...common.flags], permission: 'admin' } as const
const onOrOff = {
  name: 'enabled',
  type: 'oneof',
  arguments: [
    { name: 'on', type: 'pure-token', token: 'ON' },
    { name: 'off', type: 'pure-token', token: 'OFF' },
  ],
} as const

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
  arity: -2,
  summary: 'A container for commands about connections.',
  reply: 'Depends on the subcommand.',
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
      arguments: [
        { name: 'type', type: 'string', token: 'TYPE', optional: true },
        { name: 'client-id', type: 'integer', token: 'ID', optional: true, multiple: true },
      ],
      handler: list,
    },
    {
      ...administration,
      name: 'kill',
      arity: -3,
      summary: 'Closes connections.',
      reply: '`OK` for the form with an address alone; else how many were closed.',
      notes: '`SKIPME` is `yes` by default: the caller stays.',
      arguments: [{ name: 'ip:port', type: 'string', optional: true }, ...filterDocs],
      handler: kill,
    },
    {
      ...administration,
      permission: 'connection',
      name: 'no-evict',
      arity: 3,
      summary: 'Accepted; connections are never evicted.',
      reply: '`OK`.',
      arguments: [onOrOff],
      handler: acceptSwitch,
    },
    {
      ...common,
      name: 'no-touch',
      arity: 3,
      summary: 'Accepted; generators have no idle time to touch.',
      reply: '`OK`.',
      arguments: [onOrOff],
      handler: acceptSwitch,
    },
    ...trackingSubcommands,
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

function list({ server }: CommandContext, args: Arguments): Reply {
  const filter: ClientFilter = {}
  if (args.length > 0) {
    const token = args.token(0)
    if (token === 'TYPE' && args.length === 2) filter.type = clientType(args, 1)
    else if (token === 'ID' && args.length > 1) filter.ids = idsFrom(args, 1)
    else throw syntaxError()
  }
  const nowUs = server.timeline.monoUs()
  const lines = [...server.sessions()]
    .filter((session) => matches(session, filter))
    .sort((a, b) => a.id - b.id)
    .map((session) => `${clientLine(session, nowUs)}\n`)
  return new VerbatimText(lines.join(''))
}

function kill({ session, server }: CommandContext, args: Arguments): Reply {
  if (args.length === 1) {
    const wanted = args.text(0)
    const closed = closeAll(server.sessions(), { address: wanted })
    if (closed === 0) throw new FahaoError('ERR', 'No such client')
    return ok
  }
  const { filter, skipMe } = killFilter(args)
  return closeAll(server.sessions(), filter, skipMe ? session : undefined)
}

function closeAll(sessions: Iterable<ClientSession>, filter: ClientFilter, spared?: ClientSession): number {
  const doomed = [...sessions].filter((session) => session !== spared && matches(session, filter))
  for (const session of doomed) session.close()
  return doomed.length
}

function killFilter(args: Arguments): { filter: ClientFilter; skipMe: boolean } {
  const filter: ClientFilter = {}
  let skipMe = true
  for (let index = 0; index < args.length; index += 2) {
    if (index + 1 >= args.length) throw syntaxError()
    switch (args.token(index)) {
      case 'ID':
        filter.ids = [clientId(args, index + 1)]
        break
      case 'ADDR':
        filter.address = args.text(index + 1)
        break
      case 'LADDR':
        filter.localAddress = args.text(index + 1)
        break
      case 'USER':
        filter.user = args.text(index + 1)
        break
      case 'TYPE':
        filter.type = clientType(args, index + 1)
        break
      case 'SKIPME':
        skipMe = yesOrNo(args.token(index + 1))
        break
      default:
        throw syntaxError()
    }
  }
  return { filter, skipMe }
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

function clientType(args: Arguments, index: number): string {
  const type = args.text(index).toLowerCase()
  if (!['normal', 'master', 'replica', 'slave', 'pubsub'].includes(type)) {
    throw new FahaoError('ERR', `Unknown client type '${args.text(index).slice(0, 64)}'`)
  }
  return type
}

function yesOrNo(token: string): boolean {
  if (token !== 'YES' && token !== 'NO') throw syntaxError()
  return token === 'YES'
}

function acceptSwitch(_: CommandContext, args: Arguments): Reply {
  const token = args.token(0)
  if (token !== 'ON' && token !== 'OFF') throw syntaxError()
  return ok
}
