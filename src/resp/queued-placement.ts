/** The node of a cluster for a request that a transaction queues, where nodes do not forward. */
import { hasCode } from '../base/errors.ts'
import { Moved, type MovedDetails } from '../base/moved.ts'
import type { IssuingMode } from '../catalogue/catalogue.ts'
import { slotOf } from '../cluster/slots.ts'
import type { Arguments } from '../commands/arguments.ts'
import type { Command } from '../commands/command.ts'
import type { CommandContext } from '../commands/context.ts'
import { checkOneSlot } from '../commands/cross-slot.ts'
import { keysIn } from '../commands/table.ts'

/** The leader of a slot, if it is another node. */
type KnownLeader = (slot: number) => MovedDetails | undefined

/** `Command.placed` of a command that names generators. */
export function placement(command: Command, knownLeader: KnownLeader): Command['placed'] {
  // Every node answers the other commands.
  if (command.permission !== 'issue' && command.group !== 'string') return undefined
  return (context, args) => placed(command, context, args, knownLeader)
}

function placed(
  command: Command,
  context: CommandContext,
  args: Arguments,
  knownLeader: KnownLeader,
): number | undefined | Promise<number | undefined> {
  const names = keysIn(command, args).map((name) => Buffer.from(name).toString())
  checkOneSlot(context, names)
  const slot = slotOf(names[0]!)
  const result = (modes: readonly (IssuingMode | undefined)[]) => {
    if (!modes.includes('leader')) return undefined
    const leader = knownLeader(slot)
    if (leader !== undefined) throw new Moved(leader)
    return slot
  }
  const modes = names.map((name) => context.catalogue.find(name)?.mode)
  if (!modes.includes(undefined)) return result(modes)
  return Promise.all(names.map((name) => modeOf(context, name))).then(result)
}

/** Undefined if there is no such generator. */
async function modeOf({ catalogue }: CommandContext, name: string): Promise<IssuingMode | undefined> {
  const open = catalogue.find(name)
  if (open !== undefined) return open.mode
  try {
    return (await catalogue.info(name)).mode
  } catch (error) {
    if (hasCode(error, 'NOGENERATOR') || hasCode(error, 'ERR')) return undefined
    throw error
  }
}
