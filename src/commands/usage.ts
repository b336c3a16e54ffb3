/** How a command is written: the syntax line for HELP and the reference page, and HELP itself. */
import { type ArgumentDoc, type Command, SimpleString } from './command.ts'

/** `SCAN cursor [MATCH pattern] [COUNT count]`. `container`: the word before a subcommand. */
export function usage(command: Command, container?: string): string {
  const words = [container, command.name].filter((word) => word !== undefined)
  return [words.join(' ').toUpperCase(), ...(command.arguments ?? []).map(argumentUsage)].join(' ')
}

/** A container with its HELP, which lists what it holds. */
export function container(record: Command): Command {
  const subcommands = record.subcommands ?? []
  const title = record.name.toUpperCase()
  const lines = [
    `${title} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:`,
    ...subcommands.flatMap((subcommand) => helpLines(subcommand, undefined)),
    'HELP',
    '    Print this help.',
  ].map((line) => new SimpleString(line))
  const help: Command = {
    name: 'help',
    arity: 2,
    flags: ['loading', 'stale', 'fast'],
    keys: [0, 0, 0],
    permission: 'connection',
    group: record.group,
    summary: `Lists the subcommands of ${title}.`,
    reply: 'Lines of text.',
    handler: () => lines,
  }
  return { ...record, subcommands: [...subcommands, help] }
}

/** Two lines of help: how to write it, and what it does. */
export function helpLines(command: Command, container: string | undefined): string[] {
  return [usage(command, container), `    ${command.summary}`]
}

function argumentUsage(argument: ArgumentDoc): string {
  const one = oneUsage(argument)
  const repeated = argument.multiple ? `${one} [${one} ...]` : one
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
