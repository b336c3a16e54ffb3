/**
 * The spans of commands. Redis's protocol tells no trace, so each begins one, and the sampler of the SDK decides about it. What is
 * answered in place has none, and neither has what only concerns the connection.
 */
import { nameBytesMax } from '../catalogue/name-rules.ts'
import type { Command } from '../commands/command.ts'
import { refusals } from '../commands/refused-commands.ts'
import { CommandTable } from '../commands/table.ts'
import type { Tracing } from '../installation/tracing.ts'

/** The commands, each with spans. */
export function tracedCommands(table: CommandTable, tracing: Tracing): CommandTable {
  return new CommandTable(
    table.all().map((command) => traced(command, tracing, '')),
    refusals,
  )
}

function traced(command: Command, tracing: Tracing, container: string): Command {
  const { handler, subcommands, keys } = command
  const name = `${container}${command.name.toUpperCase()}`
  return {
    ...command,
    ...(subcommands && { subcommands: subcommands.map((each) => traced(each, tracing, `${name} `)) }),
    ...(handler &&
      command.permission !== 'connection' && {
        handler(context, args) {
          const isName = keys?.[0] === 1 && args.length > 0 && args.parts[0]!.length <= nameBytesMax
          const attributes = {
            'network.protocol.name': 'resp',
            ...(isName && { 'fahao.generator': args.text(0) }),
          }
          return tracing.answer(name, attributes, () => handler(context, args))
        },
      }),
  }
}
