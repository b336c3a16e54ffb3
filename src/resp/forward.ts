/**
 * Forwarding over RESP: the commands of a node in a cluster, and its connections to other nodes. A request for a
 * generator of another leader is refused by its handler with `Moved`. `Forwarder` then sends the request to the leader;
 * on a node that does not forward, the client receives `-MOVED` as any other error (`requests.ts`).
 */
import { type Proving, respPurpose } from '../auth/node-proof.ts'
import { addressOf } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { slotOf } from '../cluster/slots.ts'
import { isForwardable } from '../commands/access.ts'
import type { Arguments } from '../commands/arguments.ts'
import type { Command, EncodedReply, Reply } from '../commands/command.ts'
import type { ClientSession, CommandContext } from '../commands/context.ts'
import { refusals } from '../commands/refused.ts'
import { CommandTable } from '../commands/table.ts'
import { invalidated, isTracked } from '../commands/tracking.ts'
import type { Forwarder, ForwardTransport } from '../forwarding/forwarder.ts'
import type { Dial } from '../listening/dial.ts'
import { encodedRequest, ForwardConnection } from './forward-connection.ts'
import { placement } from './placement.ts'
import { forwardNames, isForwardName } from './rounding.ts'
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

/** Slots of the names in repeated requests. */
const slots = new WeakMap<Arguments, number>()

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
  let slot = slots.get(args)
  if (slot === undefined) {
    slot = slotOf(name)
    slots.set(args, slot)
  }
  return forwarder.knownLeader(slot)
}

const libraryVersion = ['CLIENT', 'SETINFO', 'LIB-VER']
const notLed = Buffer.from('-CLUSTERDOWN ')
const overQuota = Buffer.from('-QUOTA ')

/** Connections to other nodes: for each node one per form of replies and user. */
export class RespTransport implements ForwardTransport<RespRequest, EncodedReply, Reply> {
  readonly protocol = 'resp'
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #proving: Proving
  readonly #dial: Dial
  /** By address, then by the form of replies, the id of the node and the user with its revision. */
  readonly #connections = new Map<string, Map<string, ForwardConnection>>()
  /** The bytes of repeated requests. */
  readonly #encoded = new WeakMap<Arguments, Uint8Array>()
  #closed = false

  /** @param timeoutMs how long a reply may take. */
  constructor(clock: Clock, timeoutMs: number, dial: Dial, proving: Proving) {
    this.#proving = proving
    this.#clock = clock
    this.#dial = dial
    this.#timeoutMs = timeoutMs
  }

  handle({ command, context, args }: RespRequest): Reply | Promise<Reply> {
    return command.handler!(context, args)
  }

  send({ command, context, args }: RespRequest, address: string, nodeId: string): Promise<EncodedReply> {
    if (this.#closed) return Promise.reject(new FahaoError('SHUTDOWN', 'this node is stopping; retry'))
    let encoded = this.#encoded.get(args)
    if (encoded === undefined) {
      encoded = encodedRequest([Buffer.from(command.name), ...args.parts])
      this.#encoded.set(args, encoded)
    }
    const connection = this.#connection(address, nodeId, context.session)
    if (command.change !== undefined) {
      // For the audit trail of the leader: the requests of a connection are those of many clients, and run in order.
      const { host } = addressOf(context.session.address)
      connection
        .send(encodedRequest(libraryVersion.concat(host).map((word) => Buffer.from(word))))
        .catch(() => {})
    }
    return connection.send(encoded)
  }

  deliver({ command, context, args }: RespRequest, reply: EncodedReply): Reply | Promise<Reply> {
    const { session } = context
    if (session instanceof RespSession) session.refused ||= startsWith(reply, overQuota)
    return isTracked(command, context) ? invalidated(command, args, reply) : reply
  }

  isNotLed(reply: EncodedReply): boolean {
    return startsWith(reply, notLed)
  }

  onlyDraws({ command }: RespRequest): boolean {
    return command.permission === 'issue'
  }

  isForwarded({ context }: RespRequest): boolean {
    return isForwardName(context.session.libraryName)
  }

  abandon(address: string, reason: string): void {
    for (const connection of [...(this.#connections.get(address)?.values() ?? [])]) connection.close(reason)
  }

  close(): void {
    this.#closed = true
    for (const address of [...this.#connections.keys()]) this.abandon(address, 'this node is stopping')
  }

  #connection(address: string, nodeId: string, session: ClientSession): ForwardConnection {
    const { protocol } = session
    const { user } = session.access
    const wideIds = session instanceof RespSession ? session.wideIds : 'integer'
    // The leader permits what it knows of the user, and at least what this node knew when it made the connection.
    const revision = this.#proving.revisionOf(user)
    const form = `${wideIds} ${protocol} ${nodeId} ${revision} ${user}`
    const connections = this.#connections.get(address) ?? new Map<string, ForwardConnection>()
    this.#connections.set(address, connections)
    let connection = connections.get(form)
    if (connection === undefined) {
      connection = new ForwardConnection({
        ...addressOf(address),
        dial: this.#dial,
        greetings: [
          ['HELLO', String(protocol), 'AUTH', user, this.#proving.proofFor(user, nodeId, respPurpose)],
          ['CLIENT', 'SETINFO', 'LIB-NAME', forwardNames[wideIds]],
        ],
        clock: this.#clock,
        timeoutMs: this.#timeoutMs,
        onEnd: () => {
          connections.delete(form)
          if (connections.size === 0) this.#connections.delete(address)
        },
      })
      connections.set(form, connection)
    }
    return connection
  }
}

function startsWith({ bytes }: EncodedReply, start: Buffer): boolean {
  return start.equals(bytes.subarray(0, start.length))
}
