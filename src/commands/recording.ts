/** The commands that change something, each followed by an entry in the audit trail. */
import { addressOf } from '../base/address.ts'
import type { Arguments } from './arguments.ts'
import type { Command, Reply } from './command.ts'
import type { CommandContext } from './context.ts'
import { keysIn } from './table.ts'

/** A request may name a thousand generators; so many have an entry of their own. */
const namedMax = 64

/** The command, or the container, whose changes the audit trail records. A request that fails changes nothing. */
export function recording(command: Command): Command {
  const { subcommands, handler, change } = command
  const inner = subcommands && { subcommands: subcommands.map(recording) }
  if (change === undefined || handler === undefined) return { ...command, ...inner }
  return {
    ...command,
    ...inner,
    handler(context, args) {
      const reply = handler(context, args)
      if (!(reply instanceof Promise)) return recorded(command, context, args, reply)
      return reply.then((answer) => recorded(command, context, args, answer))
    },
  }
}

function recorded(command: Command, context: CommandContext, args: Arguments, reply: Reply): Reply {
  // There was nothing to drop, or a condition was not met.
  if (reply === 0 || reply === null) return reply
  const { event, objects = keyTexts } = command.change!
  const named = objects(args, command)
  const { session, server } = context
  const { user } = session.access
  const common = { event, user, address: addressOf(session.address).host, door: 'resp' }
  const found =
    typeof reply === 'number' && reply < named.length ? `${reply} of ${named.length} existed` : undefined
  for (const object of named.slice(0, namedMax)) server.audit.record({ ...common, object, detail: found })
  if (named.length > namedMax)
    server.audit.record({ ...common, object: '', detail: `and ${named.length - namedMax} others` })
  return reply
}

function keyTexts(args: Arguments, command: Command): string[] {
  return keysIn(command, args).map((key) => Buffer.from(key).toString())
}
