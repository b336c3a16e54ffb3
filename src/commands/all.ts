/** The list of all Redis commands: a new command is added to the file of its family, and a new family here. */
import { leaseOperations } from '../operations/leases.ts'
import { ledgerOperations } from '../operations/ledger.ts'
import { momentOperations } from '../operations/moments.ts'
import { namespaceOperations } from '../operations/namespaces.ts'
import { workerOperations } from '../operations/worker-ids.ts'
import { aclCommand } from './acl.ts'
import { clientCommand } from './client.ts'
import { clusterCommand } from './cluster.ts'
import { container, helpCommand, helpLines } from './command-help.ts'
import { connectionCommands } from './connection.ts'
import { genericCommands } from './generic.ts'
import { commandsOf } from './grammar.ts'
import { issuingCommands } from './id-issue.ts'
import { managingCommands } from './id-manage.ts'
import { introspectionCommand } from './introspection.ts'
import { recording } from './recording.ts'
import { refusals } from './refused-commands.ts'
import { serverCommands } from './server.ts'
import { setCommands } from './set.ts'
import { stringCommands } from './strings.ts'
import { CommandTable } from './table.ts'
import { invalidating } from './tracking.ts'
import { transactionCommands } from './transactions.ts'

const momentCommands = commandsOf(momentOperations)
const leaseCommands = commandsOf(leaseOperations)
const ledgerCommands = commandsOf(ledgerOperations)
const namespaceCommand = container({
  group: 'id',
  flags: [],
  permission: 'read',
  name: 'id.namespace',
  summary: 'A container for commands about namespaces.',
  subcommands: commandsOf(namespaceOperations),
})
const workerCommand = container({
  group: 'id',
  flags: [],
  permission: 'issue',
  name: 'id.worker',
  summary: 'A container for commands about plain worker ids.',
  subcommands: commandsOf(workerOperations),
})

/** The ID family without its help. */
const idCommands = [
  ...issuingCommands,
  ...momentCommands,
  ...leaseCommands,
  ...ledgerCommands,
  ...managingCommands,
  namespaceCommand,
  workerCommand,
]

/** A server's commands. Make one table for each server: SCAN's cursors are remembered in it. */
export function createCommands(): CommandTable {
  const table: CommandTable = new CommandTable(
    [
      ...idCommands,
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
  idCommands.flatMap(helpLines),
)
