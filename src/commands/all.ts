/** The list of all Redis commands: a new command is added to the file of its family, and a new family here. */
import { aclCommand } from './acl.ts'
import { clientCommand } from './client.ts'
import { clusterCommand } from './cluster.ts'
import { connectionCommands } from './connection.ts'
import { genericCommands } from './generic.ts'
import { issuingCommands } from './id-issue.ts'
import { leaseCommands } from './id-lease.ts'
import { managingCommands } from './id-manage.ts'
import { namespaceCommand } from './id-namespace.ts'
import { workerCommand } from './id-worker.ts'
import { introspectionCommand } from './introspection.ts'
import { recording } from './recording.ts'
import { refusals } from './refused.ts'
import { serverCommands } from './server.ts'
import { setCommands } from './set.ts'
import { stringCommands } from './strings.ts'
import { CommandTable } from './table.ts'
import { invalidating } from './tracking.ts'
import { transactionCommands } from './transactions.ts'
import { helpCommand, helpLines } from './usage.ts'

/** A server's commands. Make one table for each server: SCAN's cursors are remembered in it. */
export function createCommands(): CommandTable {
  const table: CommandTable = new CommandTable(
    [
      ...issuingCommands,
      ...leaseCommands,
      ...managingCommands,
      namespaceCommand,
      workerCommand,
      idHelp,
      ...stringCommands,
      ...setCommands,
      ...genericCommands(),
      ...connectionCommands,
      clientCommand,
      ...transactionCommands,
      introspectionCommand(() => table),
      ...serverCommands,
      aclCommand(() => table),
      clusterCommand,
    ].map((command) => invalidating(recording(command))),
    refusals,
  )
  return table
}

const idHelp = helpCommand(
  { name: 'id.help', arity: 1, group: 'id', summary: 'Lists the commands of the ID family.' },
  [...issuingCommands, ...leaseCommands, ...managingCommands, namespaceCommand, workerCommand].flatMap(
    helpLines,
  ),
)
