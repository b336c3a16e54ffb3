/** COMMAND: which commands there are and where their keys stand, for libraries. */
import { FahaoError } from '../base/errors.ts'
import { globMatcher } from '../base/glob.ts'
import { Arguments, syntaxError } from './arguments.ts'
import { type ArgumentDoc, type Command, MapReply, type Reply, SetReply, SimpleString } from './command.ts'
import { container } from './command-help.ts'
import { type CommandTable, findSubcommand, keysIn, takesWords } from './table.ts'

const common = {
  flags: ['loading', 'stale'],
  permission: 'connection',
  group: 'server',
} as const
const names = { name: 'command-name', type: 'string', optional: true, multiple: true } as const

/** COMMAND over a table, which is made after it and contains it. */
export function introspectionCommand(table: () => CommandTable): Command {
  const every = () => table().all()
  /** The commands that a request names, or every command. LIMIT for more names than there are: the reply grows with each. */
  const asked = (args: Arguments) => {
    if (args.length === 0) return every().map(({ name }) => name)
    const namesMax = every().reduce((sum, { subcommands = [] }) => sum + 1 + subcommands.length, 0)
    if (args.length > namesMax) {
      throw new FahaoError('LIMIT', `there are ${namesMax} commands and subcommands; name each once`)
    }
    return args.texts().map((name) => name.toLowerCase())
  }
  return container({
    ...common,
    name: 'command',
    arity: -1,
    summary: 'Describes every command, for libraries.',
    reply: 'An array with an entry for each command, as Redis 7 has it.',
    handler: () => every().map((command) => entry(command.name, command)),
    subcommands: [
      {
        ...common,
        name: 'count',
        arity: 2,
        summary: 'Counts the commands.',
        reply: 'An integer.',
        handler: () => every().length,
      },
      {
        ...common,
        name: 'info',
        arity: -2,
        summary: 'Describes the commands of these names, or every command.',
        reply:
          'An array of entries; nil for a name that is unknown. `LIMIT` for more names than there are commands.',
        arguments: [names],
        handler: (_, args) =>
          asked(args).map((name) => {
            const command = findByPath(table(), name)
            return command === undefined ? null : entry(name, command)
          }),
      },
      {
        ...common,
        name: 'docs',
        arity: -2,
        summary: 'Documents the commands of these names, or every command.',
        reply:
          'A map from name to documentation; unknown names are left out. `LIMIT` for more names than there are commands.',
        arguments: [names],
        handler: (_, args) =>
          new MapReply(
            [...new Set(asked(args))].flatMap((name) => {
              const command = findByPath(table(), name)
              return command === undefined ? [] : [[name, commandDocs(name, command)] as const]
            }),
          ),
      },
      {
        ...common,
        name: 'list',
        arity: -2,
        summary: 'Names the commands.',
        reply: 'An array of names.',
        arguments: [
          {
            name: 'filterby',
            type: 'oneof',
            token: 'FILTERBY',
            optional: true,
            arguments: [
              { name: 'module-name', type: 'string', token: 'MODULE' },
              { name: 'category', type: 'string', token: 'ACLCAT' },
              { name: 'pattern', type: 'pattern', token: 'PATTERN' },
            ],
          },
        ],
        handler: (_, args) => list(table(), args),
      },
      {
        ...common,
        name: 'getkeys',
        arity: -3,
        summary: 'Extracts the names of generators from a full command.',
        reply: 'An array of names.',
        arguments: [
          { name: 'command', type: 'string' },
          { name: 'arg', type: 'string', optional: true, multiple: true },
        ],
        handler: (_, args) => keysOf(table(), args),
      },
    ],
  })
}

/** Redis's ACL categories of a command, with their `@`. */
export function categories(command: Command): string[] {
  const has = (flag: Command['flags'][number]) => command.flags.includes(flag)
  return [
    ...(command.group === 'string' || command.group === 'id' ? [`@${command.group}`] : []),
    ...(command.group === 'connection' ? ['@connection'] : []),
    ...(command.group === 'transactions' ? ['@transaction'] : []),
    ...(command.group === 'generic' ? ['@keyspace'] : []),
    ...(has('write') ? ['@write'] : []),
    ...(has('readonly') ? ['@read'] : []),
    ...(has('admin') ? ['@admin', '@dangerous'] : []),
    has('fast') ? '@fast' : '@slow',
  ]
}

/** The command at a path such as `get` or `client|list`, in lower case. */
function findByPath(table: CommandTable, path: string): Command | undefined {
  const [word = '', second, ...rest] = path.split('|')
  const command = table.get(word)
  if (command === undefined || rest.length > 0) return undefined
  return second === undefined ? command : findSubcommand(command, second)
}

/** Ten fields, as Redis 7 orders them. `path`: `get`, or `client|list`. */
function entry(path: string, command: Command): Reply {
  const keys = keysOfPath(path, command)
  const [first, last, step] = keys ?? [0, 0, 0]
  return [
    path,
    command.arity,
    words(command.flags),
    first,
    last,
    step,
    words(categories(command)),
    [],
    keys === undefined ? [] : [keySpec(command, keys)],
    (command.subcommands ?? []).map((subcommand) => entry(`${path}|${subcommand.name}`, subcommand)),
  ]
}

/** Redis counts the positions of keys from the container's word. */
function keysOfPath(path: string, { keys }: Command): Command['keys'] {
  if (keys === undefined || !path.includes('|')) return keys
  const [first, last, step] = keys
  return [first + 1, last < 0 ? last : last + 1, step]
}

function keySpec(command: Command, [first, last, step]: NonNullable<Command['keys']>): Reply {
  const access = command.flags.includes('write') ? ['RW', 'access', 'update'] : ['RO', 'access']
  return new MapReply([
    ['flags', words(access)],
    [
      'begin_search',
      new MapReply([
        ['type', 'index'],
        ['spec', new MapReply([['index', first]])],
      ]),
    ],
    [
      'find_keys',
      new MapReply([
        ['type', 'range'],
        [
          'spec',
          new MapReply([
            ['lastkey', last < 0 ? last : last - first],
            ['keystep', step],
            ['limit', 0],
          ]),
        ],
      ]),
    ],
  ])
}

function words(texts: readonly string[]): SetReply {
  return new SetReply(texts.map((text) => new SimpleString(text)))
}

function list(table: CommandTable, args: Arguments): Reply {
  const every = table.all()
  if (args.length === 0) return every.map(({ name }) => name)
  if (args.length !== 3 || args.token(0) !== 'FILTERBY') throw syntaxError()
  return every.filter(listFilter(args)).map(({ name }) => name)
}

function listFilter(args: Arguments): (command: Command) => boolean {
  switch (args.token(1)) {
    case 'MODULE':
      return () => false
    case 'ACLCAT': {
      const category = `@${args.text(2).toLowerCase()}`
      return (command) => categories(command).includes(category)
    }
    case 'PATTERN': {
      const matches = globMatcher(args.pattern(2))
      return ({ name }) => matches(name)
    }
    default:
      throw syntaxError()
  }
}

function keysOf(table: CommandTable, request: Arguments): Reply {
  const container = table.get(request.text(0).toLowerCase())
  if (container === undefined) throw new FahaoError('ERR', 'Invalid command specified')
  const subcommand = request.length > 1 ? findSubcommand(container, request.text(1)) : undefined
  const command = subcommand ?? container
  if (command.keys === undefined) throw new FahaoError('ERR', 'The command has no key arguments')
  if (!takesWords(command, request.length)) {
    throw new FahaoError('ERR', 'Invalid number of arguments specified for command')
  }
  return keysIn(command, new Arguments(request.parts.slice(subcommand === undefined ? 1 : 2)))
}

/** The documentation of one command in Redis's shape, which redis-cli shows during input. */
function commandDocs(path: string, command: Command): MapReply {
  const subcommands = command.subcommands ?? []
  const entries: [Reply, Reply][] = [
    ['summary', command.summary],
    ['since', '0.1.0'],
    ['group', command.group],
  ]
  if (command.arguments !== undefined) entries.push(['arguments', command.arguments.map(argumentDocs)])
  if (subcommands.length > 0) {
    const documented = subcommands.map((subcommand) => {
      const subpath = `${path}|${subcommand.name}`
      return [subpath, commandDocs(subpath, subcommand)] as const
    })
    entries.push(['subcommands', new MapReply(documented)])
  }
  return new MapReply(entries)
}

function argumentDocs(argument: ArgumentDoc): MapReply {
  const entries: [Reply, Reply][] = [
    ['name', argument.name],
    ['type', argument.type],
  ]
  if (argument.arguments === undefined && argument.type !== 'pure-token') {
    entries.push(['display_text', argument.name])
  }
  if (argument.type === 'key') entries.push(['key_spec_index', 0])
  if (argument.token !== undefined) entries.push(['token', argument.token])
  const flags = [
    ...(argument.optional ? ['optional'] : []),
    ...(argument.multiple ? ['multiple'] : []),
    ...(argument.repeatsToken ? ['multiple_token'] : []),
  ]
  if (flags.length > 0) entries.push(['flags', words(flags)])
  if (argument.arguments !== undefined) entries.push(['arguments', argument.arguments.map(argumentDocs)])
  return new MapReply(entries)
}
