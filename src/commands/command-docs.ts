/** COMMAND DOCS: the documentation of a command in Redis's shape, which redis-cli shows during input. */
import { type ArgumentDoc, type Command, MapReply, type Reply, SetReply, SimpleString } from './command.ts'

/** The documentation of one command. `container`: the word before a subcommand. */
export function commandDocs(command: Command, container?: string): MapReply {
  const subcommands = command.subcommands ?? []
  const entries: [Reply, Reply][] = [
    ['summary', command.summary],
    ['since', '0.1.0'],
    ['group', command.group],
  ]
  if (command.arguments !== undefined) entries.push(['arguments', command.arguments.map(argumentDocs)])
  if (subcommands.length > 0) {
    const word = container === undefined ? command.name : `${container}|${command.name}`
    entries.push([
      'subcommands',
      new MapReply(subcommands.map((sub) => [`${word}|${sub.name}`, commandDocs(sub, word)])),
    ])
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
  const flags = [...(argument.optional ? ['optional'] : []), ...(argument.multiple ? ['multiple'] : [])]
  if (flags.length > 0) entries.push(['flags', new SetReply(flags.map((flag) => new SimpleString(flag)))])
  if (argument.arguments !== undefined) entries.push(['arguments', argument.arguments.map(argumentDocs)])
  return new MapReply(entries)
}
