/** What commands and their refusals leave in the audit trail. */
import { isIP } from 'node:net'
import { type Access, demandName, demandPermission, refusedName } from '../auth/access.ts'
import { addressOf } from '../base/address.ts'
import { hasCode } from '../base/errors.ts'
import { recordDenied } from '../operations/refusals.ts'
import { demandAccess, demandAccessInTurns } from './access.ts'
import type { Arguments } from './arguments.ts'
import type { Command, Reply } from './command.ts'
import type { ClientSession, CommandContext } from './context.ts'
import { checkOneSlot } from './cross-slot.ts'
import { keysIn, type ResolvedRequest } from './table.ts'

/** How many of the generators that a request names have an entry of their own: it may name thousands. */
const namedMax = 64

/** How many names a request had gone through before its error. */
const namesBefore = new WeakMap<object, number>()

/** Changes one name after the other; resolves to how many there were. `recording` finds out which preceded an error. */
export async function changeEach(
  names: readonly string[],
  change: (name: string) => Promise<boolean>,
): Promise<number> {
  let count = 0
  for (const [index, name] of names.entries()) {
    try {
      if (await change(name)) count++
    } catch (error) {
      if (count > 0) namesBefore.set(error as object, index)
      throw error
    }
  }
  return count
}

/**
 * The command, or the container, whose changes the audit trail records. A request that fails changes nothing, except for
 * names that `changeEach` has gone through.
 */
export function recording(command: Command): Command {
  const { subcommands, handler, change } = command
  const inner = subcommands && { subcommands: subcommands.map(recording) }
  if (change === undefined || handler === undefined) return { ...command, ...inner }
  return {
    ...command,
    ...inner,
    handler(context, args) {
      // The command may change the user of its own connection.
      const { access } = context.session
      const reply = handler(context, args)
      if (!(reply instanceof Promise)) return recorded(command, context, args, access, reply)
      return reply.then(
        (answer) => recorded(command, context, args, access, answer),
        (error) => {
          const names = objectsOf(command, args).slice(0, namesBefore.get(error) ?? 0)
          recordChanges(command, context, access, names, 'then an error')
          throw error
        },
      )
    },
  }
}

function recorded(
  command: Command,
  context: CommandContext,
  args: Arguments,
  access: Access,
  reply: Reply,
): Reply {
  // There was nothing to drop, or a condition was not met.
  if (reply === 0 || reply === null) return reply
  const named = objectsOf(command, args)
  const found =
    typeof reply === 'number' && reply < named.length ? `${reply} of ${named.length} existed` : undefined
  recordChanges(command, context, access, named, found)
  return reply
}

function objectsOf(command: Command, args: Arguments): readonly string[] {
  const { objects = keyTexts } = command.change!
  return objects(args, command)
}

function recordChanges(
  { change }: Command,
  { session, server }: CommandContext,
  { user, administers }: Access,
  named: readonly string[],
  detail: string | undefined,
): void {
  const { event } = change!
  const by = { user, address: clientAddress(session), isOrdinary: !administers }
  const common = { event, ...by, door: session.door }
  for (const object of named.slice(0, namedMax)) server.audit.record({ ...common, object, detail })
  if (named.length > namedMax)
    server.audit.record({ ...common, object: '', detail: `and ${named.length - namedMax} others` })
}

/** `demandAccess`; NOPERM is recorded. */
export function demandRecorded(access: Access, context: CommandContext, request: ResolvedRequest): void {
  try {
    checkNames(access, context, request)
    demandAccess(access, request)
  } catch (error) {
    recordError(access, context, request, error)
    throw error
  }
}

/** As `demandRecorded`, in turns that have room for it. */
export async function demandRecordedInTurns(
  access: Access,
  context: CommandContext,
  request: ResolvedRequest,
): Promise<void> {
  try {
    checkNames(access, context, request)
    await demandAccessInTurns(access, request, context.server.turns)
  } catch (error) {
    recordError(access, context, request, error)
    throw error
  }
}

/** Refuses a request whose names lie in several slots before they are compared with patterns: CROSSSLOT. */
function checkNames(access: Access, context: CommandContext, { command, name, args }: ResolvedRequest): void {
  if (context.server.cluster === undefined || (command.keys?.[1] ?? 0) >= 0 || !access.allows(name)) return
  checkOneSlot(context, keyTexts(args, command))
}

function recordError(
  access: Access,
  context: CommandContext,
  { command, name }: ResolvedRequest,
  error: unknown,
): void {
  if (!hasCode(error, 'NOPERM')) return
  // Before other requests nodes send no address: the last one is that of an earlier request, perhaps of another client.
  const { session } = context
  const address = command.change === undefined ? addressOf(session.address).host : clientAddress(session)
  recordDenied(context, { user: access.user, address }, name, refusedName(error))
}

/**
 * Carries out a draw that moves a generator as SET with FORCE does: for users that may do that, and recorded like it. Rejects with
 * NOPERM, which is recorded.
 */
export async function forced(
  context: CommandContext,
  generator: string,
  draw: () => Promise<Reply>,
): Promise<Reply> {
  const { session, server } = context
  const { access } = session
  const { user } = access
  const by = { user, address: addressOf(session.address).host }
  try {
    demandPermission(access, 'set', generator)
  } catch (error) {
    recordDenied(context, by, 'set', access.allows('set') ? generator : undefined)
    throw error
  }
  const reply = await draw()
  const common = { event: 'set', door: session.door, isOrdinary: !access.administers } as const
  server.audit.record({ ...common, ...by, object: generator, detail: 'ABOVE with FORCE' })
  return reply
}

/** Throws NOPERM, which is recorded, unless the user may name a generator that is no key of the command. */
export function demandNameRecorded(context: CommandContext, command: string, generator: string): void {
  const { access, address } = context.session
  if (!access.reaches(generator)) {
    const by = { user: access.user, address: addressOf(address).host }
    recordDenied(context, by, command, generator)
  }
  demandName(access, generator)
}

/**
 * The IP address of the client, also of a request that another node has forwarded: nodes send it as the version of their
 * library before a request that changes something.
 */
function clientAddress({ access, address, libraryVersion }: ClientSession): string {
  return access.isForwarded && isIP(libraryVersion) ? libraryVersion : addressOf(address).host
}

function keyTexts(args: Arguments, command: Command): string[] {
  return keysIn(command, args).map((key) => Buffer.from(key).toString())
}
