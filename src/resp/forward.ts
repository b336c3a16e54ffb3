/**
 * Commands of a node in a cluster: a request for a generator that is led elsewhere is sent on to its leader where
 * that is wanted, and one that was sent on already is answered here or not at all.
 */
import { addressOf } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { Moved, type MovedDetails } from '../base/moved.ts'
import { detailsOf } from '../catalogue/generator-leaders.ts'
import { slotOf } from '../cluster/slots.ts'
import type { Arguments } from '../commands/arguments.ts'
import { type Command, PassedOn, type Reply } from '../commands/command.ts'
import type { ClusterView, CommandContext, Session } from '../commands/context.ts'
import { answerHere, sendToLeader } from '../commands/forward.ts'
import { refusals } from '../commands/refused.ts'
import { CommandTable } from '../commands/table.ts'
import { invalidated, isTracked } from '../commands/tracking.ts'
import { ForwardLink, requestOf } from './forward-link.ts'
import { forwardNames, isForwardName, type WideIds } from './rounding.ts'
import { RespSession } from './session.ts'

/** The commands, for a node in a cluster. Without `forwarder` a request for elsewhere is refused: MOVED. */
export function clusterCommands(
  table: CommandTable,
  cluster: ClusterView,
  forwarder: RespForwarder | undefined,
): CommandTable {
  forwarder?.follow(cluster)
  return new CommandTable(
    table.all().map((command) => (command.keys[0] === 0 ? command : hopping(command, cluster, forwarder))),
    refusals,
  )
}

function hopping(command: Command, cluster: ClusterView, forwarder: RespForwarder | undefined): Command {
  const { handler } = command
  const hop: Hop = (error, context, args) => {
    if (!(error instanceof Moved)) throw error
    if (isForwarded(context.session)) return answerHere(cluster, error.details, () => handler!(context, args))
    if (forwarder === undefined) throw error
    return onward(forwarder, error.details, context, args)
  }
  const onward = (
    to: RespForwarder,
    details: MovedDetails,
    context: CommandContext,
    args: Arguments,
  ): Promise<Reply> => {
    const reply = sendToLeader<Reply>(cluster, details, {
      onlyDraws: command.permission === 'issue',
      send: (leader) => to.ask(leader, context.session, command, args),
      isNotLed,
      answerHere: () => handler!(context, args),
    })
    if (!isTracked(command, context)) return reply
    return reply.then((answer) => (answer instanceof PassedOn ? invalidated(command, args, answer) : answer))
  }
  return {
    ...command,
    // The decoder never overwrites bytes that it has handed out, so that they are still there after an await.
    handler(context, args) {
      try {
        if (forwarder !== undefined) {
          const leader = leaderElsewhere(cluster, command, context, args)
          if (leader !== undefined) return onward(forwarder, leader, context, args)
        }
        const reply = handler!(context, args)
        if (!(reply instanceof Promise)) return reply
        return reply.catch((error) => hop(error, context, args))
      } catch (error) {
        return hop(error, context, args)
      }
    },
  }
}

/** Answers a request in another way, or throws what it was refused with. */
type Hop = (error: unknown, context: CommandContext, args: Arguments) => Promise<Reply>

/** Slots of the names in requests that come again and again. */
const slots = new WeakMap<Arguments, number>()

/**
 * Who leads what a request draws from, where it is known that this is not this node: what the handler would say too,
 * by a refusal, which costs several times as much as sending the request on.
 */
function leaderElsewhere(
  cluster: ClusterView,
  command: Command,
  { catalogue, session }: CommandContext,
  args: Arguments,
): MovedDetails | undefined {
  if (command.permission !== 'issue') return undefined
  const name = args.text(0)
  if (catalogue.find(name)?.mode !== 'leader') return undefined
  let slot = slots.get(args)
  if (slot === undefined) {
    slot = slotOf(name)
    slots.set(args, slot)
  }
  const lead = cluster.lead(slot)
  return lead.state === 'elsewhere' && !isForwarded(session) ? detailsOf(slot, lead) : undefined
}

const notLed = Buffer.from('-CLUSTERDOWN ')

function isNotLed(reply: Reply): boolean {
  return reply instanceof PassedOn && notLed.equals(reply.encoded.subarray(0, notLed.length))
}

function isForwarded({ libraryName }: Session): boolean {
  return isForwardName(libraryName)
}

/** Connections to other nodes: one for each way in which clients want their replies. */
export class RespForwarder {
  readonly #clock: Clock
  readonly #timeoutMs: number
  /** By address, then by how replies are wanted. */
  readonly #links = new Map<string, Map<string, ForwardLink>>()
  /** Of requests that come again and again, what goes over the wire. */
  readonly #encoded = new WeakMap<Arguments, Uint8Array>()
  #unfollow: (() => void) | undefined
  #closed = false

  /** @param timeoutMs how long a reply may take. */
  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** Has requests that wait for a node settled as soon as that node is declared dead. */
  follow(cluster: ClusterView): void {
    this.#unfollow = cluster.listen({
      onDead: ({ resp }) => {
        if (resp !== undefined) this.#end(resp, 'it was declared dead')
      },
    })
  }

  /** The leader's reply for this peer. Rejects as `ForwardLink.ask` does. */
  ask({ resp }: MovedDetails, session: Session, { name }: Command, args: Arguments): Promise<Reply> {
    if (this.#closed) return Promise.reject(new FahaoError('SHUTDOWN', 'this node is stopping; retry'))
    if (resp === undefined) {
      const message = 'the leader of this generator serves no RESP; retry'
      return Promise.reject(new FahaoError('UNAVAILABLE', message))
    }
    let request = this.#encoded.get(args)
    if (request === undefined) {
      request = requestOf([Buffer.from(name), ...args.parts])
      this.#encoded.set(args, request)
    }
    return this.#link(resp, session).ask(request)
  }

  /** Ends all connections, and opens none any more. */
  close(): void {
    this.#closed = true
    this.#unfollow?.()
    for (const address of [...this.#links.keys()]) this.#end(address, 'this node is stopping')
  }

  #end(address: string, reason: string): void {
    for (const link of [...(this.#links.get(address)?.values() ?? [])]) link.close(reason)
  }

  #link(address: string, session: Session): ForwardLink {
    const { protocol } = session
    const wideIds = session instanceof RespSession ? session.wideIds : 'integer'
    const kind = `${wideIds} ${protocol}`
    let links = this.#links.get(address)
    if (links === undefined) {
      links = new Map()
      this.#links.set(address, links)
    }
    const onEnd = () => {
      links.delete(kind)
      if (links.size === 0) this.#links.delete(address)
    }
    const link = links.get(kind) ?? this.#newLink(address, protocol, wideIds, onEnd)
    links.set(kind, link)
    return link
  }

  #newLink(address: string, protocol: 2 | 3, wideIds: WideIds, onEnd: () => void): ForwardLink {
    return new ForwardLink({
      ...addressOf(address),
      greetings: [
        ['HELLO', String(protocol)],
        ['CLIENT', 'SETINFO', 'LIB-NAME', forwardNames[wideIds]],
      ],
      clock: this.#clock,
      timeoutMs: this.#timeoutMs,
      onEnd,
    })
  }
}
