/** Every command of a server. */
import { clientCommand } from './client.ts'
import type { Command } from './command.ts'
import { connectionCommands } from './connection.ts'
import { introspectionCommand } from './introspection.ts'
import { stringCommands } from './strings.ts'
import { CommandTable } from './table.ts'

/** A server's commands. */
export function createCommands(): CommandTable {
  const commands: Command[] = [
    ...stringCommands,
    ...connectionCommands,
    clientCommand,
    introspectionCommand(() => table),
  ]
  const table = new CommandTable(commands)
  return table
}
