/** Who may run which command: the categories of commands, and the check of a request before its handler. */
import { type Access, demandCommand, demandName } from '../auth/access.ts'
import type { Subject } from '../auth/command-rules.ts'
import type { Turns } from '../base/turns.ts'
import { permissions } from '../operations/permissions.ts'
import type { Command } from './command.ts'
import { eachKey, type ResolvedRequest } from './table.ts'

/** The categories of Redis's groups that differ from the group's name. */
const groupCategories: Readonly<Record<string, string>> = {
  generic: 'keyspace',
  transactions: 'transaction',
}

/** All that the rules of a user can name: each command and subcommand, and the permissions that no command has. */
export function subjectsOf(commands: readonly Command[]): Subject[] {
  return [
    ...commands.flatMap((command) => [
      ...(command.handler === undefined ? [] : [subjectOf(command, command.name)]),
      ...(command.subcommands ?? []).map((each) => subjectOf(each, `${command.name}|${each.name}`)),
    ]),
    ...permissions,
  ]
}

function subjectOf(command: Command, name: string): Subject {
  const { permission, group, flags } = command
  const categories = new Set<string>([permission, groupCategories[group] ?? group])
  categories.delete('server')
  // Redis's CLIENT KILL is in @connection, which every user begins with here.
  if (permission !== 'connection') categories.delete('connection')
  if (flags.includes('write')) categories.add('write')
  categories.add(flags.includes('fast') ? 'fast' : 'slow')
  if (permission === 'admin' || permission === 'check') categories.add('dangerous')
  // Not by what other questions about generators need.
  if (permission === 'check') categories.delete('id')
  return { name, categories: [...categories], isForwarded: isForwardable(command) }
}

/** Whether nodes forward the command to the leader of the generator that it names. */
export function isForwardable({ keys, anyNode }: Command): boolean {
  return keys !== undefined && !anyNode
}

/** Throws unless the user may run this request: NOAUTH, NOPERM. Before its handler, so that it uses up no id. */
export function demandAccess(access: Access, { command, name, args }: ResolvedRequest): void {
  if (access.unrestricted || command.flags.includes('no_auth')) return
  demandCommand(access, name)
  if (access.reachesAll) return
  eachKey(command, args, (index) => demandName(access, args.text(index)))
}

/** The longest time of `demandAccess` for the names of a request, as the bytes of a reply that take as long. */
export function accessWork(access: Access, { command, args }: ResolvedRequest): number {
  if (access.reachesAll || command.keys === undefined) return 0
  let names = 0
  eachKey(command, args, () => names++)
  return names * access.work
}

/** As `demandAccess`, each name in a turn that has room for it. */
export async function demandAccessInTurns(
  access: Access,
  request: ResolvedRequest,
  turns: Turns,
): Promise<void> {
  const { command, name, args } = request
  if (accessWork(access, request) === 0 || command.flags.includes('no_auth'))
    return demandAccess(access, request)
  demandCommand(access, name)
  const indexes: number[] = []
  eachKey(command, args, (index) => indexes.push(index))
  for (const index of indexes) {
    await turns.take(access.work)
    demandName(access, args.text(index))
  }
}

/** Whether `demandAccess` returns. */
export function isPermitted(access: Access, { command, name, args }: ResolvedRequest): boolean {
  if (access.unrestricted || command.flags.includes('no_auth')) return true
  if (!access.allows(name)) return false
  if (access.reachesAll) return true
  try {
    eachKey(command, args, (index) => demandName(access, args.text(index)))
    return true
  } catch {
    return false
  }
}
