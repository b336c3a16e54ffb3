/**
 * Forwarding over RESP: the commands of a node in a cluster, and its connections to other nodes. A request for a
 * generator of another leader is refused by its handler with `Moved`. `Forwarder` then sends the request to the leader;
 * on a node that does not forward, the client receives `-MOVED` as any other error (`requests.ts`).
 */
import { slotOf } from '../cluster/slots.ts'
import { isForwardable } from '../commands/access.ts'
import type { Arguments } from '../commands/arguments.ts'
import type { Command, EncodedReply, Reply } from '../commands/command.ts'
import type { CommandContext } from '../commands/context.ts'
import { refusals } from '../commands/refused-commands.ts'
import { CommandTable } from '../commands/table.ts'
import { invalidated, isTracked } from '../commands/tracking.ts'
import type { Forwarder, ForwardTransport } from '../forwarding/forwarder.ts'
import { encodedRequest } from './forward-connection.ts'
import { NodeTransport, startsWith } from './node-transport.ts'
import { placement } from './queued-placement.ts'
import { isForwardName } from './rounding.ts'
import { RespSession } from './session.ts'

/** A request of a client: its command as a node without a cluster carries it out. */
export type RespRequest = {
  readonly command: Command
  readonly context: CommandContext
  readonly args: Arguments
}

/** Forwards commands. */
export type RespForwarder = Forwarder<RespRequest, EncodedReply, Reply>

/** The commands of a node in a cluster. */
export function clusterCommands(table: CommandTable, forwarder: RespForwarder): CommandTable {
  return new CommandTable(
    table.all().map((command) => (isForwardable(command) ? forwarded(command, forwarder) : command)),
    refusals,
  )
}

function forwarded(command: Command, forwarder: RespForwarder): Command {
  const placed = forwarder.forwards ? undefined : placement(command, (slot) => forwarder.knownLeader(slot))
  return {
    ...command,
    ...(placed && { placed }),
    // The decoder never overwrites bytes that it has returned: they stay valid after an await.
    handler(context, args) {
      const request = { command, context, args }
      const leader = knownLeader(request, forwarder)
      return leader === undefined ? forwarder.handle(request) : forwarder.forward(request, leader)
    },
  }
}

/**
 * The node that leads what a request draws from, if this node's view names another one. The handler would refuse the
 * request for the same reason, with an exception, which costs several times as much as forwarding.
 */
function knownLeader({ command, context, args }: RespRequest, forwarder: RespForwarder) {
  if (!forwarder.forwards || command.permission !== 'issue') return undefined
  const name = args.text(0)
  if (context.catalogue.find(name)?.mode !== 'leader' || isForwardName(context.session.libraryName)) {
    return undefined
  }
  return forwarder.knownLeader(slotOf(name))
}

const overQuota = Buffer.from('-QUOTA ')

/** Requests of clients at other nodes. */
export class RespTransport
  extends NodeTransport
  implements ForwardTransport<RespRequest, EncodedReply, Reply>
{
  handle({ command, context, args }: RespRequest): Reply | Promise<Reply> {
    return command.handler!(context, args)
  }

  send({ command, context, args }: RespRequest, address: string, nodeId: string): Promise<EncodedReply> {
    const encoded = encodedRequest([Buffer.from(command.name), ...args.parts])
    const { session } = context
    const wideIds = session instanceof RespSession ? session.wideIds : 'integer'
    const asking = { session, protocol: session.protocol, wideIds }
    return this.connection(address, nodeId, asking, command.change !== undefined).send(encoded)
  }

  deliver({ command, context, args }: RespRequest, reply: EncodedReply): Reply | Promise<Reply> {
    const { session } = context
    if (session instanceof RespSession) session.refused ||= startsWith(reply, overQuota)
    return isTracked(command, context) ? invalidated(command, args, reply) : reply
  }

  onlyDraws({ command }: RespRequest): boolean {
    return command.permission === 'issue'
  }

  isForwarded({ context }: RespRequest): boolean {
    return isForwardName(context.session.libraryName)
  }
}
