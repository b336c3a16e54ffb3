/** How a command is written: the syntax line for HELP and the reference page, and HELP itself. */
import { type ArgumentDoc, type Command, SimpleString } from './command.ts'

/** `SCAN cursor [MATCH pattern] [COUNT count]`. `container`: the word before a subcommand. */
export function usage(command: Command, container?: string): string {
  const words = [container, command.name].filter((word) => word !== undefined)
  return [words.join(' ').toUpperCase(), ...(command.arguments ?? []).map(argumentUsage)].join(' ')
}

/** A container of subcommands, and its HELP, which lists them. */
export function container(record: Omit<Command, 'arity' | 'reply'> & Partial<Command>): Command {
  const subcommands = record.subcommands ?? []
  const title = record.name.toUpperCase()
  const lines = [
    `${title} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:`,
    ...subcommands.flatMap(helpLines),
    'HELP',
    '    Print this help.',
  ]
  const help = { name: 'help', arity: 2, group: record.group, summary: `Lists the subcommands of ${title}.` }
  const listed = [...subcommands, helpCommand(help, lines)]
  return { arity: -2, reply: 'Depends on the subcommand.', ...record, subcommands: listed }
}

/** A command whose reply is these lines. */
export function helpCommand(
  record: Pick<Command, 'name' | 'arity' | 'group' | 'summary'>,
  lines: readonly string[],
): Command {
  return {
    ...record,
    flags: ['loading', 'stale', 'fast'],
    permission: 'connection',
    reply: 'Lines of text.',
    handler: () => lines.map((line) => new SimpleString(line)),
  }
}

/** Two lines of help: how to write it, and what it does. */
export function helpLines(command: Command): string[] {
  return [usage(command), `    ${command.summary}`]
}

function argumentUsage(argument: ArgumentDoc): string {
  const one = oneUsage(argument)
  const again = argument.token === undefined || argument.repeatsToken ? one : argument.name
  const repeated = argument.multiple ? `${one} [${again} ...]` : one
  return argument.optional ? `[${repeated}]` : repeated
}

function oneUsage(argument: ArgumentDoc): string {
  const parts = argument.arguments ?? []
  if (argument.type === 'pure-token') return argument.token ?? argument.name.toUpperCase()
  const token = argument.token === undefined ? '' : `${argument.token} `
  if (argument.type === 'oneof') return `${token}${parts.map(argumentUsage).join(' | ')}`
  if (argument.type === 'block') return `${token}${parts.map(argumentUsage).join(' ')}`
  return `${token}${argument.name}`
}
